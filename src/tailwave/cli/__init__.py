"""The command line: one file a command, each listed in ``COMMANDS``, loaded when it is called."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from tailwave.errors import SOFTWARE, USAGE, TailwaveError, UnknownNameError

# Command -> the module that holds it as ``command``, and the line that --help shows for it
# without importing that module.
COMMANDS: dict[str, tuple[str, str]] = {
    "diagnose": (
        "tailwave.cli.diagnose",
        "Read traces; say what is wrong and what fixing it is worth.",
    ),
    "record": ("tailwave.cli.record", "Record a timeline of a program, without nsys and root."),
    "whatif": ("tailwave.cli.whatif", "Predict what a change would bring, before it is made."),
    "check": ("tailwave.cli.check", "Measure how well this GPU schedules, link by link."),
    "try": ("tailwave.cli.try_", "Try cures on a Python program; keep what is proven to help."),
    "fix": ("tailwave.cli.fix", "Try cures on any program; keep what is proven to help."),
    "show": ("tailwave.cli.show", "Render a saved session."),
    "compare": (
        "tailwave.cli.compare",
        "Say what makes two recordings differ, or two sessions.",
    ),
    "metrics": (
        "tailwave.cli.metrics",
        "Say which counters answer a question, as an ncu command line.",
    ),
    "explain": (
        "tailwave.cli.explain",
        "Explain a finding, a cure, an XID, or a word from elsewhere.",
    ),
}
_INTERRUPTED = 130


class _ClosedPipe(Exception):  # noqa: N818 - nothing is wrong: the reader has seen enough
    """A closed pipe, under a name for which click does not exit with 1 by itself."""


@contextmanager
def _closed_pipes_renamed() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise _ClosedPipe from error


class _LazyGroup(click.Group):
    """A group that imports a command's module only when that command runs."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401 - click's own signature
    ) -> click.Context:
        """Parse the arguments; this prints --help and --version."""
        with _closed_pipes_renamed():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        with _closed_pipes_renamed():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of the list."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; None if there is none of this name."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(COMMANDS[cmd_name][0])
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is called; of one that there is not, say what was likely meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            meant = f"{error.message}{_likely_meant(args[0])}"
            raise click.UsageError(meant, ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


def _likely_meant(word: str) -> str:
    """Return a sentence on what a word may mean that is no command; "" where nothing is near."""
    from difflib import get_close_matches  # noqa: PLC0415 - wanted for a mistake only

    if near := get_close_matches(word, COMMANDS, n=1):
        return f" Did you mean {near[0]}?"
    if os.path.exists(word):  # noqa: PTH110 - it answers no of a name too long, a Path raises
        return f" To diagnose a recording: tailwave diagnose {word}"
    return ""


def _print_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click's own signature
    if wanted:
        from tailwave import __version__  # noqa: PLC0415 - reading the version costs start-up time

        click.echo(f"tailwave {__version__}")
        ctx.exit()


def _hint(error: TailwaveError) -> str:
    """Return a sentence on what a word may stand for that is no name of what was asked for."""
    if not isinstance(error, UnknownNameError) or "did you mean" in str(error).lower():
        return ""
    from tailwave.explanations import suggest  # noqa: PLC0415 - wanted for a mistake only

    near = suggest(error.word, error.names)
    return f" Did you mean {' or '.join(near)}?" if near else ""


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
def group() -> None:
    """Say which link of a GPU's scheduling chain is at fault, and what mending it is worth."""


def main() -> None:
    """Run the command line and exit with the code that the outcome calls for."""
    # A command makes few reference cycles and ends soon; the collector would walk the millions of
    # objects of a big recording again and again.
    gc.disable()
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command line on the given arguments; return the exit code, print any error."""
    try:
        code = group.main(args=arguments, prog_name="tailwave", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return USAGE if isinstance(error, click.UsageError) else error.exit_code
    except TailwaveError as error:
        click.echo(f"tailwave: {error}{_hint(error)}", err=True)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("tailwave: interrupted", err=True)
        return _INTERRUPTED
    except (BrokenPipeError, _ClosedPipe):
        # The reader (head, less) has seen enough. Keep the interpreter from complaining about it
        # when it flushes on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # the last line of defence against tracebacks
        if os.environ.get("TAILWAVE_DEBUG"):
            raise
        click.echo(
            f"tailwave: a fault of tailwave itself ({type(error).__name__}: {error}); please "
            "report it, with TAILWAVE_DEBUG=1 set for the details.",
            err=True,
        )
        return SOFTWARE
    return int(code or 0)

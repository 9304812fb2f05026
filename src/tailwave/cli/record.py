"""``tailwave record -- COMMAND``: a timeline of a program, without nsys and without root."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailwave.errors import TailwaveError, UsageError

if TYPE_CHECKING:
    from tailwave.model import Timeline

_TYPE = click.Path(path_type=Path, dir_okay=False)


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
@click.option(
    "-o",
    "--output",
    type=_TYPE,
    default=Path("recording.tailwave"),
    show_default=True,
    help="Where the recording goes; a file of that name is replaced.",
)
@click.option(
    "--chrome",
    type=_TYPE,
    help="Write a Chrome trace too (Perfetto opens it); of several processes one file each.",
)
def command(program: tuple[str, ...], *, output: Path, chrome: Path | None) -> int:
    """Run a Python program and record what its GPUs and its calls of CUDA did.

    The recording is for `tailwave diagnose` and `tailwave whatif`. The program's exit code is
    passed on. Mark its steps with tailwave.step() or NVTX ranges. Needs CUPTI, which PyTorch brings
    along: pip install "tailwave[record]" where the program has none.
    """
    from tailwave.cures.recorder.run import run  # noqa: PLC0415 - numpy is not needed for --help

    for path in (output, chrome):
        if path is not None and not path.absolute().parent.is_dir():
            raise UsageError(f"there is no folder {path.absolute().parent}: make it first.")
    with tempfile.TemporaryDirectory(prefix="tailwave-record-") as folder:
        code = run(program, Path(folder), os.environ)
        try:
            _keep(Path(folder), code, output, chrome)
        except TailwaveError as error:
            if code == 0:
                raise
            # What the program's own failure means to its caller comes first.
            click.echo(f"tailwave: {error}", err=True)
    return code


def _keep(folder: Path, code: int, output: Path, chrome: Path | None) -> None:
    """Write what was recorded, and say so on stderr: stdout is the program's."""
    from tailwave import __version__  # noqa: PLC0415 - only wanted here
    from tailwave.cures.recorder.collect import collect  # noqa: PLC0415
    from tailwave.recordings.readers.recorded import write_timelines  # noqa: PLC0415

    timelines = collect(folder, code)
    try:
        write_timelines(output, timelines, __version__)
        written = [output, *(_write_chrome(timelines, chrome) if chrome is not None else ())]
    except OSError as error:
        raise UsageError(f"cannot write {error.filename}: {error.strerror}.") from error
    rows = sum(len(timeline.gpu) for timeline in timelines)
    processes = f" of {len(timelines)} processes" if len(timelines) > 1 else ""
    files = ", ".join(str(path) for path in written)
    click.echo(f"tailwave: {rows} pieces of GPU work{processes} recorded in {files}", err=True)


def _write_chrome(timelines: list[Timeline], path: Path) -> list[Path]:
    from tailwave.reports.chrome import to_chrome  # noqa: PLC0415 - only wanted here

    written = []
    for timeline in timelines:
        one = path if len(timelines) == 1 else path.with_stem(f"{path.stem}-{timeline.rank}")
        one.write_bytes(to_chrome(timeline))
        written.append(one)
    return written

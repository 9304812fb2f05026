"""``tailwave record -- COMMAND``: a recording of a program, without nsys and without root."""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tailwave.errors import TailwaveError, UsageError

if TYPE_CHECKING:
    from tailwave.cures.recorder.collect import Recording

_TYPE = click.Path(path_type=Path, dir_okay=False)
_SUFFIXES = (".json.gz", ".json", ".tailwave")


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
@click.option(
    "-o",
    "--output",
    type=_TYPE,
    default=Path("recording"),
    show_default=True,
    help="Where the recording goes; a file of that name is replaced. It ends in .json.gz where "
    "PyTorch's profiler recorded, else in .tailwave.",
)
@click.option(
    "--chrome",
    type=_TYPE,
    help="Write a Chrome trace too (Perfetto opens it); of several processes one file each.",
)
def command(program: tuple[str, ...], *, output: Path, chrome: Path | None) -> int:
    """Run a Python program and record what its GPUs and its calls of CUDA did.

    The recording is for `tailwave diagnose` and `tailwave whatif`. The program's exit code is
    passed on. Where PyTorch turns to the GPU its profiler records 30 steps, or 20 s; in all other
    programs CUPTI records the whole run (pip install "tailwave[record]" where the program has
    none). Mark steps with tailwave.step(), or with NVTX ranges where CUPTI records.
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
    from tailwave.cures.recorder.collect import collect  # noqa: PLC0415 - numpy, as above

    recording = collect(folder, code)
    stem = output
    for suffix in _SUFFIXES:
        stem = stem.with_name(stem.name.removesuffix(suffix))
    try:
        for words, written in _written(recording, stem, chrome):
            click.echo(f"tailwave: {words} {', '.join(map(str, written))}", err=True)
    except OSError as error:
        raise UsageError(f"cannot write {error.filename}: {error.strerror}.") from error


def _written(
    recording: Recording, stem: Path, chrome: Path | None
) -> Iterator[tuple[str, list[Path]]]:
    """Write the files of each recorder; yield what they hold, and their paths."""
    from tailwave import __version__  # noqa: PLC0415 - only wanted here
    from tailwave.recordings.readers.recorded import write_timelines  # noqa: PLC0415
    from tailwave.reports.chrome import to_chrome  # noqa: PLC0415

    traces, timelines = recording
    if traces:
        written = _one_each(stem.with_name(f"{stem.name}.json.gz"), len(traces))
        for trace, path in zip(traces, written, strict=True):
            # Level 1: of a trace of a gigabyte the others take minutes and save little.
            with Path(trace.trace).open("rb") as plain, gzip.open(path, "wb", 1) as packed:
                shutil.copyfileobj(plain, packed)
        if chrome is not None:
            copies = _one_each(chrome, len(traces))
            for trace, path in zip(traces, copies, strict=True):
                shutil.copyfile(trace.trace, path)
            written += copies
        steps = sum(trace.steps for trace in traces)
        what = f"{steps} steps" if steps else "work"
        yield f"{what}{_of(len(traces))} recorded by PyTorch's profiler in", written
    if timelines:
        written = [stem.with_name(f"{stem.name}.tailwave")]
        write_timelines(written[0], timelines, __version__)
        if chrome is not None:
            copies = _one_each(chrome, len(timelines))
            for timeline, path in zip(timelines, copies, strict=True):
                path.write_bytes(to_chrome(timeline))
            written += copies
        rows = sum(len(timeline.gpu) for timeline in timelines)
        yield f"{rows} pieces of GPU work{_of(len(timelines))} recorded by CUPTI in", written


def _of(count: int) -> str:
    return f" of {count} processes" if count > 1 else ""


def _one_each(path: Path, count: int) -> list[Path]:
    """Return a path for each process: the one that was given, or numbered ones."""
    if count == 1:
        return [path]
    name, dot, suffixes = path.name.partition(".")
    return [path.with_name(f"{name}-{number}{dot}{suffixes}") for number in range(count)]

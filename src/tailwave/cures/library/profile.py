"""A profile of a loop of PyTorch: steps recorded, and timed without the profiler as well."""

from __future__ import annotations

import os
import warnings
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from tailwave.cures.library import frameworks, marks
from tailwave.cures.library.closing import Closing
from tailwave.cures.library.torch_profile import TorchProfile, rank
from tailwave.errors import UnavailableError, UsageError

if TYPE_CHECKING:
    from tailwave.model import Diagnosis

_SUFFIXES: Final = (".json.gz", ".json")


def profile(path: str | os.PathLike[str], *, steps: int = 5, warmup: int = 30) -> Profile:
    """Record some steps of a loop of PyTorch, and time plain ones before and after them.

    For a ``with`` around the loop, in which ``p.step()`` (or `tailwave.step`) ends each step. The
    profiler comes on when the steps are steady, or after ``warmup`` of them; it records ``steps``,
    and goes. The trace is PyTorch's own (``.json``, ``.json.gz``), and holds the time of a plain
    step too (`docs/profile.md`). Of several ranks each writes its file, with the rank in its name.
    A loop that ends early leaves what there is by then. What fails inside is a warning, and not the
    program's error.

    Raises UnavailableError where the program has no PyTorch with a GPU, UsageError for a path or a
    number that means nothing.
    """
    for name, number in (("steps", steps), ("warmup", warmup)):
        if not isinstance(number, int) or number < 1:
            raise UsageError(f"{name} of tailwave.profile is 1 or more, not {number!r}.")
    return Profile(_checked(path), steps=steps, warmup=warmup)


class Profile(Closing):
    """One profile: around the loop it takes the steps, after it it is asked what was found.

    Attributes:
        path: Where the trace is written.
    """

    def __init__(self, path: Path, *, steps: int, warmup: int) -> None:
        """Get ready; raises UnavailableError where there is nothing to record."""
        torch = frameworks.torch()
        if torch is None:
            raise UnavailableError(
                "tailwave.profile records PyTorch on a GPU, and there is none here: import torch "
                "before, and see that torch.cuda.is_available() is True."
            )
        own, ranks = rank()
        self.path = _of_rank(path, own) if ranks > 1 else path
        self._torch, self._warmup = torch, warmup
        self._recording = TorchProfile(torch, self.path, steps=steps, warmup=warmup)
        self._before: marks.Recorder | None = None
        self._steps = 0
        self._open = False
        self._why_not = ""

    def step(self) -> None:
        """Mark the end of a step; after the recording this costs next to nothing."""
        if self._before is not None:
            self._before.step()
        if self._open:
            self._steps += 1
            try:
                self._recording.mark()
            except Exception as error:  # noqa: BLE001 - a profile is not worth the program's end
                self._failed(error)

    def output(self, name: str, value: object) -> None:
        """Pass on an output."""
        if self._before is not None:
            self._before.output(name, value)

    def stand_back(self) -> None:
        """Refuse a second profile inside this one."""
        raise UsageError("a tailwave.profile is open, and a process has one profiler: end it.")

    def __enter__(self) -> Self:
        """Take the marks."""
        self._before = marks.attach(self)
        if self._before is not None:
            try:
                self._before.stand_back()
            except UsageError:
                marks.attach(self._before)
                raise
        # torch's profiler imports it at its first start, which the loop need not wait for.
        getattr(self._torch, "_inductor", None)
        self._open = True
        return super().__enter__()

    def close(self) -> None:
        """End the recording, and write what there is; a warning says why there is nothing."""
        if not self._open:
            return
        self._open = False
        marks.attach(self._before)
        try:
            self._recording.finish()
        except Exception as error:  # noqa: BLE001 - as above
            self._failed(error)
        if not self._recording.written:
            self._why_not = self._why_not or (
                f"the loop ended after {self._steps} steps, before their recording; it begins when "
                f"they are steady, or soon after {self._warmup} of them (give a smaller `warmup`)"
            )
            warnings.warn(f"no trace was written: {self._why_not}.", stacklevel=3)

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """What `tailwave diagnose` says of the trace.

        Raises UsageError while the trace is not there yet, UnavailableError where there is none.
        """
        if not self._recording.written and not self._why_not:
            raise UsageError("there is no trace yet: ask for the diagnosis after the `with`.")
        if not self._recording.written:
            raise UnavailableError(f"there is no trace to diagnose: {self._why_not}.")
        from tailwave.recordings import diagnose, read  # noqa: PLC0415 - not while steps are timed

        return diagnose(read(self.path), str(self.path))

    def __repr__(self) -> str:
        """Say what was recorded, and where."""
        state = "written" if self._recording.written else "not written"
        return f"<tailwave.profile {self.path} ({state}): {self._recording.steps} steps recorded>"

    def _failed(self, error: Exception) -> None:
        words = f"{type(error).__name__}: {error}"
        self._why_not = self._why_not or f"torch's profiler failed ({words})"


def _checked(path: str | os.PathLike[str]) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"tailwave.profile takes a path, and no {type(path).__name__}.")
    file = Path(path).absolute()  # the program may change its folder
    if not file.name.endswith(_SUFFIXES):
        raise UsageError(f"a trace's name ends in .json or .json.gz, and {file.name} does not.")
    if not file.parent.is_dir():
        raise UsageError(f"there is no folder {file.parent}: make it first.")
    return file


def _of_rank(path: Path, own: int) -> Path:
    suffix = next(suffix for suffix in _SUFFIXES if path.name.endswith(suffix))
    return path.with_name(f"{path.name.removesuffix(suffix)}.rank{own}{suffix}")

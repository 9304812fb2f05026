"""A recording that was ended is not begun again by a timer that goes off late."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tailwave.cures.hook import plan, profile


class Late(threading.Thread):
    """A timer that goes off when the test says so."""

    made: list[Late]

    def __init__(
        self, seconds: float, run: Callable[..., None], args: tuple[Callable[[], None]]
    ) -> None:
        """Remember what is to be called."""
        super().__init__()
        self.seconds, self._run, self._args_ = seconds, run, args
        Late.made.append(self)

    def start(self) -> None:
        """Wait."""

    def go_off(self) -> None:
        """Call."""
        self._run(*self._args_)


def test_what_was_ended_is_not_begun_by_a_late_timer(tmp_path: Path) -> None:
    """A program that is told to end writes its report, and may live on for a while."""
    Late.made = []
    recorded = profile.Profile(plan.Profile(tmp_path / "t.json", 2, 2, 3.0, 2.0), cut=lambda: None)
    recorded.torch_arrived(ModuleType("torch"))  # which has no profiler to begin with
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading, "Timer", Late)
        patch.setattr(profile, "in_main_thread", lambda call: call())
        recorded.cuda_came_up()
    recorded.end()
    (late,) = Late.made
    assert late.seconds == 3.0
    late.go_off()
    reason = "the program ended before the recording was due"
    assert recorded.document() == {"trace": "", "steps": 0, "why_not": reason}

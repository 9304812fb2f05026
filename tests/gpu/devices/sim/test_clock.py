"""The event core."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailwave.gpu.devices.sim.clock import Events


@given(st.lists(st.floats(min_value=-10, max_value=1e9), max_size=50))
def test_time_never_turns_back(times: list[float]) -> None:
    """Actions run in order of time, each at its time or, if that has passed, at once."""
    events = Events(0.0)
    seen: list[float] = []
    for time in times:
        events.at(time, lambda: seen.append(events.now))
    events.run_until(lambda: len(seen) == len(times))
    assert seen == sorted(max(time, 0.0) for time in times)


def test_actions_of_one_time_run_in_the_order_they_were_set() -> None:
    """Ties are broken by arrival."""
    events = Events(0.0)
    seen: list[int] = []
    for number in range(5):
        events.at(7.0, lambda number=number: seen.append(number))  # type: ignore[misc]
    events.run_until(lambda: len(seen) == 5)
    assert seen == [0, 1, 2, 3, 4]


def test_nothing_runs_after_what_was_waited_for() -> None:
    """The rest stays for the next wait."""
    events = Events(0.0)
    seen: list[str] = []
    events.at(1.0, lambda: seen.append("first"))
    events.at(2.0, lambda: seen.append("second"))
    events.run_until(lambda: bool(seen))
    assert (seen, events.now) == (["first"], 1.0)


def test_waiting_for_nothing_is_an_error() -> None:
    """What can never happen does not hang."""
    with pytest.raises(RuntimeError, match="never happens"):
        Events(0.0).run_until(lambda: False)

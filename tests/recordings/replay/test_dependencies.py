"""Which row waited for which: as the recording says, or as the host's calls tell."""

from __future__ import annotations

import msgspec
import numpy as np

from tailwave.model import Timeline, WaitTable
from tailwave.recordings.replay.dependencies import joined_rows, waits_are_recorded
from tests.builders import Trace, kernel
from tests.recordings.replay.programs import case_of, program_of

ASKED, RECORDED, UNKNOWN = 1, 2, -1


def joined(timeline: Timeline) -> dict[str, str]:
    """Give what waited with what it waited for, by name."""
    names = [timeline.names[code] for code in timeline.gpu.name]
    rows, sources = joined_rows(timeline)
    return {names[row]: names[source] for row, source in zip(rows, sources, strict=True)}


def three_streams() -> Trace:
    """Stream 8 is made to wait after launches into 7, 9 and 7, the next launch is one into 10."""
    return (
        Trace()
        .step(0, 400)
        .launch(10, 12, kernel("first", 20, 100, stream=7))
        .call("cudaEventRecord", 13, 14)
        .launch(20, 22, kernel("second", 105, 120, stream=7))
        .launch(30, 32, kernel("aside", 40, 60, stream=9))
        .call("cudaStreamWaitEvent", 40, 41)
        .launch(50, 52, kernel("free", 62, 70, stream=10))
        .launch(60, 62, kernel("waits", 102, 110, stream=8))
    )


def recorded(timeline: Timeline, *sources: int, record: int) -> Timeline:
    """Add waits of stream 8 for others as a recorder of synchronisations writes them."""
    correlation = timeline.host.correlation.copy()
    names = [timeline.names[code] for code in timeline.host.name]
    correlation[names.index("cudaStreamWaitEvent")] = 1_000 + ASKED
    correlation[names.index("cudaEventRecord")] = 1_000 + RECORDED
    same = {"device": 0, "stream": 8, "correlation": 1_000 + ASKED, "record_correlation": record}
    same |= {"start": 40_000, "end": 41_000, "name": len(timeline.names)}
    waits = WaitTable(
        **{
            field: np.array(
                [same.get(field, source) for source in sources],
                dtype=getattr(timeline.waits, field).dtype,
            )
            for field in WaitTable.__struct_fields__
        }
    )
    return msgspec.structs.replace(
        timeline,
        names=(*timeline.names, "Stream Wait Event"),
        waits=waits,
        host=msgspec.structs.replace(timeline.host, correlation=correlation),
    )


def test_a_recorded_wait_leads_from_the_recorded_event_to_the_waiting_stream() -> None:
    """Not to what its stream was given after the event, nor to what others were given since."""
    timeline = recorded(three_streams().build(), 7, record=1_000 + RECORDED)
    assert waits_are_recorded(timeline)
    assert joined(timeline) == {"waits": "first"}


def test_without_the_call_that_recorded_the_event_it_is_the_one_that_asked() -> None:
    """The last row of the recorded stream before the wait."""
    timeline = recorded(three_streams().build(), 7, record=UNKNOWN)
    assert joined(timeline) == {"waits": "second"}


def test_a_waiting_stream_may_be_recorded_alone() -> None:
    """PyTorch 2.11 leaves out which stream it waited for: the last launch into another one."""
    timeline = recorded(three_streams().build(), UNKNOWN, record=UNKNOWN)
    assert not waits_are_recorded(timeline)
    assert joined(timeline) == {"waits": "aside"}


def test_without_recorded_waits_streams_are_told_by_the_order_of_calls() -> None:
    """What the thread launches next is taken to have waited."""
    timeline = three_streams().build()
    assert not waits_are_recorded(timeline)
    assert joined(timeline) == {"free": "aside"}


def test_of_several_waits_the_last_to_be_over_counts() -> None:
    """A row of a program waits for one row of another stream."""
    timeline = recorded(three_streams().build(), 7, 9, record=UNKNOWN)
    assert joined(timeline) == {"waits": "second"}


def test_a_recorded_wait_is_a_constraint_of_the_program() -> None:
    """It explains why the row began when it did, with the 2 us that the GPU took."""
    timeline = recorded(three_streams().build(), 7, record=1_000 + RECORDED)
    program = program_of(case_of(timeline))
    names = [timeline.names[timeline.gpu.name[row]] for row in program.row]
    waits = names.index("waits")
    assert names[program.dep[waits]] == "first"
    assert program.dep_lag[waits] == 2_000

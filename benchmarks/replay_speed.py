"""How many events a second the replay simulates, on a recording repeated to a million events.

A peer that replays a recorded timeline under changed rules and can be installed was not found, so
the figure stands beside that of a plain loop over the same events in the same run. Times are of the
processor, which other work on the machine changes less.
"""

from __future__ import annotations

import time
from pathlib import Path

from read_kineto import big_trace

from tailwave.recordings.readers import read
from tailwave.recordings.replay.engine import run
from tailwave.recordings.replay.forecast import forecast
from tailwave.recordings.replay.program import Program
from tailwave.recordings.timeline.prepare import prepare

GOAL_SECONDS_A_MILLION = 2.0
_BEST_OF = 3


def main() -> None:
    """Print the rates; fail when a million events take longer than they may."""
    timeline = read(big_trace())[0]
    begin = time.process_time()
    cast = forecast(prepare(timeline).case)
    prepared = time.process_time() - begin
    program = cast.recorded
    seconds = min(_timed(program) for _ in range(_BEST_OF))
    recorded = len(timeline.host) + len(timeline.gpu)
    rate = program.events / seconds
    print(f"recording        {recorded:>12,} host and GPU events, {Path(timeline.path).name}")
    print(f"prepared in      {prepared:>12.2f} s (attribution, program, profiler's cost)")
    print(f"replayed         {program.events:>12,} actions and GPU rows in {seconds:.3f} s")
    print(f"rate             {rate:>12,.0f} a second; a million in {1e6 / rate:.2f} s")
    print(f"a plain loop     {program.events / _loop(program):>12,.0f} a second")
    if 1e6 / rate > GOAL_SECONDS_A_MILLION:
        raise SystemExit(f"a million events took {1e6 / rate:.2f} s")


def _timed(program: Program) -> float:
    begin = time.process_time()
    run(program)
    return time.process_time() - begin


def _loop(program: Program) -> float:
    """Time to add up the durations one by one, in plain Python."""
    values = program.duration.tolist() + program.hold.tolist()
    begin = time.process_time()
    total = 0
    for value in values:
        total += value
    return time.process_time() - begin


if __name__ == "__main__":
    main()

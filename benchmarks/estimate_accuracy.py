"""Judges the likely time without the profiler, and writes the table into docs/replay.md.

Run it from the repository's root; ``--write`` puts the table into the document. Recordings are
those with a step time measured without the profiler: five sets, each from hosts of its own.
Judged are the host-bound ones, a program counting once however often it was recorded. The share of
issuing that is real is fitted anew without the program, or without the host, that is judged.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from benchmarks.replay_accuracy import table
from tailwave.model import Floats
from tailwave.recordings.readers import read
from tailwave.recordings.replay import overhead
from tailwave.recordings.replay.engine import run
from tailwave.recordings.replay.forecast import Forecast, forecast
from tailwave.recordings.timeline.intervals import covered_by_group
from tailwave.recordings.timeline.prepare import prepare

ROOT = Path(__file__).parents[1]
DOCUMENT = ROOT / "docs" / "replay.md"
BEGIN, END = "<!-- estimate: begin -->", "<!-- estimate: end -->"
SHARED = ROOT.parent / "shared" / "data"
SETS = {
    "traces": ROOT / "tests/data/traces",
    "recordings": ROOT / "benchmarks/results/recordings",
    "real": SHARED / "real",
    "ranks": SHARED / "ranks",
    "repeats": ROOT / "benchmarks/results/repeats",
}
# Likely, least and most time (us) of the model before: so much off for each event logged, and the
# rest at the speed of a host whose launch calls take 4 us.
BEFORE = ROOT / "benchmarks/results/estimate_before.json"
HOST_BOUND = 0.6  # of the step the GPU is busy for less than this
SHARES = np.linspace(0.4, 1.0, 61)
# An error so large says no more than a smaller one which constant is right.
FARTHEST = 0.6
ALLOWED = 1.02  # a measured time this far outside the range is in it
NEAR = 0.35
# Recordings under other names that are of one program.
ALIASES = {
    "mode": "launches",
    "sms032": "launches",
    "sms064": "launches",
    "sms096": "launches",
    "sms132": "launches",
    "host": "ddp",
}


class Known(NamedTuple):
    """A recording whose plain step time was measured (us), and the plain timings behind that."""

    host: str
    name: str
    measured: float
    timings: tuple[float, ...]
    cast: Forecast

    @property
    def program(self) -> str:
        """What was recorded; one set's program is another's only if it has the same name."""
        first, *rest = self.name.split(".")
        if self.host == "real":
            return f"real {'.'.join((first, *rest)) if first == 'train' else first}"
        return ALIASES.get(first, first)

    @property
    def work(self) -> str:
        """What was recorded, to the step: the same in whatever process."""
        again = self.host == "repeats"
        return "launches" if self.program == "launches" else self.name[: -2 if again else None]

    @property
    def busy(self) -> float:
        """Share of the recorded steps for which the GPU is busy."""
        program, replayed = self.cast.recorded, run(self.cast.recorded)
        mine = program.counts & (program.row_step >= 0)
        covered = covered_by_group(
            replayed.start[mine], replayed.end[mine], program.row_step[mine], program.step_count
        )
        return float(covered.sum() / replayed.step.sum())

    def estimate(self, share: float) -> tuple[float, float, float]:
        """Likely, least and most time (us) where this share of issuing is taken to be real."""
        with mock.patch.object(overhead, "REAL", share):
            found = overhead.unprofiled(self.cast.case, self.cast.recorded)
        likely = run(found.likely).step_us
        return likely, run(found.fastest).step_us, run(found.slowest).step_us


class Judged(NamedTuple):
    """Estimates beside what was measured (us), each with its weight."""

    estimates: Floats
    measured: Floats
    weight: Floats

    def figures(self) -> list[str]:
        """Word the errors: signed, absolute, near ones, truths in the range, the range's width."""
        likely, least, most = self.estimates.T
        off = likely / self.measured - 1
        width = (middle(bound / likely, self.weight) for bound in (least, most))
        inside = (least <= ALLOWED * self.measured) & (self.measured <= ALLOWED * most)
        return [
            f"{middle(off, self.weight):+.0%}",
            f"{middle(np.abs(off), self.weight):.1%}",
            f"{np.average(np.abs(off) <= NEAR, weights=self.weight):.0%}",
            f"{np.average(inside, weights=self.weight):.0%}",
            "{:.2f} to {:.2f}".format(*width),
        ]


def middle(values: Floats, weight: Floats) -> float:
    """Weighted median; between two values that halve the weight, their mean."""
    order = np.argsort(values)
    upto = np.cumsum(weight[order]) / weight.sum()
    low, high = np.searchsorted(upto, (0.5 - 1e-9, 0.5 + 1e-9))
    return float(values[order][[low, high]].mean())


def truths(folder: Path) -> Iterator[tuple[str, float, tuple[float, ...]]]:
    """Yield file names, plain step times (us) and the timings that they come from."""
    rows: Any = json.loads((folder / "truth.json").read_text())
    if isinstance(rows, list):
        for row in rows:
            if "unprofiled_ms_per_step" in row:
                timings = tuple(1e3 * time for time in row.get("repeats_ms", ()))
                yield row["file"], 1e3 * row["unprofiled_ms_per_step"], timings
            elif "step_us" in row:
                yield row["file"], row["step_us"], ()
        return
    for run_, ranks in rows["unprofiled_step_us"].items():
        for rank, time in ranks.items():
            yield f"{run_}.rank{rank}.json.gz", time, ()
    for run_, ranks in rows["second_set"].items():
        for rank, times in ranks.items():
            yield f"{run_}.rank{rank}.json.gz", (times["before"] + times["after"]) / 2, ()


def recordings(sets: dict[str, Path]) -> Iterator[Known]:
    """Read every recording of the sets that are here."""
    for host, folder in sets.items():
        if not (folder / "truth.json").exists():
            continue
        for file, measured, timings in truths(folder):
            cast = forecast(prepare(read(folder / file)[0]).case)
            name = file.removesuffix(".json.gz")
            if name != "mode.bare":  # nothing marks its steps, and its period is a layer
                yield Known(host, name, measured, timings, cast)


def weights(found: list[Known]) -> Floats:
    """One vote a program."""
    programs = [known.program for known in found]
    return np.array([1 / programs.count(program) for program in programs])


class Fits:
    """Finds the share of issuing that is real, from any part of the recordings."""

    def __init__(self, found: list[Known]) -> None:
        """Run every recording at every fifth share; between them steps are interpolated."""
        self._found = found
        tried = SHARES[::5]
        self._steps = np.array(
            [
                np.interp(SHARES, tried, [known.estimate(share)[0] for share in tried])
                for known in found
            ]
        )

    def without(self, one: Known, way: str, hosts: list[str]) -> float:
        """Share of the least error over what some hosts recorded, but for one program or host."""
        mine = [
            index
            for index, known in enumerate(self._found)
            if known.host in hosts and getattr(known, way) != getattr(one, way)
        ]
        measured = np.array([self._found[index].measured for index in mine])
        off = np.abs(np.log(self._steps[mine] / measured[:, None]))
        error = np.average(
            np.minimum(off, FARTHEST),
            axis=0,
            weights=weights([self._found[index] for index in mine]),
        )
        return float(SHARES[np.argmin(error)])


def judged(found: list[Known], estimates: Iterable[tuple[float, ...]]) -> Judged:
    """Put estimates beside what was measured."""
    return Judged(
        np.array(list(estimates)), np.array([known.measured for known in found]), weights(found)
    )


def spans(shares: list[float]) -> str:
    """Word the shares that were found."""
    low, high = min(shares), max(shares)
    return f"{low:.2f}" if low == high else f"{low:.2f} to {high:.2f}"


def summary(found: list[Known]) -> Iterator[str]:
    """Yield the table of errors: the model before, this one, and what no model can know."""
    before = json.loads(BEFORE.read_text())
    fits = Fits(found)
    hosts = list(dict.fromkeys(known.host for known in found))
    parts = {"all": hosts, "all but repeats": [host for host in hosts if host != "repeats"]}
    rows = []
    for name, judging in {**parts, **{host: [host] for host in hosts}}.items():
        part = [known for known in found if known.host in judging]
        pool = judging if name in parts else hosts
        count = f"{len(part)} of {len({known.program for known in part})}"
        old = judged(part, (before[f"{known.host}/{known.name}"] for known in part))
        rows.append([name, count, "before", "", *old.figures()])
        for way in ("program", "host"):
            shares = [fits.without(one, way, pool) for one in part]
            pairs = zip(part, shares, strict=True)
            now = judged(part, (known.estimate(share) for known, share in pairs))
            rows.append(["", "", f"by {way}", spans(shares), *now.figures()])
    head = ["judged on", "recordings of programs", "fitted", "share", "signed", "absolute"]
    yield from table([*head, "within 35%", "in the range", "width of the range"], rows)


def noise(found: list[Known]) -> Iterator[str]:
    """Yield how far plain timings and recordings of the same work differ."""
    ways: dict[str, list[tuple[Known, float]]] = {
        "timed again in the same process": [
            (known, time / np.median(np.delete(known.timings, index)) - 1)
            for known in found
            for index, time in enumerate(known.timings)
        ],
        "timed in other processes": list(_elsewhere(found, recorded=False)),
        "measured as a share of recorded, in other processes": list(
            _elsewhere(found, recorded=True)
        ),
    }
    rows = []
    for name, pairs in ways.items():
        size = np.abs([off for _, off in pairs])
        weight = weights([known for known, _ in pairs])
        programs = len({known.program for known, _ in pairs})
        near = np.average(size <= NEAR, weights=weight)
        rows.append([name, str(programs), f"{middle(size, weight):.1%}", f"{near:.0%}"])
    head = ["one against the median of the others", "programs", "off", "within 35%"]
    yield from table(head, rows)


def _elsewhere(found: list[Known], *, recorded: bool) -> Iterator[tuple[Known, float]]:
    def figure(known: Known) -> float:
        return known.measured / (run(known.cast.recorded).step_us if recorded else 1.0)

    for known in found:
        again = [other for other in found if other is not known and known.work == other.work]
        if again:
            yield known, figure(known) / np.median([figure(other) for other in again]) - 1


def each(found: list[Known]) -> Iterator[str]:
    """Yield every host-bound recording, with the constants as they are."""
    before = json.loads(BEFORE.read_text())
    rows = []
    for known in found:
        likely, least, most = known.estimate(overhead.REAL)
        old = before[f"{known.host}/{known.name}"][0]
        times = (run(known.cast.recorded).step_us, likely, known.measured)
        rows.append(
            [
                f"{known.host}/{known.name}",
                *(f"{time:,.0f}" for time in times),
                f"{likely / known.measured - 1:+.0%}",
                f"{least:,.0f} to {most:,.0f}",
                f"{old / known.measured - 1:+.0%}",
            ]
        )
    head = ["recording", "recorded us", "likely us", "measured us", "error", "range us", "before"]
    yield from table(head, rows)


def others(found: list[Known]) -> str:
    """Word the errors of the recordings that are not host-bound."""
    off = [abs(known.estimate(overhead.REAL)[0] / known.measured - 1) for known in found]
    return (
        f"The other {len(found)} recordings keep the GPU busy for 60% of a step or more: off by "
        f"{np.median(off):.1%} in the median, {np.percentile(off, 90):.0%} at most in nine of ten."
    )


def main() -> None:
    """Print the tables; with --write, put them into the document."""
    found = list(recordings(SETS))
    bound = [known for known in found if known.busy < HOST_BOUND]
    rest = [known for known in found if known.busy >= HOST_BOUND]
    text = "\n".join([*summary(bound), *noise(bound), others(rest), "", *each(bound)])
    print(text)
    if "--write" in sys.argv[1:]:
        begin, tail = DOCUMENT.read_text().split(BEGIN)
        end = tail.split(END)[1]
        DOCUMENT.write_text(f"{begin}{BEGIN}\n\n{text}\n{END}{end}")


if __name__ == "__main__":
    main()

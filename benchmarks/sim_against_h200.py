"""How well the simulated H200 predicts what it was not set from: its check against a real one's.

    python benchmarks/sim_against_h200.py [--write]

Half of what an H200 measured sets the simulator's parameters: `h200.toml` names the figure of each
(``# check: FIGURE``). Those figures show one parameter by itself: the ends of a series, one of two
directions, one SM or one port, the latencies of the SMs at two of the die's four sites. The other
half is predicted: what lies between, what several parameters make together, the other direction,
the other sites. No value rests on a predicted figure, but the models' forms, and which figures set
them, were chosen with all in view. ``--write`` puts the table into results/sim_against_h200.txt.
"""

from __future__ import annotations

import enum
import re
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tailwave import __version__, session
from tailwave.gpu.devices import open_device, sim
from tailwave.gpu.devices.sim import chip as chips
from tailwave.gpu.devices.sim.topology import Topology, build
from tailwave.gpu.probes import run_probes
from tailwave.gpu.probes.l2 import line_sides
from tailwave.model import Floats, Measurement, Session, Table

RESULTS = Path(__file__).parent / "results"
RUNS = tuple(RESULTS / "check" / f"run{number}.json" for number in (1, 2, 3))
ANOTHER = RESULTS / "check" / "independent.json"  # another H200, on another host
PARAMETERS = Path(sim.__file__).with_name("h200.toml")
WITHIN = 0.10

# What is in neither half, though it repeats.
LEFT_OUT = {
    "launch.host_loop": "a simulated host runs no loop",
    "dispatch.ctas_per_clock": "dispatch.ns_per_cta in another unit",
    "dispatch.linearity": "yes or no, and 1 in both",
    "dispatch.fairness": "yes or no, and 1 in both",
    "issue.gap": "the reciprocal of issue.slots",
    **{
        f"issue.slots kind=barrier warps_per_scheduler={warps}": "issue.barrier by another name"
        for warps in (1, 2, 4, 8)
    },
    "topology": "the map was set from the latencies of all SMs",
    "l2.partitions": "the map was set from the latencies of all SMs",
    "l2.latency_mean": "over SMs of both halves: see l2.latency",
    "l2.latency_min": "over SMs of both halves: see l2.latency",
    "l2.latency_max": "over SMs of both halves: see l2.latency",
    "l2.far": "over SMs of both halves: see l2.latency",
}

# Why a predicted figure is off by more than 10%.
REASONS = {
    "fabric.speedup_spread op=read": "no port is full, yet they get less than alone; why is "
    "not known",
    "fabric.loaded_latency quantile=p99 where=same_gpc": "waits at a full GPC port have a longer "
    "tail than the exponential one here",
    "fabric.loaded_latency quantile=p50 where=other_gpcs": "the queues at L2 are longer than what "
    "fills a GPC's port would make them",
    "interference.partition": "here the host is late as often beside a tenant as alone",
    "interference.priority": "the wait for a tenant's CTAs is some 7 us longer there; why is not "
    "known",
    "l2.latency sites=1,3 of=sd_of_sms": "each TPC is some 3 cycles off its rank in the CPC",
    "l2.share_by_sm": "to some sites a round trip takes 1,060 cycles, to others 1,460; here all "
    "alike",
}


class Half(enum.Enum):
    """Which half a figure is in."""

    SET = "used to set parameters"
    PREDICTED = "predicted"
    NEITHER = "in neither half"


class Row(NamedTuple):
    """One figure: measured, simulated, and what it was used for (parameters, or a reason)."""

    figure: str
    half: Half
    measured: float
    simulated: float | None
    unit: str
    remark: str
    headline: bool = False

    @property
    def error(self) -> float | None:
        """The simulated figure's relative distance from the measured one."""
        if self.simulated is None or self.measured == 0:
            return None
        return self.simulated / self.measured - 1

    @property
    def within(self) -> bool:
        """Tell whether the error is at most 10%."""
        return self.error is not None and abs(self.error) <= WITHIN


def main() -> None:
    """Simulate, compare, and print or write."""
    simulated = simulate()
    rows = compare(measured(), simulated)
    elsewhere = {row.figure: row for row in compare([session.load(ANOTHER)], simulated)}
    text = "\n".join([*_report(rows), *_summary(rows, elsewhere)])
    if "--write" not in sys.argv:
        print(text)
        return
    today = datetime.now(UTC).date().isoformat()
    head = f"{today}: python benchmarks/sim_against_h200.py --write (tailwave {__version__})\n"
    (RESULTS / "sim_against_h200.txt").write_text(f"{head}{text}\n", "utf-8")


def measured() -> list[Session]:
    """Return the sessions of the H200."""
    return [session.load(path) for path in RUNS]


def simulate(*, quick: bool = False) -> list[Measurement | Table]:
    """Run all probes on the simulated H200."""
    return list(run_probes(open_device("sim:h200"), quick=quick))


def sources() -> dict[str, list[str]]:
    """Return which parameters each figure sets, as `h200.toml` says."""
    found: dict[str, list[str]] = {}
    section = ""
    for line in PARAMETERS.read_text("utf-8").splitlines():
        if header := re.match(r"\[+([\w.]+)\]+", line):
            section = header[1]
        if source := re.match(r"(\w+) = .*# check: ([\w.]+(?: \w+=[\w,]+)*)", line):
            found.setdefault(source[2], []).append(f"{section}.{source[1]}")
    return found


def compare(runs: Sequence[Session], simulated: Sequence[Measurement | Table]) -> list[Row]:
    """Compare figure by figure with the medians of the runs."""
    topology = build(chips.load("h200").topology)
    of_runs = [_figures([*run.measurements, *run.tables], topology) for run in runs]
    of_sim = _figures(simulated, topology)
    setting = sources()
    rows = []
    headlines = {_label(m) for m in runs[0].measurements if m.headline}
    for figure, (_, unit) in of_runs[0].items():
        values = [run[figure][0] for run in of_runs if figure in run]
        middle = statistics.median(values)
        half, remark = _half(figure, (max(values) - min(values)) / abs(middle or 1), setting)
        at = of_sim[figure][0] if figure in of_sim else None
        rows.append(Row(figure, half, middle, at, unit, remark, figure in headlines))
    return rows


def share_within(rows: Sequence[Row]) -> float:
    """Return the share of the predicted figures that are within 10%."""
    return statistics.mean(row.within for row in rows if row.half == Half.PREDICTED)


def _half(figure: str, apart: float, setting: dict[str, list[str]]) -> tuple[Half, str]:
    """Return which half a figure is in, and the parameters that it sets, or why it is in none."""
    for start, reason in LEFT_OUT.items():
        if _begins(figure, start):
            return Half.NEITHER, reason
    named = [names for start, names in setting.items() if _begins(figure, start)]
    parameters = ", ".join(_short(names) for names in named)
    if apart > WITHIN:
        remark = f"does not repeat: {apart:.0%} apart on the H200"
        return Half.NEITHER, f"{remark}; sets {parameters}" if parameters else remark
    return (Half.SET, parameters) if parameters else (Half.PREDICTED, "")


def _short(names: Sequence[str]) -> str:
    """Name a few parameters, or their section where they are many."""
    return ", ".join(names) if len(names) <= 2 else f"{names[0].split('.')[0]}.*"  # noqa: PLR2004


def _begins(figure: str, start: str) -> bool:
    return figure == start or figure.startswith((f"{start} ", f"{start}."))


def _label(m: Measurement) -> str:
    words = (f"{name}={value}" for name, value in m.parameters.items())
    return " ".join((m.name, *words))


def _figures(
    results: Sequence[Measurement | Table], topology: Topology
) -> dict[str, tuple[float, str]]:
    """Return each figure's value and unit by its name and parameters, those of tables too."""
    found = {}
    for result in results:
        if isinstance(result, Measurement):
            if result.value is not None:
                found[_label(result)] = (result.value, result.unit)
        elif result.name == "l2.latency":
            matrix = np.array(result.values, dtype=np.float64)
            for sites in ((0, 2), (1, 3)):
                label = f"l2.latency sites={','.join(map(str, sites))}"
                for name, value in _latencies(matrix, topology, sites):
                    found[f"{label} of={name}"] = (value, "r" if name == "kin" else "clk")
        elif result.name == "l2.share_by_sm":
            trips = np.array(result.values, dtype=np.float64)
            for name, value in (("mean", trips.mean()), ("min", trips.min()), ("max", trips.max())):
                found[f"l2.share_by_sm of={name}"] = (float(value), result.unit)
        elif result.name == "dispatch.first_wave":
            order = np.array(result.values, dtype=np.float64)[:, 0]
            alike = float((order == topology.order).mean())
            found["dispatch.first_wave of=order"] = (alike, "ratio")
    return found


def _latencies(
    matrix: Floats, topology: Topology, sites: tuple[int, ...]
) -> Iterator[tuple[str, float]]:
    """Summarise the latencies from the SMs of some sites: by SM, by line, and how alike."""
    there = np.isin(topology.site, sites)
    rows = matrix[there]
    sides = line_sides(matrix)
    means = rows.mean(axis=1)
    yield "mean", float(np.median(means))
    yield "min", float(np.median(rows.min(axis=1)))
    yield "max", float(np.median(rows.max(axis=1)))
    yield "sd_of_sms", float(means.std())
    yield "sd_of_lines", float(np.median(rows.std(axis=1)))
    if sides is not None:
        far = rows[:, sides].mean(axis=1) - rows[:, ~sides].mean(axis=1)
        yield "far", float(np.median(np.abs(far)))
    other = topology.gpc[there][:, None] != topology.gpc[there]
    yield "kin", float(np.median(np.where(other, np.corrcoef(rows), -1).max(axis=1)))


def _report(rows: Sequence[Row]) -> Iterator[str]:
    """Render the tables."""
    yield "Predicted by the simulator, against the medians of three checks of an H200."
    for half in (Half.PREDICTED, Half.SET, Half.NEITHER):
        chosen = [row for row in rows if row.half == half]
        yield ""
        yield f"{half.value} ({len(chosen)})"
        yield f"{'figure':<72}{'measured':>10}{'simulated':>11}{'error':>8}"
        yield from map(_line, chosen)


def _line(row: Row) -> str:
    simulated = "-" if row.simulated is None else f"{row.simulated:.5g}"
    error = "-" if row.error is None else f"{row.error:+.1%}"
    cells = f"{row.figure:<72}{row.measured:>10.5g}{simulated:>11}{error:>8}"
    return f"{cells}  {row.unit:<8} {row.remark}".rstrip()


def _summary(rows: Sequence[Row], elsewhere: Mapping[str, Row]) -> Iterator[str]:
    """Count the predicted figures within 10%, here and on another H200, and explain the others."""
    predicted = [row for row in rows if row.half == Half.PREDICTED]
    yield ""
    yield f"Within 10%: {_count(predicted)} predicted figures ({share_within(rows):.0%})."
    yield f"  headlines     {_count([row for row in predicted if row.headline])}"
    for probe in dict.fromkeys(row.figure.split(".")[0] for row in predicted):
        of_probe = [row for row in predicted if row.figure.startswith(f"{probe}.")]
        yield f"  {probe:<14}{_count(of_probe)}"
    there = [elsewhere[row.figure] for row in predicted if row.figure in elsewhere]
    yield f"On another H200, on a slower host, which set nothing: {_count(there)} of the same."
    yield "Not within 10%:"
    for row in predicted:
        if not row.within:
            error = "-" if row.error is None else f"{row.error:+.0%}"
            yield f"  {row.figure}: {error}: {reason(row)}"


def _count(rows: Sequence[Row]) -> str:
    return f"{sum(row.within for row in rows)} of {len(rows)}"


def reason(row: Row) -> str:
    """Return why a figure is off, as far as it is known."""
    found = (words for start, words in REASONS.items() if _begins(row.figure, start))
    return next(found, "not known")


if __name__ == "__main__":
    main()

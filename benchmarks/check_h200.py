"""How well the figures of `tailwave check` repeat: three full runs and a quick one on one GPU.

    python benchmarks/check_h200.py FOLDER [DEVICE]

Each run has a process of its own, as a user's would. The sessions are written to FOLDER; the table
shows each headline figure by run, how far the full runs are apart, and the quick one's. What was
measured on an H200 is kept in `results/check`.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from tailwave import __version__, session
from tailwave.gpu.devices import open_device
from tailwave.gpu.devices.base import DeviceLostError
from tailwave.gpu.probes import run_probes
from tailwave.model import Measurement, Session, Status, Table

GOAL_APART = 0.03
GOAL_SECONDS = 60.0
GOAL_SECONDS_QUICK = 15.0
_RUNS = 3


def main() -> None:
    """Run, save, and print the table."""
    folder = Path(sys.argv[1])
    device = sys.argv[2] if len(sys.argv) > 2 else "cuda"  # noqa: PLR2004 - script, folder, device
    folder.mkdir(parents=True, exist_ok=True)
    names = [*(f"run{number}" for number in range(1, _RUNS + 1)), "quick"]
    for name in names:
        work = (device, folder / f"{name}.json", name == "quick")
        process = multiprocessing.get_context("spawn").Process(target=_run, args=work)
        process.start()
        process.join()
    sessions = [session.load(folder / f"{name}.json") for name in names]
    _print_refusals(sessions[0])
    _print_table(sessions)
    for name, one in zip(names, sessions, strict=True):
        goal = GOAL_SECONDS_QUICK if name == "quick" else GOAL_SECONDS
        print(f"{name}: {one.seconds:.1f} s of {goal:.0f} s allowed {one.cut_short}")


def _run(name: str, path: Path, quick: bool) -> None:  # noqa: FBT001 - Process passes by position
    """Run the probes once and save what they found."""
    started, begin = datetime.now(UTC), time.monotonic()
    device = open_device(name)
    clock = _ProbeClock()
    found: list[Measurement | Table] = []
    cut_short = ""
    try:
        for result in run_probes(device, quick=quick, progress=clock.begin):
            found.append(result)  # noqa: PERF402 - one by one, so that a lost device leaves these
    except DeviceLostError as error:
        cut_short = str(error)
    seconds = time.monotonic() - begin
    clock.begin("")
    facts = device.facts
    device.close()
    document = Session(
        schema=session.SCHEMA,
        tool_version=__version__,
        command=f"python benchmarks/check_h200.py ({'quick' if quick else 'full'})",
        started=started.isoformat(timespec="seconds"),
        seconds=seconds,
        device=facts,
        measurements=tuple(r for r in found if isinstance(r, Measurement)),
        tables=tuple(r for r in found if isinstance(r, Table)),
        cut_short=cut_short,
        notes=(clock.words,),
    )
    session.save(document, path)


class _ProbeClock:
    """Tells how long each probe took."""

    def __init__(self) -> None:
        self.words = "seconds by probe:"
        self._name, self._since = "", time.monotonic()

    def begin(self, name: str) -> None:
        """End the probe before, and begin one."""
        now = time.monotonic()
        if self._name:
            self.words += f" {self._name} {now - self._since:.2f}"
        self._name, self._since = name, now


def _print_refusals(one: Session) -> None:
    for m in one.measurements:
        if m.status is not Status.OK:
            print(f"{m.name} {_words(m)}: {m.status.value}: {m.reason}")
    print(*one.notes, sep="\n")


def _print_table(sessions: list[Session]) -> None:
    """Print a line for each headline figure of the first run."""
    runs = [{_key(m): m for m in one.measurements} for one in sessions]
    print(f"{'figure':<62}" + "".join(f"{f'run {i + 1}':>10}" for i in range(_RUNS)), end="")
    print(f"{'quick':>10} {'apart':>7} {'interval':>9}  unit")
    for key, first in runs[0].items():
        if first.headline:
            _print_line(first, [run.get(key) for run in runs])


def _print_line(first: Measurement, found: list[Measurement | None]) -> None:
    values = [m.value if m else None for m in found]
    cells = "".join(f"{'-' if v is None else f'{v:.5g}':>10}" for v in values)
    full = [v for v in values[:_RUNS] if v is not None]
    apart = (max(full) - min(full)) / abs(sum(full) / len(full)) if full and sum(full) else 0.0
    wide = max((_half(m) for m in found[:_RUNS] if m), default=0.0)
    mark = " !" if apart > GOAL_APART else ""
    label = f"{first.name} {_words(first)}"
    print(f"{label:<62}{cells} {apart:>7.1%} {wide:>9.1%}  {first.unit}{mark}")


def _half(m: Measurement) -> float:
    """Return half the relative width of a figure's interval."""
    if m.value is None or m.low is None or m.high is None or m.value == 0:
        return 0.0
    return (m.high - m.low) / 2 / abs(m.value)


def _words(m: Measurement) -> str:
    return " ".join(f"{name}={value}" for name, value in m.parameters.items())


def _key(m: Measurement) -> tuple[object, ...]:
    return (m.name, *sorted(m.parameters.items()))


if __name__ == "__main__":
    main()

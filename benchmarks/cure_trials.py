"""What `tailwave try` says of programs whose cause is known, because it was planted.

    python benchmarks/cure_trials.py --out FILE [--only PART...] [--scripts NAME...] [--repeat N]

With CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER=PCI_BUS_ID set, it looks at that GPU alone, so that
each GPU of a machine can have its own.

planted: the cure is kept. healthy: nothing is wrong, and of three cures that do nothing for it
none is kept; so many times. nothing: cures that do nothing, or harm, are not kept. kill: the
trial is killed at random moments, and afterwards no process of it is left, none uses the GPU, and
the GPU's settings and the folder for temporary files are as before. The result is written after
each trial; what the time did not suffice for is listed as not run. Exits with 1 when a trial did
not go as it should.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from provenance import provenance, smi

from tailwave.cures.trials.workspace import workspace
from tailwave.errors import TailwaveError

SCRIPTS = Path(__file__).with_name("trials")
TAILWAVE = (sys.executable, "-m", "tailwave")
KEPT, NOT_KEPT = "kept", ("no gain", "harmful")
FALSE_KEEPS_ALLOWED = 1  # in all runs of the healthy program
IDLE = ("module-loading", "max-connections", "allocator")  # what does nothing for large products
MARK = "TAILWAVE_KILLED_TRIAL"  # in the environment of a trial to be killed, and of all it starts
GONE_WITHIN_S = 15.0
KILL_FROM_S, KILL_UNTIL_S = 1.0, 25.0  # from the first import to the middle of the rounds
SEED = 5
# What nothing but root could have changed, and what a trial must not.
SETTINGS = "persistence_mode,mig.mode.current,compute_mode,clocks.max.sm,power.limit"


class Planned(NamedTuple):
    """A trial, and what its outcome must be."""

    script: str
    cures: tuple[str, ...]  # () leaves the choice to the diagnosis
    expected: dict[str, tuple[str, ...]]  # the cures that count, and their right decisions
    note: str


PLANTED = (
    Planned("launch_bound_inference", (), {"cuda-graph": (KEPT,)}, "launches hold the GPU up"),
    Planned("starved_loader", (), {"prefetch": (KEPT,)}, "data are prepared in line"),
    Planned("pageable_copies", (), {"async-copy": (KEPT,)}, "copies are from pageable memory"),
    Planned(
        "slow_optimizer", ("fused-optimizer",), {"fused-optimizer": (KEPT,)}, "many small kernels"
    ),
)
HEALTHY = (
    Planned("healthy", IDLE, dict.fromkeys(IDLE, NOT_KEPT), "nothing is wrong"),
    Planned("healthy_read", IDLE[:2], dict.fromkeys(IDLE[:2], NOT_KEPT), "nothing is wrong"),
)
NOTHING = (
    Planned(
        "held_sms",
        ("sm-carveout:4", "env:CUDA_LAUNCH_BLOCKING=1"),
        {"sm-carveout": NOT_KEPT, "env": NOT_KEPT},
        "four SMs are held; waiting for each kernel helps nobody",
    ),
    Planned(
        "tenant_priority",
        ("stream-priority:victim", "partition:victim=32"),
        {"stream-priority": NOT_KEPT, "partition": (KEPT,)},
        "the tenant's CTAs are not evicted; SMs of its own help the victim",
    ),
)
KILLED = (
    ("starved_loader", ("prefetch",)),
    ("tenant_priority", ("partition:victim=32",)),
    ("launch_bound_inference", ("cuda-graph",)),
)
PARTS = ("planted", "nothing", "kill", "healthy")


class Chosen(NamedTuple):
    """The command line."""

    out: Path
    only: list[str]
    scripts: list[str]
    repeat: int
    rounds: int
    kills: int
    seconds: float


class Task(NamedTuple):
    """One thing to do, and the part of the result that it belongs to."""

    part: str
    what: str
    do: Callable[[], dict[str, Any]]


def main() -> int:
    """Do what the command line asks for; return the exit code."""
    chosen = arguments()
    try:
        result: dict[str, Any] = provenance() | {part: [] for part in chosen.only}
    except TailwaveError as error:
        print(f"cure_trials.py: {error}", file=sys.stderr)
        return error.exit_code
    left = work(list(tasks(chosen)), chosen, result)
    if "kill" in chosen.only:
        with workspace():  # as the next trial would begin: it removes what killed ones left
            pass
        result["temporary_left"] = sorted(temporary())
    result["not_run"] = [f"{task.part}: {task.what}" for task in left]
    result["summary"] = summary(result)
    write(chosen.out, result)
    print(json.dumps(result["summary"], indent=1))
    return 0 if all(one["as_it_should"] for one in result["summary"].values()) else 1


def arguments() -> Chosen:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="write the result here, as JSON")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--scripts", nargs="+", default=[], help="these alone (default: all)")
    parser.add_argument("--repeat", type=int, default=10, help="healthy trials (default: 10)")
    parser.add_argument("--rounds", type=int, default=6, help="of each trial (default: 6)")
    parser.add_argument("--kills", type=int, default=10, help="killed trials (default: 10)")
    parser.add_argument("--seconds", type=float, default=3600, help="that all may take")
    return Chosen(**vars(parser.parse_args()))


def tasks(chosen: Chosen) -> Iterator[Task]:
    """Give all there is to do."""
    for part, plans, times in (
        ("planted", PLANTED, 1),
        ("nothing", NOTHING, 1),
        ("healthy", HEALTHY, chosen.repeat),
    ):
        for planned in plans if part in chosen.only else ():
            if not chosen.scripts or planned.script in chosen.scripts:
                yield from [trial_task(part, planned, chosen.rounds)] * times
    if "kill" in chosen.only:
        chance = random.Random(SEED)  # noqa: S311 - moments that another run can repeat
        for number in range(chosen.kills):
            script, cures = KILLED[number % len(KILLED)]
            ending = (signal.SIGKILL, signal.SIGTERM)[number % 2]
            after = chance.uniform(KILL_FROM_S, KILL_UNTIL_S)
            words = f"{script}, {ending.name} after {after:.1f} s"
            yield Task("kill", words, kill_of(script, cures, ending, after))


def trial_task(part: str, planned: Planned, rounds: int) -> Task:
    """Return the task of a planned trial."""
    return Task(part, planned.script, lambda: tried(planned, rounds))


def work(todo: list[Task], chosen: Chosen, result: dict[str, Any]) -> list[Task]:
    """Do the tasks while there is time for the longest so far; return those that are left."""
    began, longest = time.monotonic(), 0.0
    for number, task in enumerate(todo):
        spent = time.monotonic() - began
        if spent + longest > chosen.seconds:
            return todo[number:]
        print(f"[{spent:6.0f} s] {number + 1}/{len(todo)} {task.part}: {task.what}", flush=True)
        row = task.do()
        longest = max(longest, time.monotonic() - began - spent)
        result[task.part].append(row)
        print(f"           {row['says']}", flush=True)
        write(chosen.out, result)
    return []


def command(script: str, cures: Sequence[str], rounds: int | None = None) -> list[str]:
    """Return the command of a trial."""
    options = [] if rounds is None else ["--rounds", str(rounds)]
    named = [word for cure in cures for word in ("--cure", cure)]
    return [*TAILWAVE, "try", "--json", *options, *named, str(SCRIPTS / f"{script}.py")]


def tried(planned: Planned, rounds: int) -> dict[str, Any]:
    """Make a trial and judge it."""
    began = time.monotonic()
    done = subprocess.run(  # noqa: S603 - our own command
        command(planned.script, planned.cures, rounds),
        capture_output=True,
        text=True,
        check=False,
    )
    row = {
        "script": planned.script,
        "note": planned.note,
        "seconds": round(time.monotonic() - began, 1),
        "exit_code": done.returncode,
    }
    try:
        trial = json.loads(done.stdout)
    except ValueError:
        error = done.stderr.strip().splitlines()[-1:] or ["nothing was printed"]
        return row | {"right": False, "decisions": {}, "says": f"no result: {error[0]}"}
    return row | judged(planned, trial)


def judged(planned: Planned, trial: dict[str, Any]) -> dict[str, Any]:
    """Hold a trial's outcomes against what they must be."""
    decisions = {one["cure"]: one["decision"] for one in trial["outcomes"]}
    right = trial["cut_short"] is None
    for name, right_ones in planned.expected.items():
        found = [d for cure, d in decisions.items() if cure.partition(":")[0] == name]
        # Of several parameters of a cure it is enough that one is kept.
        enough = any if right_ones == (KEPT,) else all
        right &= bool(found) and enough(decision in right_ones for decision in found)
    findings = (trial["diagnosis"] or {}).get("findings", [])
    return {
        "right": right,
        "decisions": decisions,
        "findings": {finding["code"]: finding["claim"] for finding in findings},
        "says": "; ".join(f"{cure}: {decision}" for cure, decision in decisions.items()),
        "trial": {key: value for key, value in trial.items() if key != "diagnosis"},
    }


def kill_of(
    script: str, cures: Sequence[str], ending: signal.Signals, after: float
) -> Callable[[], dict[str, Any]]:
    """Return what kills one trial and looks at what is left."""
    return lambda: killed(command(script, cures), ending, after)


def killed(words: Sequence[str], ending: signal.Signals, after: float) -> dict[str, Any]:
    """Start a trial, end it after some seconds, and compare all with before."""
    mark, before = uuid.uuid4().hex, surroundings()
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - no file of ours
        process = subprocess.Popen(  # noqa: S603 - our own command
            words, stdout=nowhere, stderr=nowhere, env={**os.environ, MARK: mark}
        )
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(after)
    running = process.poll() is None
    started = len(marked(mark))
    process.send_signal(ending)
    process.wait()
    gone_after = until_gone(mark)
    free_after = until_free(before.users)
    now = surroundings()
    left = sorted(temporary() - before.temporary)
    # What a killed process has no chance to remove, the next trial does.
    removed = ending is signal.SIGKILL or not left
    same = now.settings == before.settings and now.users == before.users
    was_there = running and started > 0  # else nothing was killed, and nothing is shown
    right = was_there and gone_after is not None and same and removed
    return {
        "command": " ".join(words[len(TAILWAVE) :]),
        "signal": ending.name,
        "after_s": round(after, 2),
        "was_running": running,
        "processes_before": started,
        "gone_after_s": gone_after,
        "still_there": marked(mark),
        "gpu_users_as_before": now.users == before.users,
        "gpu_free_after_s": free_after,
        "gpu_settings_as_before": now.settings == before.settings,
        "temporary_left": left,
        "right": right,
        "says": says(left, right=right, was_there=was_there),
    }


def says(left: Sequence[str], *, right: bool, was_there: bool) -> str:
    """Say in words what a killed trial left."""
    if not was_there:
        return "it had ended before it could be killed"
    if not right:
        return "NOT as before"
    return "its folder is left to the next trial" if left else "nothing is left"


class Surroundings(NamedTuple):
    """What a trial must leave as it was."""

    settings: list[str]
    users: list[str]
    temporary: frozenset[str]


def surroundings() -> Surroundings:
    """Look at the GPU's settings, who uses it, and what lies in the temporary folder."""
    users = sorted(smi("pid", of="compute-apps"))
    return Surroundings(smi(SETTINGS), users, temporary())


def temporary() -> frozenset[str]:
    """Return the names of what trials keep in the temporary folder."""
    return frozenset(path.name for path in Path(tempfile.gettempdir()).glob("tailwave-*"))


def marked(mark: str) -> list[int]:
    """Return the processes that have the mark in their environment."""
    found, wanted = [], f"{MARK}={mark}".encode()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):  # it has just ended, or is another user's
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
    return found


def until_gone(mark: str) -> float | None:
    """Wait until no process has the mark; return how long it took (s), None if they stay."""
    began = time.monotonic()
    while marked(mark):
        if time.monotonic() - began > GONE_WITHIN_S:
            return None
        time.sleep(0.05)
    return round(time.monotonic() - began, 2)


def summary(result: dict[str, Any]) -> dict[str, Any]:
    """Count, for each part, the trials and those that went as they should."""
    found: dict[str, Any] = {}
    for part in PARTS:
        rows = result.get(part)
        if rows is None:
            continue
        right = sum(row["right"] for row in rows)
        allowed = FALSE_KEEPS_ALLOWED if part == "healthy" else 0
        found[part] = {
            "trials": len(rows),
            "right": right,
            "as_it_should": bool(rows) and len(rows) - right <= allowed,
        }
    if "kill" in found:
        found["kill"]["as_it_should"] &= not result["temporary_left"]
    return found


def until_free(users: Sequence[str]) -> float | None:
    """Wait until the GPU has the users given (the driver still clears up after a process is gone).

    Returns how long it took (s), None if others stay.
    """
    began = time.monotonic()
    while sorted(smi("pid", of="compute-apps")) != users:
        if time.monotonic() - began > GONE_WITHIN_S:
            return None
    return round(time.monotonic() - began, 2)


def write(path: Path, result: dict[str, Any]) -> None:
    """Write the result so far."""
    path.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    raise SystemExit(main())

"""Shows by hardware counters that each kernel does what it claims, and that the article's do not.

    python benchmarks/check_kernels.py [RESULT.json]

Needs an NVIDIA GPU, ``ncu`` on the PATH, and the right to read counters. Each case is one launch;
each claim one counter of it and the bounds it must lie in. What an H200 said is kept in
`results/kernels_h200.json`.
"""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from tailwave.gpu.devices import open_device
from tailwave.gpu.devices.base import Buffer, Device, Launch

_CHILD: Final = "--run"
_EXACT: Final = 0.02  # counters also see the traffic of the machine itself
_MIB_WORDS: Final = 1 << 17
_WORDS: Final = 32 * _MIB_WORDS  # in L2, and more than all SMs together have in flight
_ITERATIONS: Final = 512
_LINES, _REPEATS = 256, 64
_FMAS: Final = 4096
_FMAS_WARM: Final = 256  # one turn, before those that are timed
_ADDS: Final = 1000

_CONFLICTS: Final = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"
_SHARED_LOADS: Final = "smsp__inst_executed_op_shared_ld.sum"
_SHARED_STORES: Final = "smsp__inst_executed_op_shared_st.sum"
_L2_READS: Final = "lts__t_sectors_op_read.sum"
_L2_WRITES: Final = "lts__t_sectors_op_write.sum"
_FROM_L2: Final = "l1tex__m_xbar2l1tex_read_bytes.sum"
_L1_HITS: Final = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum"
_REDUCTIONS: Final = "smsp__inst_executed_op_global_red.sum"
_FFMA: Final = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
_ISSUE: Final = "smsp__issue_active.avg.pct_of_peak_sustained_active"


class Claim(NamedTuple):
    """A counter, and the least and most that it may be; None is no bound above."""

    counter: str
    least: float
    most: float | None

    def holds(self, value: float) -> bool:
        """Tell whether a value is within the bounds; NaN never is."""
        return value >= self.least and (self.most is None or value <= self.most)


class Case(NamedTuple):
    """A launch, in the words of its arguments, and what is claimed of it."""

    name: str
    kernel: str
    claims: tuple[Claim, ...]


def _about(counter: str, value: float) -> Claim:
    return Claim(counter, value * (1 - _EXACT), value * (1 + _EXACT))


def _at_least(counter: str, value: float) -> Claim:
    return Claim(counter, value * (1 - _EXACT), None)


def _none(counter: str) -> Claim:
    return Claim(counter, 0, 0)


def _cases(sms: int) -> tuple[Case, ...]:
    """Return what is claimed, in the order of the launches."""
    worst = 31 * _ITERATIONS  # 32 ways: one is free
    bytes_ = _WORDS * 8
    sectors = bytes_ / 32
    # Each warp reads its SM's word of the mask, and nothing else, through L1.
    masks = Claim(_L1_HITS, 0, sms * 32)
    return (
        Case("banks, loads at stride 1", "banks", (_none(_CONFLICTS),)),
        Case("banks, loads at stride 8", "banks", (_about(_CONFLICTS, 7 * _ITERATIONS),)),
        Case(
            "banks, loads at stride 32",
            "banks",
            (_about(_CONFLICTS, worst), _about(_SHARED_LOADS, _ITERATIONS)),
        ),
        Case(
            "banks, stores at stride 32",
            "banks",
            (_about(_CONFLICTS, worst), _about(_SHARED_STORES, _ITERATIONS)),
        ),
        Case("banks, padded", "banks", (_none(_CONFLICTS),)),
        Case("banks, swizzled", "banks", (_none(_CONFLICTS),)),
        Case(
            "read, 1 SM", "read", (_at_least(_L2_READS, sectors), masks, _about(_FROM_L2, bytes_))
        ),
        Case(
            "read, all SMs",
            "read",
            (_at_least(_L2_READS, sms * sectors), masks, _about(_FROM_L2, sms * bytes_)),
        ),
        Case("write, all SMs", "write", (_at_least(_L2_WRITES, sms * sectors),)),
        Case("chase", "chase", (_at_least(_L2_READS, _LINES * _REPEATS), _none(_L1_HITS))),
        Case(
            "issue, independent FMAs",
            "issue",
            (_about(_FFMA, sms * 1024 * (_FMAS + _FMAS_WARM)), _at_least(_ISSUE, 90)),
        ),
        Case(
            "issue, dependent FMAs of one warp a scheduler",
            "issue",
            (_about(_FFMA, sms * 128 * (_FMAS + _FMAS_WARM)), Claim(_ISSUE, 15, 30)),
        ),
        Case("atomics", "atomics", (_about(_REDUCTIONS, sms * 8 * _ADDS),)),
        Case("hog", "hog", (_at_least(_ISSUE, 80),)),
    )


def _launch_all(device: Device) -> None:
    """Make the launches of the cases, in their order."""
    sms = device.facts.sm_count
    data, out = device.buffer(_WORDS), device.buffer(8 * sms)
    every = _mask(device, range(sms))
    args: tuple[tuple[str, int, int, tuple[object, ...]], ...] = (
        *(("banks", 1, 32, (out, stride, _ITERATIONS, mode)) for stride, mode in _BANKS),
        ("read", sms, 1024, (out, data, _WORDS, 1, _mask(device, range(1)))),
        ("read", sms, 1024, (out, data, _WORDS, 1, every)),
        ("write", sms, 1024, (out, data, _WORDS, 1, every)),
        ("chase", sms, 32, (out, data, _LINES, _REPEATS, 0)),
        ("issue", sms, 1024, (out, 0, _FMAS)),
        ("issue", sms, 128, (out, 1, _FMAS)),
        ("atomics", sms, 256, (out, data, 32, _ADDS, every)),
        ("hog", sms, 1024, (out, 100_000)),
    )
    stream = device.stream()
    for kernel, grid, block, words in args:
        shared = -1 if grid > 1 else 0
        device.launch(stream, Launch(kernel, grid, block, words, shared))
        device.synchronize(stream)


# Strides and modes, as the first cases have them.
_BANKS: Final = ((1, 0), (8, 0), (32, 0), (32, 1), (32, 2), (32, 3))


def _mask(device: Device, sms: range) -> Buffer:
    words = np.zeros(device.facts.sm_count, dtype=np.uint64)
    words[list(sms)] = 1
    buffer = device.buffer(len(words))
    buffer.write(words)
    return buffer


def _counted(counters: set[str]) -> dict[str, list[dict[str, float]]]:
    """Run the launches under ncu; returns the counters of each launch, by kernel, in order."""
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base"]
    command += ["--metrics", ",".join(sorted(counters)), sys.executable, __file__, _CHILD]
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603
    rows = text[text.find('"ID"') :] if '"ID"' in text else ""
    if not rows:
        sys.exit(f"ncu gave no counters:\n{text[-2000:]}")
    found: dict[str, list[dict[str, float]]] = defaultdict(list)
    for row in list(csv.DictReader(io.StringIO(rows)))[1:]:  # the first holds the units
        name = row["Kernel Name"].partition("(")[0]
        found[name].append({counter: _number(row.get(counter, "")) for counter in counters})
    return found


def _number(text: str) -> float:
    """Read a counter; NaN, which no bounds hold, for one that this GPU does not have."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return float("nan")


def main() -> None:
    """Print each claim and whether it holds; exit with 1 unless all do."""
    device = open_device("")
    if sys.argv[1:2] == [_CHILD]:
        _launch_all(device)
        return
    cases = _cases(device.facts.sm_count)
    device.close()
    found = _counted({claim.counter for case in cases for claim in case.claims})
    results = []
    for case in cases:
        counters = found[case.kernel].pop(0)
        for claim in case.claims:
            value = counters[claim.counter]
            holds = claim.holds(value)
            results.append({"case": case.name, **claim._asdict(), "value": value, "holds": holds})
            print(f"{'ok ' if holds else 'NOT'} {case.name}: {claim.counter} {value:.0f}")
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(results, indent=1) + "\n", "utf-8")
    sys.exit(not all(result["holds"] for result in results))


if __name__ == "__main__":
    main()

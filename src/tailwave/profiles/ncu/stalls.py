"""Why warps stalled, as shares of their latency, from any of the ways in which ncu counts it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from tailwave.model import Counter


class Spelling(NamedTuple):
    """One way of counting stalls: the counter of a reason, and of all reasons together."""

    pattern: re.Pattern[str]  # its group 1 is the reason
    totals: tuple[tuple[str, float], ...]  # and what to take them times; () for shares already


# Descriptions of these metrics: `ncu --query-metrics`. The first way that a file has is taken.
_SPELLINGS = (
    Spelling(  # warps stalled, per cycle in which one issued
        re.compile(r"smsp__average_warps_issue_stalled_(\w+)_per_issue_active(?:\.ratio)?"),
        (("smsp__average_warp_latency_per_inst_issued.ratio", 1),),
    ),
    Spelling(  # cycles of a warp's life
        re.compile(r"smsp__average_warp_latency_issue_stalled_(\w+?)(?:\.ratio)?"),
        (("smsp__average_warp_latency.ratio", 1), ("smsp__average_warp_latency", 1)),
    ),
    Spelling(  # the same, times 100
        re.compile(r"smsp__average_warp_latency_issue_stalled_(\w+)\.pct"),
        (("smsp__average_warp_latency.pct", 1), ("smsp__average_warp_latency.ratio", 100)),
    ),
    Spelling(  # percent of the warps there are
        re.compile(r"smsp__warp_issue_stalled_(\w+)_per_warp_active(?:\.avg)?\.pct"), ()
    ),
    Spelling(  # cumulative warps
        re.compile(r"smsp__warps_issue_stalled_(\w+)\.sum"), (("smsp__warps_active.sum", 1),)
    ),
    Spelling(  # samples of the program counter
        re.compile(r"smsp__pcsamp_warps_issue_stalled_(\w+)"), (("smsp__pcsamp_sample_count", 1),)
    ),
)
_SAME = {"no_instructions": "no_instruction", "warpgroup_arrive": "gmma"}
_KNOWN = (
    *("barrier", "branch_resolving", "dispatch_stall", "drain", "gmma", "imc_miss", "lg_throttle"),
    *("long_scoreboard", "math_pipe_throttle", "membar", "mio_throttle", "misc", "no_instruction"),
    *("not_selected", "selected", "short_scoreboard", "sleeping", "tex_throttle", "wait"),
)
# Every chip since Volta counts these; with them all, the reasons add up to the whole latency.
_WHOLE = frozenset(_KNOWN) - {"gmma", "misc"}
_PERCENT = 100.0
_MOST = 1.1  # a reason and the total come of passes of their own, which differ by a few percent


def stall_shares(counters: Mapping[str, Counter]) -> dict[str, Counter]:
    """Return each reason's share of a warp's latency; ``source`` is the counter it comes from.

    A share is None where the file has the counter and no total to divide it by.
    """
    shares: dict[str, Counter] = {}
    for spelling in _SPELLINGS:
        for reason, share in _shares(spelling, counters).items():
            known = shares.get(reason)
            if known is None or (known.value is None and share.value is not None):
                shares[reason] = share
    return shares


def _shares(spelling: Spelling, counters: Mapping[str, Counter]) -> dict[str, Counter]:
    found = {
        _reason(match[1]): name
        for name in counters
        if (match := spelling.pattern.fullmatch(name)) and _is_whole_reason(match[1])
    }
    total = _total(spelling, counters, found)
    return {reason: _share(name, counters[name], total) for reason, name in found.items()}


def _reason(text: str) -> str:
    return _SAME.get(text, text)


def _is_whole_reason(text: str) -> bool:
    """Tell a reason from a part of one (long_scoreboard_pipe_l1tex, barrier_not_issued)."""
    return not text.startswith(tuple(f"{reason}_" for reason in (*_KNOWN, *_SAME)))


def _total(
    spelling: Spelling, counters: Mapping[str, Counter], found: Mapping[str, str]
) -> float | None:
    if not spelling.totals:
        return _PERCENT
    values = [counters[name].value for name in found.values()]
    numbers = [value for value in values if isinstance(value, float)]
    if found.keys() >= _WHOLE and len(numbers) == len(values):
        return sum(numbers)  # taken in one kind of pass, where the total below is of another
    for name, times in spelling.totals:
        counter = counters.get(name)
        if counter is not None and isinstance(counter.value, float):
            return counter.value * times
    return None


def _share(name: str, counter: Counter, total: float | None) -> Counter:
    if not isinstance(counter.value, float):
        return Counter(None, "ratio", counter.reason or "not a number", name)
    if not total:
        reason = "no warp was counted" if total == 0 else "the total was not collected"
        return Counter(None, "ratio", reason, name)
    share = counter.value / total
    if not 0 <= share <= _MOST:
        return Counter(None, "ratio", "no part of the total", name)
    return Counter(share, "ratio", source=name)

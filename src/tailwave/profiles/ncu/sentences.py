"""What the sentences of ncu's rules tell that its details page has nowhere else.

The page has no column for a rule's title, and few counters; but some rules print the counts that
they rest on. What is taken here are printed figures. A sentence of another wording gives nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping

from tailwave.model import Counter, RuleResult

STALLS = "CPIStall"  # names the one or two reasons that warps stall for most
_STALL_WORDS = {
    "after EXIT waiting for all outstanding memory operations": "drain",
    "waiting for a scoreboard dependency on a L1TEX": "long_scoreboard",
    "waiting for a scoreboard dependency on a MIO": "short_scoreboard",
    "waiting for sibling warps at a CTA barrier": "barrier",
    "waiting for the L1 instruction queue for local and global": "lg_throttle",
    "waiting for the MIO (memory input/output) instruction queue": "mio_throttle",
    "waiting for the micro scheduler to select the warp": "not_selected",
    "waiting on a fixed latency execution dependency": "wait",
    "waiting to be selected to fetch an instruction": "no_instruction",
}
_PERCENT = r"([0-9]{1,3}(?:\.[0-9]+)?)%"
_STALL_PART = re.compile(rf"represents about {_PERCENT} of the total average")
_WHOLE = 100.0  # percent
_STALL_COUNTER = "smsp__warp_issue_stalled_{}_per_warp_active.pct"

_LAUNCH_WORDS = {
    "a partial wave of": "Tail Effect",
    "is configured to execute only": "Small Grid",
    "at least two blocks per multiprocessor": "Small Grid",
}

_FEWER_CTAS = re.compile(r"which is less than the GPU's ([0-9]{1,4})\s+multiprocessors")
_SMS = "launch__sm_count"  # details pages before ncu 2023.3 do not show it

_LANES = re.compile(
    r"an average of ([0-9]{1,2}\.[0-9]) threads being active per cycle"
    r"(?:\. This is further reduced to ([0-9]{1,2}\.[0-9]) threads per warp)?"
)
_LANES_COUNTERS = (
    "smsp__thread_inst_executed_per_inst_executed.ratio",
    "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio",
)
_WARP = 32  # threads

_UNEVEN = re.compile(r"One or more ([\w ]+?) have a much (?:higher|lower) number of active cycles")
_MOST_ABOVE = re.compile(rf"Maximum instance value is {_PERCENT} above the average")
_ACTIVE_MEAN, _ACTIVE_MOST = "sm__cycles_active.avg", "sm__cycles_active.max"

_EXCESS = re.compile(
    r"uncoalesced (global|shared) accesses resulting in a total of ([0-9]{1,18}) excessive \w+ "
    r"\(([0-9]{1,3})% of the total ([0-9]{1,18}) \w+\)"
)
_HALF_A_PERCENT = 0.501  # what the sentence rounds away, and what floats do
_EXCESS_COUNTERS = {
    "global": ("memory_l2_theoretical_sectors_global", "sector"),
    "shared": ("memory_l1_wavefronts_shared", ""),
}


def title_of(rule: str, message: str) -> str:
    """Return the title that ncu's report gives a rule's result; "" where its words do not tell."""
    if rule == STALLS and (reason := _stall(message)):
        return f"{reason.replace('_', ' ').title()} Stalls"
    if rule == "LaunchConfiguration":
        return next((title for words, title in _LAUNCH_WORDS.items() if words in message), "")
    if rule == "WorkloadImbalance" and (units := _UNEVEN.match(message)):
        return f"{units[1]} Workload Imbalance"
    return ""


def told(rules: Iterable[RuleResult], counters: Mapping[str, Counter]) -> dict[str, Counter]:
    """Return the counters that rules print; ``source`` is the rule that does."""
    found: dict[str, Counter] = {}
    for rule in rules:
        found.update(_excess(rule))
        found.update(_stalled(rule))
        found.update(_sms(rule))
        found.update(_lanes(rule))
        found.update(_busiest(rule, counters))
    return found


def _stall(message: str) -> str:
    return next((reason for words, reason in _STALL_WORDS.items() if words in message), "")


def _excess(rule: RuleResult) -> Iterator[tuple[str, Counter]]:
    """Yield how much accesses move, and the least that they need; its three figures must agree."""
    if match := _EXCESS.search(rule.message):
        name, unit = _EXCESS_COUNTERS[match[1]]
        excess, part, total = float(match[2]), float(match[3]), float(match[4])
        if excess > total or abs(100 * excess - part * total) > _HALF_A_PERCENT * total:
            return
        yield name, Counter(total, unit, source=rule.name)
        yield f"{name}_ideal", Counter(total - excess, unit, source=rule.name)


def _stalled(rule: RuleResult) -> Iterator[tuple[str, Counter]]:
    """Yield a reason's part of the warps' latency, in percent."""
    part, reason = _STALL_PART.search(rule.message), _stall(rule.message)
    if rule.name == STALLS and part and reason and float(part[1]) <= _WHOLE:
        yield _STALL_COUNTER.format(reason), Counter(float(part[1]), "%", source=rule.name)


def _sms(rule: RuleResult) -> Iterator[tuple[str, Counter]]:
    """Yield how many SMs there are, which a grid that is smaller is compared with."""
    told_of = _FEWER_CTAS.search(rule.message)
    if rule.name == "LaunchConfiguration" and told_of and int(told_of[1]):
        yield _SMS, Counter(float(told_of[1]), "SM", source=rule.name)


def _lanes(rule: RuleResult) -> Iterator[tuple[str, Counter]]:
    """Yield the lanes that run an instruction, and those of them that no predicate masks."""
    printed = _LANES.search(rule.message)
    if rule.name != "ThreadDivergence" or printed is None:
        return
    for name, lanes in zip(_LANES_COUNTERS, printed.groups(), strict=True):
        if lanes and 0 < float(lanes) <= _WARP:
            yield name, Counter(float(lanes), source=rule.name)


def _busiest(rule: RuleResult, counters: Mapping[str, Counter]) -> Iterator[tuple[str, Counter]]:
    """Yield for how long the busiest SM worked.

    The rule words (maximum - mean) / maximum as "above the average", and estimates that times the
    part of the kernel in which the average SM worked. Only where both figures agree is either used.
    """
    above = _MOST_ABOVE.search(rule.message)
    mean, elapsed = _number(counters, _ACTIVE_MEAN), mean_elapsed(counters)
    if not rule.title.startswith("SMs ") or not above or not mean or not elapsed:
        return
    part = float(above[1]) / 100
    expected = part * mean / elapsed * 100
    if part < 1 and rule.speedup and math.isclose(rule.speedup, expected, rel_tol=5e-3):
        yield _ACTIVE_MOST, Counter(mean / (1 - part), "cycle", source=rule.name)


def mean_elapsed(counters: Mapping[str, Counter]) -> float | None:
    """Return the cycles of a kernel from its start to its end, as the average SM counted them."""
    total = _number(counters, "sm__cycles_elapsed.sum")
    sms = _number(counters, "launch__sm_count")
    return total / sms if total and sms and sms > 0 else None


def _number(counters: Mapping[str, Counter], name: str) -> float | None:
    counter = counters.get(name)
    return counter.value if counter and isinstance(counter.value, float) else None

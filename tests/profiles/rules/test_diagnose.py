"""All rules over one profile, whatever is in it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tailwave.model import Counter, KernelProfile, KernelProfiles, RuleKind, RuleResult
from tailwave.profiles.rules import KERNEL_RULES
from tailwave.profiles.rules.diagnose import diagnose_kernels, diagnose_launches, diagnose_profiles
from tests.profiles.rules.profiles import kept, made

PLANTED = kept("planted_faults")
CODES = [rule.CODE for rule in KERNEL_RULES]


@pytest.mark.parametrize("value", [0.0, -1.0, 1e-30, 1.0, 1e30])
@pytest.mark.parametrize("number", [0, 4, 15])
def test_no_figure_is_a_fault_of_ours(value: float, number: int) -> None:
    """Counters that are all 0, negative or huge: shares stay shares, and nothing is raised."""
    profile = PLANTED[number]
    counters = {name: replace(one, value=value) for name, one in profile.counters.items()}
    stalls = {reason: replace(one, value=value) for reason, one in profile.stalls.items()}
    diagnosis = diagnose_launches([replace(profile, counters=counters, stalls=stalls)])
    assert all(0 < finding.share <= 1 for finding in diagnosis.findings)


@pytest.mark.parametrize("number", [0, 4, 15])
def test_each_counter_may_be_missing(number: int) -> None:
    """Without any one counter, the rules that need it are silent and the others as before."""
    profile = PLANTED[number]
    whole = diagnose_launches([profile])
    for name in profile.counters:
        counters = {other: one for other, one in profile.counters.items() if other != name}
        part = diagnose_launches([replace(profile, counters=counters)])
        lost = {one.code for one in part.unanswered}
        assert {f.code for f in whole.findings if name not in f.metrics} - lost <= {
            f.code for f in part.findings
        }


def test_a_profile_without_counters_answers_nothing() -> None:
    """Every question is listed, but for those that the launch's shape settles."""
    bare = KernelProfile(name="k()", launch=0)
    diagnosis = diagnose_launches([bare])
    assert diagnosis.findings == ()
    assert [one.code for one in diagnosis.unanswered] == CODES
    assert diagnosis.duration_us is None
    assert diagnosis.bound.startswith("What limits it is not in the profile")


def test_a_counter_without_a_value_is_missing() -> None:
    """What the profiler could not collect is no 0."""
    profile = made({"sm__cycles_active.max": None, "sm__cycles_active.avg": 50_000.0})
    without = {**profile.counters, "sm__cycles_active.max": Counter(None, "cycle", "not collected")}
    unanswered = diagnose_launches([replace(profile, counters=without)]).unanswered
    assert "sm-imbalance" in {one.code for one in unanswered}


def test_launches_of_one_shape_are_one_kernel() -> None:
    """Of three launches the one of median duration is shown; another grid is another kernel."""
    three = [made({"gpu__time_duration.sum": ns}) for ns in (3000.0, 1000.0, 2000.0)]
    other = made({"gpu__time_duration.sum": 9000.0}, grid=(8, 1, 1))
    kernels = diagnose_kernels([*three, other])
    assert [(kernel.launches, kernel.duration_us) for kernel in kernels] == [(1, 9), (3, 2)]


@pytest.mark.parametrize(("speedup", "disputed"), [(9.9, False), (10.0, True)])
def test_small_estimates_are_not_disputed(speedup: float, *, disputed: bool) -> None:
    """From 10% of the kernel on, what ncu expects and is not found is worth a sentence."""
    rule = RuleResult(
        "LaunchConfiguration",
        RuleKind.OPTIMIZATION,
        "",
        "Tail Effect",
        speedup=speedup,
        scope="global",
    )
    diagnosis = diagnose_launches([replace(made(), rules=(rule,))])
    assert bool(diagnosis.disputed) is disputed


def test_an_estimate_of_a_unit_is_not_of_the_kernel() -> None:
    """A local estimate is not held against what a kernel loses."""
    rule = RuleResult(
        "LaunchConfiguration", RuleKind.OPTIMIZATION, "", "Tail Effect", speedup=90.0, scope="local"
    )
    assert diagnose_launches([replace(made(), rules=(rule,))]).disputed == ()


@pytest.mark.parametrize(
    ("lost", "severities"), [(499.0, []), (500.0, ["info"]), (3000.0, ["minor"])]
)
def test_next_to_nothing_is_not_said(lost: float, severities: list[str]) -> None:
    """From half a percent of 100,000 cycles on, and from 3% on it is minor."""
    excess = {"memory_l1_wavefronts_shared": 132 * lost, "memory_l1_wavefronts_shared_ideal": 0.0}
    findings = diagnose_launches([made(excess)]).findings
    assert [finding.severity.value for finding in findings] == severities


def test_kernels_are_sorted_by_what_all_their_launches_lose() -> None:
    """Ten short launches lose more than a long one."""
    half = {"sm__cycles_active.avg": 50_000.0}
    short = [made({**half, "gpu__time_duration.sum": 1000.0}) for _ in range(10)]
    long = made({**half, "gpu__time_duration.sum": 9000.0}, grid=(132, 1, 1))
    assert [kernel.launches for kernel in diagnose_kernels([long, *short])] == [10, 1]


@pytest.mark.parametrize(
    ("busy", "words"),
    [(60.0, "Bound by DRAM, at 60% of its peak"), (59.0, "Latency: no unit is busy")],
)
def test_a_unit_bounds_from_three_fifths_of_its_peak(busy: float, words: str) -> None:
    """Below it is not what a kernel waits for."""
    dram = "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"
    assert diagnose_launches([made({dram: busy})]).bound.startswith(words)


@pytest.mark.parametrize(
    ("most", "words"), [(70_000.0, "while other SMs work"), (60_000.0, "mostly start and end")]
)
def test_when_sms_idle_is_told(most: float, words: str) -> None:
    """Of 60% idle time, 30% are half."""
    profile = made({"sm__cycles_active.avg": 40_000.0, "sm__cycles_active.max": most})
    assert words in diagnose_launches([profile]).bound


def test_pages_without_shapes_tell_grids_apart_by_their_size() -> None:
    """As those of 2020 do, which have no columns for shapes."""
    bare = [replace(made({"launch__grid_size": size}), grid=None) for size in (8.0, 16.0, 16.0)]
    assert sorted(kernel.launches for kernel in diagnose_kernels(bare)) == [1, 2]


def test_a_kernel_on_another_gpu_is_another() -> None:
    """Figures of two kinds of GPUs have no median; two GPUs of a kind do."""
    h200 = made().device
    assert h200 is not None
    small = replace(h200, name="", sm_count=40)
    profiles = [replace(made(), device=one) for one in (h200, replace(h200, index=1), small)]
    assert sorted(kernel.launches for kernel in diagnose_kernels(profiles)) == [1, 2]


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"sm_count": 40}, "ran on different GPUs: NVIDIA H200, 132 SMs; CC 9.0, 40 SMs."),
        ({"compute_major": 8}, "ran on different GPUs: NVIDIA H200, 132 SMs; CC 8.0, 132 SMs."),
        ({"sm_count": 0}, ""),
        ({"compute_major": 0}, ""),
        ({"index": 1}, ""),
    ],
)
def test_different_gpus_are_told(other: dict[str, int], words: str) -> None:
    """What is known of both decides: a page has no name of its GPU, an old one no SMs."""
    h200 = made().device
    assert h200 is not None
    second = replace(made(grid=(8, 1, 1)), device=replace(h200, name="", **other))
    files = [KernelProfiles((made(), second), "ncu-csv raw", "x.csv")]
    notes = diagnose_profiles(files, "x.csv").notes
    told = [note for note in notes if "GPU" in note]
    assert told == ([f"The kernels {words}"] if words else [])


@pytest.mark.parametrize("waves", [0.0, -1.0])
def test_a_figure_that_is_not_known_is_not_zero(waves: float) -> None:
    """A stall that was not counted is no 0%; waves that a page rounds to 0 are not known."""
    profile = made({"launch__waves_per_multiprocessor": waves}, {"barrier": 0.9})
    known = {one.what: one.value for one in diagnose_launches([profile]).figures}
    assert "for memory and its queue" not in known
    assert "warps' latency for dispatch" not in known
    assert "waves" not in known
    assert known["scheduler cycles without an issue"] == pytest.approx(0.8)

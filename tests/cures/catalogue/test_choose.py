"""What a diagnosis calls for: by findings, in order of the bound, with reasons for the rest."""

from __future__ import annotations

import msgspec
import pytest

from tailwave.cures.catalogue import BY_NAME, CURES
from tailwave.cures.catalogue.base import Setting
from tailwave.cures.catalogue.choose import Choice, choose, named
from tailwave.errors import UsageError
from tailwave.model import Diagnosis
from tests.cures.catalogue.cases import NO_PYTHON, PLAIN, UNENTERED, diagnosis, finding

LAUNCH = finding("launch-bound", 0.5, "cuda-graph", "compile", "fused-optimizer")


def bounds(found: Diagnosis, setting: Setting = PLAIN) -> dict[str, float | None]:
    """The candidates that are called for, in order, with their bounds."""
    return {one.spec: one.bound for one in choose(found, setting, CURES).candidates}


def dropped(found: Diagnosis, setting: Setting = PLAIN) -> dict[str, str]:
    """The candidates that were dropped, with the reason."""
    return {one.candidate.spec: one.why for one in choose(found, setting, CURES).dropped}


def test_the_healthy_diagnosis_gives_no_candidate() -> None:
    """Nor anything dropped, nor advice."""
    assert choose(diagnosis(), PLAIN, CURES) == Choice()


def test_without_a_diagnosis_nothing_is_called_for() -> None:
    """But what undoes an obvious mistake, with no bound."""
    assert choose(None, PLAIN, CURES) == Choice()
    blocking = Setting(environment={"CUDA_LAUNCH_BLOCKING": "1"})
    (only,) = choose(None, blocking, CURES).candidates
    assert (only.spec, only.bound) == ("launch-blocking-off", None)


def test_launch_bound_calls_for_graphs_and_a_fused_optimizer() -> None:
    """Each can give back at most what the finding does; compilation, slow to try, waits."""
    assert bounds(diagnosis(LAUNCH)) == {"cuda-graph": 0.5, "fused-optimizer": 0.5}
    (reserve,) = choose(diagnosis(LAUNCH), PLAIN, CURES).reserves
    assert (reserve.spec, reserve.bound) == ("compile:reduce-overhead", 0.5)


def test_compilation_waits_only_for_what_answers_the_same_finding() -> None:
    """Beside a candidate for something else it is tried at once."""
    copying = finding("blocking-copy", 0.6, "async-copy")
    choice = choose(diagnosis(finding("launch-bound", 0.2, "compile"), copying), PLAIN, CURES)
    assert [one.spec for one in choice.candidates] == ["async-copy", "compile:reduce-overhead"]
    assert choice.reserves == ()


def test_candidates_stand_in_order_of_their_bound() -> None:
    """Findings that answer different causes."""
    copying = finding("blocking-copy", 0.6, "async-copy")
    waiting = finding("host-sync", 0.3, "remove-sync", evidence="waits in cudaFree")
    launching = finding("launch-bound", 0.2, "compile")
    assert list(bounds(diagnosis(launching, waiting, copying)).items()) == [
        ("async-copy", 0.6),
        ("allocator:expandable_segments:True", 0.3),
        ("allocator:cudaMallocAsync", 0.3),
        ("compile:reduce-overhead", 0.2),
    ]


def test_findings_add_up_but_no_further_than_the_gpus_idle_time() -> None:
    """0.5 and 0.3 of a step in which the GPU idles for 0.7, then for 0.4."""
    contended = finding("host-contention", 0.3, "free-the-gil", "host-threads", "cuda-graph")
    graphed = finding("launch-bound", 0.5, "cuda-graph")
    assert bounds(diagnosis(graphed, contended))["cuda-graph"] == pytest.approx(0.7)
    # What one finding's own replay says stands, be the GPU's idle time less.
    assert bounds(diagnosis(graphed, contended, busy_us=600.0))["cuda-graph"] == 0.5
    (graph, *_) = choose(diagnosis(graphed, contended), PLAIN, CURES).candidates
    assert graph.codes == ("launch-bound", "host-contention")


def test_where_steps_are_not_known_findings_add_up_to_the_whole_step() -> None:
    """And not to more."""
    contended = finding("host-contention", 0.8, "cuda-graph")
    found = msgspec.structs.replace(diagnosis(LAUNCH, contended), steps=None)
    assert bounds(found)["cuda-graph"] == 1.0


def test_copies_are_not_held_to_the_gpus_idle_time() -> None:
    """Copies keep the GPU busy, and are what is cured."""
    pageable = finding("blocking-copy", 0.25, "async-copy")
    serial = finding("blocking-copy", 0.5, "async-copy")
    assert bounds(diagnosis(pageable, serial, busy_us=950.0)) == {"async-copy": 0.75}


@pytest.mark.parametrize(("share", "kept"), [(0.02, True), (0.019, False)])
def test_what_can_bring_less_than_two_percent_is_dropped(share: float, *, kept: bool) -> None:
    """With its bound in the sentence."""
    found = diagnosis(finding("launch-bound", share, "cuda-graph"))
    assert ("cuda-graph" in bounds(found)) is kept
    if not kept:
        assert dropped(found) == {
            "cuda-graph": "It can save at most 1.9% of the step, less than the 2% that a trial "
            "can tell from noise."
        }


def test_a_graph_is_dropped_where_the_gpu_is_busy() -> None:
    """With how busy it is."""
    found = finding("launch-bound", 0.05, "cuda-graph")
    assert "The GPU is busy for 95%" in dropped(diagnosis(found, busy_us=950.0))["cuda-graph"]


def test_a_starved_host_calls_for_workers_only_where_there_is_a_loader() -> None:
    """Else there is advice."""
    starved = ("host-starved", 0.8, "prefetch", "gpu-preprocessing")
    loading = finding(*starved, evidence="host in enumerate(DataLoader)#_Single, once")
    assert bounds(diagnosis(loading)) == {"prefetch:8": pytest.approx(0.8)}
    choice = choose(diagnosis(finding(*starved, evidence="host in sleep")), PLAIN, CURES)
    assert choice.candidates == ()
    assert choice.advice == (
        f"For host-starved: {BY_NAME['prefetch'].advice}",
        f"For host-starved: {BY_NAME['gpu-preprocessing'].does}",
    )


def test_interference_calls_for_a_partition_only_where_streams_have_names() -> None:
    """More queues may help without; the advice stands either way."""
    held = diagnosis(finding("stream-interference", 0.9, "partition"))
    named_streams = Setting(environment={}, streams=("decoder",))
    assert list(bounds(held, named_streams)) == ["partition:decoder=32", "max-connections:32"]
    assert list(bounds(held)) == ["max-connections:32"]
    advice = (f"For stream-interference: {BY_NAME['partition'].advice}",)
    assert choose(held, PLAIN, CURES).advice == advice
    assert choose(held, named_streams, CURES).advice == advice


def test_contention_calls_for_fewer_threads() -> None:
    """Half of the cores, and one."""
    contended = finding("host-contention", 0.2, "free-the-gil", "host-threads")
    assert bounds(diagnosis(contended)) == {"host-threads:8": 0.2, "host-threads:1": 0.2}


def test_a_blocked_launch_answers_any_finding() -> None:
    """It comes first of what can bring as much; in a healthy step it can bring the idle time."""
    blocking = Setting(environment={"CUDA_LAUNCH_BLOCKING": "1"})
    assert next(iter(bounds(diagnosis(LAUNCH), blocking))) == "launch-blocking-off"
    assert bounds(diagnosis(), blocking) == {"launch-blocking-off": pytest.approx(0.7)}
    assert list(dropped(diagnosis(busy_us=990.0), blocking)) == ["launch-blocking-off"]


def test_advice_is_not_given_twice_nor_for_what_is_worth_nothing() -> None:
    """Nor where a candidate does it."""
    tail = finding("wave-tail", 0.1, "whole-waves")
    small = finding("small-grid", 0.01, "merge-small-grids")
    copying = finding("blocking-copy", 0.2, "async-copy")
    choice = choose(diagnosis(tail, tail, small, copying), PLAIN, CURES)
    assert choice.advice == (f"For wave-tail: {BY_NAME['whole-waves'].does}",)


def test_a_program_that_is_not_python_gets_advice() -> None:
    """What the hook would have done can be done by hand."""
    choice = choose(diagnosis(LAUNCH), NO_PYTHON, CURES)
    assert choice.candidates == ()
    assert {one.why for one in choice.dropped} == {UNENTERED}
    assert len(choice.advice) == 3


def test_a_user_names_a_cure_with_or_without_a_parameter() -> None:
    """Without one it is the best guess; the bound is the diagnosis's, if there is one."""
    setting = Setting(environment={}, diagnosis=diagnosis(LAUNCH))
    graph = named("cuda-graph", setting, CURES)
    assert (graph.spec, graph.bound, graph.codes) == ("cuda-graph", 0.5, ("launch-bound",))
    assert graph.label == "the step as a CUDA graph"
    assert named("compile", setting, CURES).spec == "compile:reduce-overhead"
    own = named("env:NCCL_ALGO=Ring:1", setting, CURES)
    assert (own.spec, own.bound) == ("env:NCCL_ALGO=Ring:1", None)
    assert own.label == "a variable of the user's (NCCL_ALGO=Ring:1)"
    assert named("compile:default", PLAIN, CURES).bound is None


@pytest.mark.parametrize("spec", ["graph", "", ":1", "compile:fast", "partition:a", "env"])
def test_what_cannot_be_tried_is_a_usage_error(spec: str) -> None:
    """An unknown name, and a parameter that means nothing or is missing."""
    with pytest.raises(UsageError):
        named(spec, PLAIN, CURES)


def test_an_unknown_name_is_told_with_those_there_are() -> None:
    """All of them."""
    with pytest.raises(
        UsageError, match=r"no cure graph; the cures are launch-blocking-off, .*env"
    ):
        named("graph", PLAIN, CURES)


def test_a_blocking_launch_that_is_not_set_can_be_named() -> None:
    """And says why it is not tried."""
    assert "not set" in named("launch-blocking-off", PLAIN, CURES).why_not(PLAIN)

"""A victim beside a tenant: what helps, and two `torch.cuda.GreenContext` objects, which do not.

    python benchmarks/noisy_neighbour.py [--out FILE] [--rounds N] [--runs N]

The conditions are those of examples/noisy_neighbour.py and one more: a GreenContext of torch for
each party. Each of these objects splits the whole GPU by itself, so that both get the same SMs,
which the ids that a kernel reads in either prove; the same proof for `tailwave.partition` stands
beside it. All conditions are measured in turns. Exits with 1 when the victim's p99, with SMs of
its own and a graph, is not 8 times lower than on the shared GPU.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

import noisy_neighbour as example  # the example's, which is found first now
import showing
from provenance import provenance

import tailwave
from tailwave.errors import TailwaveError, UnavailableError
from tailwave.gpu.devices.cuda.compiler import compiled
from tailwave.gpu.devices.cuda.opening import load

GOAL = 8.0
GREEN_SMS = (example.VICTIM_SMS, 96)  # what each party asks of torch
TWO_CONTEXTS = f"two GreenContexts of torch, {GREEN_SMS[0]} and {GREEN_SMS[1]} SMs"
# More CTAs than the whole GPU can hold at once (32 an SM), so that each SM gets some.
CTAS_PER_SM, STAY_NS, WORDS = 64, 50_000, 4


def main() -> int:
    """Measure, print, write; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="write the result here, as JSON")
    parser.add_argument("--rounds", type=int, default=5, help="of all conditions (default: 5)")
    parser.add_argument("--runs", type=int, default=100, help="in each round (default: 100)")
    chosen = parser.parse_args()
    try:
        result = measured(chosen.rounds, chosen.runs)
    except TailwaveError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return error.exit_code
    if chosen.out is not None:
        chosen.out.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    return 0 if result["goal_met"] else 1


def measured(rounds: int, runs: int) -> dict[str, Any]:
    """Measure all conditions, print them, and return the result."""
    torch = showing.torch_on_gpu()
    head = provenance() | {"torch": torch.__version__}
    scene = example.scene(torch)
    sms = {"tailwave.partition": in_partition(), TWO_CONTEXTS: in_two_contexts(torch)}
    conditions = {**example.CONDITIONS, TWO_CONTEXTS: two_contexts}
    found = example.measure(scene, conditions, rounds, runs)
    gain = example.gain(found)
    for line in showing.Shown(head["device"], example.rows(found), example.sentence(found)).lines():
        print(line)
    proofs = {what: overlap(*pair) for what, pair in sms.items()}
    for what, proof in proofs.items():
        print(f"{what}: {proof['victim']} and {proof['tenant']} SMs, {proof['shared']} in both")
    met = "met" if gain >= GOAL else "not met"
    print(f"p99 {gain:.1f} times lower: the goal of {GOAL:g} times is {met}")
    return head | {
        "rounds": rounds,
        "runs_a_round": runs,
        "conditions": [document(what, one) for what, one in found.items()],
        "sms": proofs,
        "p99_gain": round(gain, 2),
        "goal": GOAL,
        "goal_met": gain >= GOAL,
    }


def document(what: str, found: example.Found) -> dict[str, object]:
    """Return what the result says of a condition."""
    row = showing.Row(what, tuple(found.us)).document()
    del row["remark"]
    cost = example.tenant_cost(found)
    return row | {
        "tenant_ms_a_product": None if cost is None else round(cost, 4),
        "us": [round(us, 1) for us in found.us],
    }


def overlap(victim: frozenset[int], tenant: frozenset[int]) -> dict[str, object]:
    """Count the SMs that each party was seen on, and those on which both were; list the ids."""
    return {
        "victim": len(victim),
        "tenant": len(tenant),
        "shared": len(victim & tenant),
        "victim_ids": sorted(victim),
        "tenant_ids": sorted(tenant),
    }


def in_partition() -> tuple[frozenset[int], frozenset[int]]:
    """Return the SMs that work is seen on in each group of a partition."""
    with tailwave.partition([example.VICTIM_SMS, "rest"]) as (victim, tenant):
        return victim.prove(), tenant.prove()


@contextmanager
def two_contexts(scene: example.Scene) -> Iterator[example.Stage]:
    """Give each party a GreenContext of torch, as its documentation suggests."""
    victim, tenant = (partial(inside, context) for context in green_contexts(scene.torch))
    yield example.Stage(scene.once, victim, tenant)


def in_two_contexts(torch: Any) -> tuple[frozenset[int], frozenset[int]]:  # noqa: ANN401
    """Return the SMs that work is seen on in each of two GreenContexts."""
    record = smid_recorder(torch)
    seen = []
    for context in green_contexts(torch):
        with inside(context):
            seen.append(record())
    return seen[0], seen[1]


def green_contexts(torch: Any) -> tuple[Any, Any]:  # noqa: ANN401
    """Make one of torch's for each party; raises UnavailableError without them."""
    try:
        kind = torch.cuda.green_contexts.GreenContext
        victim, tenant = (kind.create(num_sms=sms, device_id=0) for sms in GREEN_SMS)
    except (AttributeError, RuntimeError) as error:
        raise UnavailableError(
            f"torch {torch.__version__} makes no GreenContext here ({error}): take 2.10 or later."
        ) from error
    return victim, tenant


@contextmanager
def inside(context: Any) -> Iterator[None]:  # noqa: ANN401
    """Make a GreenContext current in this thread."""
    context.set_context()
    try:
        yield
    finally:
        context.pop_context()


def smid_recorder(torch: Any) -> Callable[[], frozenset[int]]:  # noqa: ANN401
    """Return what runs a kernel in the current context and stream, and tells on which SMs it ran.

    The kernel is loaded apart from any context, so that it runs in each.
    """
    libraries = load()
    gpu = torch.cuda.get_device_properties(0)
    kernel = compiled(libraries, "spin", f"sm_{gpu.major}{gpu.minor}").get_kernel("spin")
    driver = libraries.driver
    function = driver.CUfunction(int(kernel.handle))
    ctas = CTAS_PER_SM * gpu.multi_processor_count
    out = torch.full((ctas, WORDS), -1, device="cuda", dtype=torch.int64)
    torch.cuda.synchronize()

    def record() -> frozenset[int]:
        out_and_stay = ((out.data_ptr(), STAY_NS), (ctypes.c_uint64, ctypes.c_uint64))
        stream = torch.cuda.current_stream()
        (code,) = driver.cuLaunchKernel(
            function, ctas, 1, 1, 32, 1, 1, 0, stream.cuda_stream, out_and_stay, 0
        )
        if int(code):
            raise UnavailableError(f"The kernel that reads SM ids was not launched: {code.name}.")
        stream.synchronize()
        return frozenset(out[:, 0].tolist())

    return record


if __name__ == "__main__":
    raise SystemExit(main())

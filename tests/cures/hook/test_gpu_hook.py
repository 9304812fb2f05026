"""The hook's actions on a real GPU, in programs of torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cures.hook.programs import Ran, trial

pytestmark = pytest.mark.gpu

pytest.importorskip("torch")

NET = (
    "import tailwave, torch\n"
    "torch.manual_seed(0)\n"
    "nn = torch.nn\n"
    "net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8)).cuda()\n"
    "x = torch.randn(4, 64, device='cuda')\n"
)
SERVING = (
    NET + "kept = []\n"
    "with torch.inference_mode():\n"
    "    for i in range(12):\n"
    "        kept.append(net(x + i)); tailwave.step()\n"
    "tailwave.output('kept', torch.stack(kept))\n"
)
TRAINING = (
    NET + "optimizer = torch.optim.Adam(net.parameters())\n"
    "for i in range(8):\n"
    "    loss = net(x + i).square().mean(); loss.backward()\n"
    "    optimizer.step(); optimizer.zero_grad(); tailwave.step()\n"
    "tailwave.output('loss', loss)\n"
)
LOADED = (
    "import tailwave, torch\n"
    "from torch.utils.data import *\n"
    "torch.manual_seed(0)\n"
    "loader = DataLoader(TensorDataset(torch.arange(512.)), batch_size=64, shuffle=True)\n"
    "seen = torch.zeros(64, device='cuda')\n"
    "for _ in range(2):\n"
    "    for (batch,) in loader: seen = seen * 0.5 + batch.to('cuda')\n"
    "tailwave.output('seen', seen)\n"
)


def run(folder: Path, source: str, name: str = "", **parameters: object) -> Ran:
    """Run a program under one action, or under none."""
    where = folder / (name or "plain")
    where.mkdir()
    ran = trial(where, {name: parameters} if name else {}).run(source)
    assert ran.code == 0, ran.err
    return ran


def main(ran: Ran) -> Any:  # noqa: ANN401  a report
    """Return the report of the main process."""
    (report,) = [r for r in ran.reports if r["main"]]
    assert report["error"] == ""
    assert report["used_gpu"] is True
    return report


def acted(ran: Ran, name: str) -> Any:  # noqa: ANN401  what the report says of an action
    """Return an action that was applied."""
    action = main(ran)["actions"][name]
    assert action["applied"] is True, action
    return action


def test_steps_are_told_by_the_gpu(tmp_path: Path) -> None:
    """Twelve marks are eleven steps between CUDA events."""
    steps = main(run(tmp_path, SERVING))["steps"]
    assert (steps["clock"], len(steps["us"])) == ("gpu", 11)
    assert min(steps["us"]) > 0


def test_settings_are_read_back_from_the_driver(tmp_path: Path) -> None:
    """Module loading, the allocator, the way to wait, MPS."""
    here = trial(tmp_path)
    here.environment["CUDA_MODULE_LOADING"] = "EAGER"
    here.environment["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    found = main(here.run(SERVING))["environment"]
    assert found["module_loading"] == "EAGER"
    assert found["expandable_segments"] is True
    assert (found["allocator"], found["mps"]) == ("native", False)
    assert found["host_wait"] == "auto"


def test_modules_are_graphed_and_compute_the_same(tmp_path: Path) -> None:
    """From the third call on; what the program keeps of earlier calls is not written over."""
    plain, graphed = run(tmp_path, SERVING), run(tmp_path, SERVING, "cuda-graph")
    seen = acted(graphed, "cuda-graph")["seen"]
    assert (seen["modules"], seen["graphs"], seen["replays"]) == (1, 1, 10)
    assert main(graphed)["outputs"] == main(plain)["outputs"]


def test_changed_modules_are_graphed_anew(tmp_path: Path) -> None:
    """Other weights, another precision, another part: the outputs are those of the plain calls."""
    source = (
        NET + "kept = []\n"
        "def calls():\n"
        "    for i in range(5): kept.append(net(x.to(net[0].weight.dtype) + i).float())\n"
        "with torch.no_grad():\n"
        "    calls(); net[0].weight.mul_(2); calls()\n"
        "    net[2] = nn.Linear(64, 8).cuda(); calls()\n"
        "    net[1] = nn.GELU(); calls()\n"
        "    net.half(); calls()\n"
        "    net[0].weight.data = net[0].weight.data * 3; calls()\n"
        "    with torch.autocast('cuda', dtype=torch.bfloat16): net.float(); calls()\n"
        "    with torch.autocast('cuda', dtype=torch.bfloat16): calls()\n"
        "tailwave.output('kept', torch.stack(kept))\n"
    )
    plain, graphed = run(tmp_path, source), run(tmp_path, source, "cuda-graph")
    assert acted(graphed, "cuda-graph")["seen"]["replays"] > 10
    assert main(graphed)["outputs"] == main(plain)["outputs"]


def test_modules_with_hooks_or_gradients_stay_plain(tmp_path: Path) -> None:
    """And the report says why."""
    hooked = SERVING.replace("kept = []", "net[0].register_forward_hook(print)\nkept = []")
    action = main(run(tmp_path, hooked, "cuda-graph"))["actions"]["cuda-graph"]
    assert (action["applied"], action["why_not"]) == (False, "Sequential has hooks")
    (tmp_path / "training").mkdir()
    action = main(run(tmp_path / "training", TRAINING, "cuda-graph"))["actions"]["cuda-graph"]
    assert (action["applied"], action["seen"]["graphs"]) == (False, 0)


def test_a_module_that_waits_stays_plain(tmp_path: Path) -> None:
    """`tailwave.graph` refuses it, and its words are the reason."""
    source = SERVING.replace(
        "kept = []",
        "class Waits(nn.Module):\n"
        "    def forward(self, x): return x * x.sum().item()\n"
        "net = Waits()\nkept = []",
    )
    plain, graphed = run(tmp_path, source), run(tmp_path, source, "cuda-graph")
    action = main(graphed)["actions"]["cuda-graph"]
    assert action["applied"] is False
    assert "item" in action["why_not"]
    assert main(graphed)["outputs"] == main(plain)["outputs"]


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_modules_are_compiled(tmp_path: Path, mode: str) -> None:
    """Training and serving; outputs that the program keeps stay what they were."""
    for source in (SERVING, TRAINING):
        where = tmp_path / ("serving" if source is SERVING else "training")
        where.mkdir()
        plain, compiled = run(where, source), run(where, source, "compile", mode=mode)
        seen = acted(compiled, "compile")["seen"]
        assert (seen["modules"], seen["frames_failed"], seen["graph_breaks"]) == (1, 0, 0)
        (before,) = main(plain)["outputs"].values()
        (after,) = main(compiled)["outputs"].values()
        assert after["values"] == pytest.approx(before["values"], rel=1e-2, abs=1e-3)


def test_optimizers_are_fused(tmp_path: Path) -> None:
    """The loss stays what it was, within rounding."""
    plain, fused = run(tmp_path, TRAINING), run(tmp_path, TRAINING, "fused-optimizer")
    assert acted(fused, "fused-optimizer")["seen"] == {"optimizers": 1, "fused": 1, "alive": 1}
    before, after = (main(ran)["outputs"]["loss"]["values"] for ran in (plain, fused))
    assert after == pytest.approx(before, rel=1e-3)


def test_batches_are_pinned_and_copied_without_waiting(tmp_path: Path) -> None:
    """All 16 copies of the two epochs, and the same numbers."""
    plain, pinned = run(tmp_path, LOADED), run(tmp_path, LOADED, "async-copy")
    assert acted(pinned, "async-copy")["seen"] == {"loaders": 1, "copies": 16}
    assert main(pinned)["outputs"] == main(plain)["outputs"]


def test_workers_are_forked_after_cuda_is_up(tmp_path: Path) -> None:
    """They deliver the same batches, in the same order."""
    plain = run(tmp_path, LOADED)
    workers = run(tmp_path, LOADED, "prefetch", workers=2)
    assert acted(workers, "prefetch")["seen"] == {"loaders": 1}
    assert main(workers)["outputs"] == main(plain)["outputs"]


@pytest.mark.parametrize("policy", ["spin", "yield", "block"])
def test_the_way_to_wait_is_read_back(tmp_path: Path, policy: str) -> None:
    """From the driver, at the end of the program."""
    ran = run(tmp_path, SERVING, "host-wait", policy=policy)
    assert acted(ran, "host-wait")["seen"] == {"policy": policy}
    assert main(ran)["environment"]["host_wait"] == policy


def test_the_programs_stream_has_priority(tmp_path: Path) -> None:
    """The current stream is one of high priority, and the numbers stay."""
    source = SERVING + "print(torch.cuda.current_stream().priority)\n"
    plain = run(tmp_path, SERVING)
    ran = run(tmp_path, source, "stream-priority", stream="", priority="high")
    assert int(ran.out) < 0
    assert acted(ran, "stream-priority")["seen"]["priority"] < 0
    assert main(ran)["outputs"] == main(plain)["outputs"]


NAMED = NET + "with torch.cuda.stream(tailwave.stream('side')): net(x)\n"


def test_a_named_stream_has_priority(tmp_path: Path) -> None:
    """As CUDA says of the stream that the program got."""
    ran = run(tmp_path, NAMED, "stream-priority", stream="side", priority="high")
    assert acted(ran, "stream-priority")["seen"]["priority"] < 0
    assert main(ran)["streams"] == ["side"]


def test_a_named_stream_has_sms_of_its_own(tmp_path: Path) -> None:
    """A kernel in it proves which."""
    pytest.importorskip("cuda.core")
    ran = run(tmp_path, NAMED, "partition", stream="side", sms=32)
    seen = acted(ran, "partition")["seen"]
    assert (seen["sms"], seen["own"], seen["proven"]) == (32, True, 32)


def test_the_carveout_is_set(tmp_path: Path) -> None:
    """In the library that plans the products."""
    ran = run(tmp_path, SERVING, "sm-carveout", sms=16)
    assert acted(ran, "sm-carveout")["seen"] == {"sms": 16}


@pytest.mark.parametrize("marks", [True, False])
def test_a_profile_has_the_kernels(tmp_path: Path, marks: bool) -> None:  # noqa: FBT001
    """By marks, with the steps as torch annotates them; or by time, in the main thread."""
    profile = {
        "trace": str(tmp_path / "trace.json"),
        "after_steps": 3,
        "steps": 5,
        "after_seconds": 0.1,
        "seconds": 0.3,
    }
    timed = (
        NET + "import pathlib\n"
        f"while not pathlib.Path({profile['trace']!r}).exists():\n"
        "    net(x); torch.cuda.synchronize()\n"
    )
    report = main(trial(tmp_path, {}, profile).run(SERVING if marks else timed))
    assert report["profile"]["why_not"] == ""
    assert report["profile"]["steps"] == (5 if marks else 0)
    events = json.loads((tmp_path / "trace.json").read_text("utf-8"))["traceEvents"]
    kinds = {event.get("cat") for event in events}
    assert {"kernel", "cpu_op", "cuda_runtime"} <= kinds
    names = {e["name"] for e in events if e.get("cat") == "user_annotation"}
    assert {f"ProfilerStep#{n}" for n in range(5)} <= names or not marks

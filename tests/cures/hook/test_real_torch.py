"""The hook with the torch that is installed, on the CPU; skipped where there is none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cures.hook.programs import Ran, trial

pytest.importorskip("torch")


def run(folder: Path, source: str, name: str = "", **parameters: object) -> Ran:
    """Run a program under one action."""
    ran = trial(folder, {name: parameters} if name else {}).run(source)
    assert ran.code == 0, ran.err
    return ran


def main(ran: Ran) -> dict[str, object]:
    """Return the report of the main process."""
    (report,) = [r for r in ran.reports if r["main"]]
    assert report["error"] == ""
    found: dict[str, object] = report
    return found


def test_tensors_are_outputs(tmp_path: Path) -> None:
    """Of any floating type, copied when exposed."""
    source = (
        "import tailwave, torch\n"
        "x = torch.arange(6.0, dtype=torch.bfloat16).reshape(2, 3).requires_grad_()\n"
        "tailwave.output('x', x)\n"
        "with torch.no_grad(): x.zero_()\n"
        "tailwave.output('c', torch.tensor([1 + 2j]))\n"
        "tailwave.output('s', torch.tensor(2.5))\n"
        "tailwave.output('b', torch.tensor([1.5], dtype=torch.bfloat16))\n"
        "with torch.inference_mode(): tailwave.output('i', torch.ones(2))\n"
    )
    outputs = run(tmp_path, source).report["outputs"]
    assert outputs["x"]["values"] == [0, 1, 2, 3, 4, 5]
    assert outputs["x"]["shape"] == [2, 3]
    assert outputs["c"]["values"] == [1, 2]
    assert (outputs["s"]["values"], outputs["s"]["shape"]) == ([2.5], [])
    assert outputs["i"]["values"] == [1, 1]
    assert (outputs["b"]["values"], outputs["b"]["dtype"]) == ([1.5], "bfloat16")
    assert outputs["c"]["dtype"] == "complex64"


def test_workers_load_the_same_batches_in_the_same_order(tmp_path: Path) -> None:
    """Two epochs from workers that are kept; they are no main processes."""
    source = (
        "import torch, tailwave\n"
        "from torch.utils.data import *\n"
        "torch.manual_seed(3)\n"
        "l = DataLoader(TensorDataset(torch.arange(40.)), batch_size=4, shuffle=True)\n"
        "seen = [b[0] for _ in range(2) for b in l]\n"
        "tailwave.output('seen', torch.cat(seen))\n"
        "print(l.num_workers)\n"
    )
    plain = run(tmp_path, source).report["outputs"]
    (tmp_path / "workers").mkdir()
    ran = run(tmp_path / "workers", source, "prefetch", workers=2)
    assert ran.out == "2\n"
    assert main(ran)["outputs"] == plain
    assert main(ran)["actions"] == {
        "prefetch": {"applied": True, "seen": {"loaders": 1}, "why_not": ""}
    }


def test_a_cpu_optimizer_stays(tmp_path: Path) -> None:
    """A real one, given a generator, trains."""
    source = (
        "import torch\nm = torch.nn.Linear(2, 2)\n"
        "o = torch.optim.AdamW(m.parameters())\nm(torch.ones(1, 2)).sum().backward()\n"
        "o.step()\nprint(o.param_groups[0]['fused'])\n"
    )
    ran = run(tmp_path, source, "fused-optimizer")
    assert ran.out == "None\n"
    reason = ran.report["actions"]["fused-optimizer"]["why_not"]
    assert reason == "the parameters were not on a GPU when the optimizer was made"


def test_outermost_modules_are_compiled(tmp_path: Path) -> None:
    """One with parameters, once, whole; a loss stays."""
    source = (
        "import torch\n"
        "m = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))\n"
        "loss = torch.nn.MSELoss()\n"
        "for _ in range(3): loss(m(torch.ones(2, 4)), torch.ones(2, 1)).backward()\n"
        "print(m._compiled_call_impl is not None, loss._compiled_call_impl)\n"
    )
    ran = run(tmp_path, source, "compile", mode="default")
    assert ran.out == "True None\n"
    (report,) = [r for r in ran.reports if r["main"]]
    action = report["actions"]["compile"]
    assert (action["applied"], action["why_not"]) == (True, "")
    wanted = {"modules": 1, "compiled": 1, "graph_breaks": 0, "frames_failed": 0}
    assert {key: action["seen"][key] for key in wanted} == wanted


def test_a_module_that_the_program_compiles_stays(tmp_path: Path) -> None:
    """Once is enough, and the watch on module calls does not break the program's own graph."""
    source = (
        "import torch, torch._dynamo\n"
        "inner = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())\n"
        "m = torch.compile(inner, fullgraph=True, backend='eager')\n"
        "f = torch.compile(lambda x: inner(x) + 1, fullgraph=True, backend='eager')\n"
        "for _ in range(3): m(torch.ones(2, 4)); f(torch.ones(2, 4))\n"
        "print('ran')\n"
    )
    for name, parameters in (("compile", {"mode": "default"}), ("cuda-graph", {})):
        (tmp_path / name).mkdir()
        ran = run(tmp_path / name, source, name, **parameters)
        assert ran.out == "ran\n"
        (report,) = [r for r in ran.reports if r["main"]]
        assert report["actions"][name]["applied"] is False


def test_a_watched_module_can_be_traced_and_saved(tmp_path: Path) -> None:
    """jit, fx, pickling and copies work on modules whose calls are watched."""
    source = (
        "import copy, io, torch\n"
        "m = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()).eval()\n"
        "x = torch.ones(2, 4)\n"
        "with torch.no_grad():\n"
        "    for _ in range(4): y = m(x)\n"
        "    t = torch.jit.trace(m, x)\n"
        "    g = torch.fx.symbolic_trace(m)\n"
        "    b = io.BytesIO(); torch.save(m, b); b.seek(0)\n"
        "    s = torch.load(b, weights_only=False)\n"
        "    print([bool((f(x) == y).all()) for f in (t, g, s, copy.deepcopy(m))])\n"
    )
    assert run(tmp_path, source, "cuda-graph").out == f"{[True] * 4}\n"


def test_what_a_program_changes_of_a_module_is_seen(tmp_path: Path) -> None:
    """Values, parts, weights elsewhere; not a gradient, nor weights that are written in place."""
    source = (
        "import torch\n"
        "from tailwave.cures.hook.module_state import Changes, state\n"
        "nn, changes = torch.nn, Changes(torch)\n"
        "net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.ReLU())\n"
        "def told(change):\n"
        "    before, count = state(net), changes.count\n"
        "    change()\n"
        "    return changes.count > count, state(net) != before\n"
        "print(told(lambda: net(torch.ones(3, 2)).sum().backward())[1])\n"
        "print(told(lambda: net[0].weight.detach().zero_()))\n"
        "print(told(net.eval), told(net.eval)[1], told(net.double))\n"
        "print(told(lambda: net.__setitem__(2, nn.GELU())))\n"
        "print(told(lambda: setattr(net, 'scale', 2.0)))\n"
        "print(told(lambda: setattr(net[0], 'weight', nn.Parameter(torch.ones(2, 2)))))\n"
        "print(told(lambda: net[0].register_buffer('more', torch.ones(1))))\n"
    )
    ran = run(tmp_path, source)
    assert ran.out.splitlines() == [
        "False",
        "(False, False)",
        "(True, True) False (True, True)",
        *["(True, True)"] * 4,
    ]


def test_the_carveout_is_torchs_own(tmp_path: Path) -> None:
    """The number is set and read back in the real library."""
    ran = run(tmp_path, "import torch", "sm-carveout", sms=16)
    assert ran.report["actions"]["sm-carveout"]["seen"] == {"sms": 16}


def test_a_profile_is_a_trace_with_steps(tmp_path: Path) -> None:
    """What torch's profiler exports, with the annotations that make steps."""
    profile = {
        "trace": str(tmp_path / "trace.json"),
        "after_steps": 2,
        "steps": 3,
        "after_seconds": 60,
        "seconds": 1,
    }
    source = "import tailwave, torch\nfor _ in range(8): torch.ones(4).sum(); tailwave.step()\n"
    ran = trial(tmp_path, {}, profile).run(source)
    assert ran.report["profile"]["steps"] == 3, ran.report
    events = json.loads((tmp_path / "trace.json").read_text("utf-8"))["traceEvents"]
    names = [event["name"] for event in events if event.get("cat") == "user_annotation"]
    assert [n for n in names if "Step" in n] == [f"ProfilerStep#{n}" for n in range(3)]
    assert sum(event["name"] == "aten::ones" for event in events) == 3


def test_a_program_without_marks_has_its_main_threads_work_profiled(tmp_path: Path) -> None:
    """The profiler is started between two of the program's own bytecodes."""
    profile = {
        "trace": str(tmp_path / "trace.json"),
        "after_steps": 1,
        "steps": 1,
        "after_seconds": 0.01,
        "seconds": 0.2,
    }
    source = (
        "import pathlib, torch\n"
        "for call, _ in torch.cuda._queued_calls:\n"
        "    if call.__name__ == '_cuda_came_up': call.__self__._profile.cuda_came_up()\n"
        f"while not pathlib.Path({profile['trace']!r}).exists(): torch.ones(4).sum()\n"
    )
    ran = trial(tmp_path, {}, profile).run(source)
    assert ran.code == 0, ran.err
    assert ran.report["profile"] == {"trace": profile["trace"], "steps": 0, "why_not": ""}
    events = json.loads((tmp_path / "trace.json").read_text("utf-8"))["traceEvents"]
    assert sum(event["name"] == "aten::sum" for event in events) > 0

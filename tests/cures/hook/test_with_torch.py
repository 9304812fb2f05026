"""What the hook does once a program has imported torch: a small torch that is a fake."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tailwave.cures.catalogue.fused_optimizer import FusedOptimizer
from tailwave.cures.catalogue.prefetch import Prefetch
from tailwave.cures.hook.action import Action
from tests.cures.hook.programs import FAKE_TORCH, Ran, fake_torch, trial


def run(
    folder: Path, source: str, name: str = "", profile: object = None, **parameters: object
) -> Ran:
    """Run a program with the fake torch, under one action."""
    actions = {name: parameters} if name else {}
    assert profile is None or isinstance(profile, dict)
    here = trial(folder, actions, profile, [FAKE_TORCH])
    here.environment.pop("LOCAL_RANK", None)
    ran = here.run(source)
    assert (ran.code, ran.err) == (0, "")
    return ran


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Return the fake, new for each test, as the torch of this very process."""
    yield from fake_torch(monkeypatch)


def here(
    torch: ModuleType, action: Action, source: str, capsys: pytest.CaptureFixture[str]
) -> tuple[str, dict[str, Any]]:
    """Run a program in this process, under one action; return what it printed, and the report."""
    action.torch_arrived(torch)
    exec(source, {})  # noqa: S102 - a program of the tests
    return capsys.readouterr().out, action.document()


def test_torchs_version_is_reported(tmp_path: Path) -> None:
    """Once the program has imported it, not before."""
    assert run(tmp_path, "import torch").report["torch"] == "0.0.fake"


def test_asking_whether_torch_is_there_is_no_import(tmp_path: Path) -> None:
    """A program that only looks for it has none; one that then imports it is noticed."""
    look = "import importlib.util\nimportlib.util.find_spec('torch')\n"
    assert run(tmp_path, look).report["torch"] is None
    both = run(tmp_path, look + look + "import torch").reports
    assert "0.0.fake" in [report["torch"] for report in both]


def test_torchs_loader_is_its_own_again(tmp_path: Path) -> None:
    """After the import nothing of the watch is left on the module or on the search."""
    source = (
        "import torch, sys\n"
        "print(type(torch.__loader__).__name__, vars(torch.__loader__).keys() & {'exec_module'})\n"
        "print([f for f in sys.meta_path if 'tailwave' in type(f).__module__])\n"
    )
    assert run(tmp_path, source).out == "SourceFileLoader set()\n[]\n"


def test_a_torch_that_does_not_import_fails_as_it_would(tmp_path: Path) -> None:
    """Its error is the program's, and the watch stays for another try."""
    broken = tmp_path / "broken" / "torch"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('no libcudart')\n", "utf-8")
    source = "try: import torch\nexcept ImportError as e: print(e)\n"
    ran = trial(tmp_path, paths=[broken.parent]).run(source)
    assert (ran.out, ran.report["torch"], ran.report["error"]) == ("no libcudart\n", None, "")


def test_steps_are_told_by_the_gpus_clock(tmp_path: Path) -> None:
    """Once CUDA is up, a step is the time between two events (here 1 ms each)."""
    source = (
        "import tailwave, torch\n"
        "tailwave.step(); tailwave.step()\n"  # before CUDA is up: the host's, left out
        "torch.cuda.init()\n"
        "for _ in range(4): tailwave.step()\n"
    )
    report = run(tmp_path, source).report
    assert report["steps"] == {"clock": "gpu", "us": [1000.0, 1000.0, 1000.0]}
    assert report["used_gpu"] is True


def test_settings_are_read_back(tmp_path: Path) -> None:
    """What torch holds of the settings that a cure may change."""
    found = run(tmp_path, "import torch\ntorch.cuda.init()").report["environment"]
    expected = {"threads": 3, "interop_threads": 2, "allocator": "native", "sm_count": 132}
    assert {key: found[key] for key in expected} == expected


def test_a_program_without_torch_gives_no_occasion(tmp_path: Path) -> None:
    """An action that torch is needed for says so."""
    action = run(tmp_path, "pass", "sm-carveout", sms=8).report["actions"]["sm-carveout"]
    assert action == {"applied": False, "seen": {}, "why_not": "the program did not import torch"}


def test_the_carveout_is_read_back(tmp_path: Path) -> None:
    """The number that torch holds is the evidence."""
    action = run(tmp_path, "import torch", "sm-carveout", sms=8).report["actions"]["sm-carveout"]
    assert action == {"applied": True, "seen": {"sms": 8}, "why_not": ""}


def test_an_action_that_fails_says_how_and_the_program_runs(tmp_path: Path) -> None:
    """A parameter that is missing is the action's problem, never the program's."""
    ran = run(tmp_path, "import torch; print('ran')", "sm-carveout")
    assert ran.out == "ran\n"
    action = ran.report["actions"]["sm-carveout"]
    assert (action["applied"], action["why_not"].partition(" (")[0]) == (False, "KeyError: 'sms'")


FUSED = "import torch\nP = torch.nn.Parameter\nT = torch.optim\n"


@pytest.mark.parametrize(
    ("made", "fused"),
    [
        ("T.Adam([P('cuda')])", True),
        ("T.AdamW([P('cuda')], 0.1)", True),
        ("T.Adam(p for p in [P('cuda')])", True),
        ("T.Adam([('weight', P('cuda'))])", True),
        ("T.Adam([P('cuda')], fused=False)", False),
        ("T.Adam([P('cuda')], foreach=True)", None),
        ("T.Adam([P('cuda')], capturable=True)", None),
        ("T.Adam([P('cuda')], capturable=False)", True),
        ("T.Adam([P('cuda'), P('cpu')])", None),
        ("T.Adam([P('cuda', floating=False)])", None),
        ("T.Adam([{'params': iter([P('cuda')])}])", True),
        ("type('Own', (T.Adam,), {})([P('cuda')])", None),
        ("T.SGD([P('cuda')])", None),
    ],
)
def test_which_optimizers_are_fused(
    torch: ModuleType,
    capsys: pytest.CaptureFixture[str],
    made: str,
    fused: bool | None,  # noqa: FBT001
) -> None:
    """Those with parameters on the GPU whose program has not chosen an implementation."""
    source = FUSED + f"o = {made}\nprint(o.param_groups[0].get('fused'))\n"
    out, action = here(torch, FusedOptimizer({}), source, capsys)
    assert out == f"{fused}\n"
    assert action["applied"] is (fused is True)
    assert action["seen"].get("optimizers", 0) == int(fused is True)


def test_an_optimizer_keeps_all_its_parameters(tmp_path: Path) -> None:
    """Looking at a generator does not use it up."""
    source = FUSED + "print(len(T.Adam(P('cuda') for _ in range(3)).param_groups[0]['params']))\n"
    assert run(tmp_path, source, "fused-optimizer").out == "3\n"


def test_a_fork_does_not_tell_of_its_parents_optimizers(tmp_path: Path) -> None:
    """What was changed before the fork is the parent's; the child tells of its own."""
    source = (
        FUSED + "import os, tailwave\nbefore = T.Adam([P('cuda')])\npid = os.fork()\n"
        "if pid: os.waitpid(pid, 0)\n"
        "else: after = [T.Adam([P('cuda')]) for _ in range(2)]; tailwave.step()\n"
    )
    reports = run(tmp_path, source, "fused-optimizer").reports
    found = {r["main"]: r["actions"]["fused-optimizer"]["seen"]["alive"] for r in reports}
    assert found == {True: 1, False: 2}


LOADED = (
    "import functools, io, threading, torch\n"
    "from torch.utils.data import *\n"
    "class Held:\n"
    "    def __init__(self, held): self.held = held\n"
    "    def __getitem__(self, i): return i\n"
    "class OnGpu(Held):\n"
    "    def __getitem__(self, i): return self.held.to('cuda')\n"
    "class Streamed(IterableDataset): pass\n"
    "class Own: pass\n"
)


@pytest.mark.parametrize(
    ("made", "why_not"),
    [
        ("Held([1, 2])", ""),
        ("Held(1), sampler=SequentialSampler()", ""),
        ("Held(1), sampler=Own()", "its sampler Own may depend on what the program does"),
        ("Held(1), batch_sampler=Own()", "its batch_sampler Own may depend"),
        ("Held(1), num_workers=2", "the program sets num_workers itself"),
        ("Streamed()", "an iterable dataset would be delivered by each worker anew"),
        ("Held([{'x': torch.Tensor('cuda')}])", "its dataset holds a tensor on the GPU"),
        ("Held(torch.Tensor('cpu'))", ""),
        ("Held(torch.device('cuda'))", "its dataset holds a GPU device"),
        ("Held(functools.partial(print, torch.Tensor('cuda')))", "its dataset holds a tensor"),
        ("Held((lambda t: lambda: t)(torch.Tensor('cuda')))", "its dataset holds a tensor"),
        ("OnGpu(1)", "its __getitem__ speaks of CUDA"),
        ("Held(1), collate_fn=lambda b: b.cuda()", "its <lambda> speaks of CUDA"),
        ("Held(lambda b: b.cuda())", "its <lambda> speaks of CUDA"),
        ("Held(io.BytesIO())", "its dataset holds a BytesIO"),
        ("Held(threading.Lock())", "its dataset holds a lock"),
        ("Held(1), multiprocessing_context='spawn'", "the program chooses a way to start workers"),
    ],
)
def test_which_loaders_get_workers(
    torch: ModuleType, capsys: pytest.CaptureFixture[str], made: str, why_not: str
) -> None:
    """Those whose work forked copies of the process can do, in the same order."""
    source = LOADED + f"l = DataLoader({made})\nprint(l.num_workers, l.persistent_workers)\n"
    out, action = here(torch, Prefetch({"workers": 4}), source, capsys)
    plain = "2 False\n" if "num_workers=2" in made else "0 False\n"
    assert out == (plain if why_not else "4 True\n")
    assert action["applied"] is not bool(why_not)
    assert action["why_not"].startswith(why_not)
    assert bool(action["why_not"]) is bool(why_not)


def test_a_loader_of_another_class_stays(tmp_path: Path) -> None:
    """What a subclass relies on is not known."""
    source = LOADED + "print(type('Mine', (DataLoader,), {})(Held(1)).num_workers)\n"
    assert run(tmp_path, source, "prefetch", workers=4).out == "0\n"


def test_a_wrong_call_of_the_loader_is_the_programs_own_error(tmp_path: Path) -> None:
    """The constructor itself says what is wrong."""
    source = LOADED + "try: DataLoader(Held(1), nonsense=1)\nexcept TypeError as e: print(e)\n"
    assert "unexpected keyword argument 'nonsense'" in run(tmp_path, source, "prefetch").out


def test_nothing_is_pinned_without_a_gpu(tmp_path: Path) -> None:
    """It would have torch warn of it."""
    source = LOADED + "print(DataLoader(Held(1)).pin_memory)\n"
    ran = run(tmp_path, source, "async-copy")
    assert ran.out == "False\n"
    action = ran.report["actions"]["async-copy"]
    assert action["why_not"] == "there is no NVIDIA GPU to pin memory for"


def test_the_whole_program_gets_a_stream_of_high_priority(tmp_path: Path) -> None:
    """As soon as CUDA is up, the main thread's current stream is one."""
    source = "import torch\ntorch.cuda.init()\nprint([s.priority for s in torch.cuda.current])\n"
    ran = run(tmp_path, source, "stream-priority", stream="", priority="high")
    assert ran.out == "[-1]\n"
    assert ran.report["actions"]["stream-priority"]["seen"] == {"priority": -1, "beside": []}


def test_a_program_that_mixes_libraries_keeps_its_stream(tmp_path: Path) -> None:
    """Work of another library in the default stream would no longer be ordered with torch's."""
    source = (
        "import sys, torch\nsys.modules['cupy'] = sys\n"
        "torch.cuda.init()\nprint(torch.cuda.current)\n"
    )
    ran = run(tmp_path, source, "stream-priority", stream="", priority="high")
    assert ran.out == "[]\n"
    reason = ran.report["actions"]["stream-priority"]["why_not"]
    assert reason == "the program also uses cupy, whose work would lose its order"


def test_host_wait_without_a_driver_says_so(tmp_path: Path) -> None:
    """The reason is the library's that cannot be opened, or the driver's."""
    source = "import torch\ntorch.cuda.init()\n"
    action = run(tmp_path, source, "host-wait", policy="block").report["actions"]["host-wait"]
    assert action["applied"] is False
    assert action["why_not"]


def test_modules_stay_plain_without_cuda(tmp_path: Path) -> None:
    """A graph needs a GPU that is up, and gradients off."""
    source = "import torch\nm = torch.nn.Module()\nprint(m(1))\nwith torch.no_grad(): print(m(2))\n"
    ran = run(tmp_path, source, "cuda-graph")
    assert ran.out == "1\n2\n"
    assert ran.report["actions"]["cuda-graph"]["seen"]["replays"] == 0


def profiled(folder: Path, source: str, **wanted: float) -> Ran:
    """Run under a plan that asks for a profile."""
    plan = {"trace": str(folder / "trace.json"), "after_steps": 2, "steps": 2}
    return run(folder, source, profile={**plan, "after_seconds": 60.0, "seconds": 0.0, **wanted})


STEPS_OF_TWO = ["+ProfilerStep#0", "-ProfilerStep#0", "+ProfilerStep#1", "-ProfilerStep#1"]
# The profiler is ready for a step before it keeps one.
RECORDED = ["prepare", "start", *STEPS_OF_TWO, "stop"]


def events(folder: Path) -> object:
    """What the profiler was told, as it wrote it."""
    return json.loads((folder / "trace.json").read_text("utf-8"))["traceEvents"]


def test_steps_are_profiled_after_some_marks(tmp_path: Path) -> None:
    """Two steps, annotated as torch annotates its own, after the second mark; then no more."""
    source = "import tailwave, torch\nfor _ in range(9): tailwave.step()\n"
    report = profiled(tmp_path, source).report
    path = str(tmp_path / "trace.json")
    assert report["profile"] == {"trace": path, "steps": 2, "why_not": ""}
    assert events(tmp_path) == RECORDED


def test_plain_steps_are_timed_around_a_profile(tmp_path: Path) -> None:
    """As `tailwave.profile` does: their time stands in the trace."""
    source = "import tailwave, torch\ntorch.cuda.init()\nfor _ in range(99): tailwave.step()\n"
    profiled(tmp_path, source, after_steps=10)
    measured = json.loads((tmp_path / "trace.json").read_text("utf-8"))["tailwave"]
    # An event takes 1 ms of the fake's clock, and the hook, which times all steps, has its own.
    assert (measured["plain_step_us"], measured["plain_after_us"]) == (2000.0, 2000.0)


def test_the_profilers_own_time_is_no_step(tmp_path: Path) -> None:
    """Of eight steps, those in which it gets ready, starts and ends are left out."""
    source = "import tailwave, torch\nfor _ in range(9): tailwave.step()\n"
    assert len(profiled(tmp_path, source).report["steps"]["us"]) == 5


def test_a_profile_is_ended_with_the_program(tmp_path: Path) -> None:
    """A program that ends early has what there was by then."""
    source = "import tailwave, torch\nfor _ in range(4): tailwave.step()\n"
    report = profiled(tmp_path, source).report
    assert (report["profile"]["steps"], report["profile"]["why_not"]) == (1, "")
    assert events(tmp_path) == RECORDED


def test_a_program_that_profiles_itself_is_not_profiled(tmp_path: Path) -> None:
    """A process has one profiler, and the program's own comes first; steps count all the same."""
    source = (
        "import tailwave, torch\n"
        "torch.cuda.init()\n"
        f"with tailwave.profile({str(tmp_path / 'own.json')!r}, steps=2, warmup=2) as p:\n"
        "    for _ in range(9): p.step()\n"
    )
    ran = profiled(tmp_path, source)
    reason = "the program records itself, with tailwave.profile"
    assert ran.report["profile"] == {"trace": "", "steps": 0, "why_not": reason}
    assert len(ran.report["steps"]["us"]) == 8
    assert json.loads((tmp_path / "own.json").read_text("utf-8"))["traceEvents"] == RECORDED


def test_a_program_with_marks_is_not_recorded_by_time(tmp_path: Path) -> None:
    """Its first mark came before the time for that: it waits for its steps."""
    source = (
        "import tailwave, threading, torch\n"
        "torch.cuda.init()\n"
        "tailwave.step()\n"
        "[t.join() for t in threading.enumerate() if isinstance(t, threading.Timer)]\n"
        "sum(range(10_000))\n"
        "print(torch.profiler.events)\n"
    )
    ran = profiled(tmp_path, source, after_steps=9, after_seconds=0.5)
    assert ran.out == "[]\n"
    assert ran.report["profile"]["why_not"] == "the program ended before the recording was due"


def test_a_program_without_marks_is_profiled_after_some_seconds(tmp_path: Path) -> None:
    """From when CUDA has come up on; in the main thread, as torch records the thread's own work."""
    source = (
        "import threading, torch\n"
        "p = torch.profiler.profile\n"
        "p.start = lambda s: torch.profiler.events.append(threading.current_thread().name)\n"
        "torch.cuda.init()\n"
        "while 'stop' not in torch.profiler.events: sum(range(100))\n"
    )
    report = profiled(tmp_path, source, after_seconds=0.01, seconds=0.01).report
    assert report["profile"]["why_not"] == ""
    assert events(tmp_path) == ["MainThread", "stop"]


@pytest.mark.parametrize(
    ("seconds", "until"), [(60.0, "start"), (0.01, "stop")], ids=["runs", "is over"]
)
def test_steps_replace_what_was_recorded_before_the_first(
    tmp_path: Path, seconds: float, until: str
) -> None:
    """A program that loads for long before its first step is not known by its loading."""
    source = (
        "import tailwave, torch\n"
        "torch.cuda.init()\n"
        f"while {until!r} not in torch.profiler.events: sum(range(100))\n"
        "for _ in range(9): tailwave.step()\n"
    )
    report = profiled(tmp_path, source, after_seconds=0.01, seconds=seconds).report
    assert (report["profile"]["steps"], report["profile"]["why_not"]) == (2, "")
    assert events(tmp_path) == ["start", "stop", *RECORDED]


def test_the_end_of_what_was_recorded_by_time_does_not_end_the_steps(tmp_path: Path) -> None:
    """Its timer may go off while steps are being recorded."""
    source = (
        "import tailwave, time, torch\n"
        "torch.cuda.init()\n"
        "while 'start' not in torch.profiler.events: sum(range(100))\n"
        "for _ in range(3): tailwave.step()\n"
        "end = time.monotonic() + 0.6\n"
        "while time.monotonic() < end: sum(range(100))\n"
        "for _ in range(3): tailwave.step()\n"
    )
    report = profiled(tmp_path, source, after_seconds=0.01, seconds=0.3).report
    assert report["profile"]["steps"] == 2


def test_a_program_that_is_over_too_soon_has_no_profile(tmp_path: Path) -> None:
    """The report says why."""
    report = profiled(tmp_path, "import torch").report
    assert report["profile"]["why_not"] == "the program ended before the recording was due"
    assert profiled(tmp_path, "pass").reports[-1]["profile"]["trace"] == ""

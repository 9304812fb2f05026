"""`tailwave.profile` on a real GPU: what stands in the trace, and that the profiler leaves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tailwave.model import GpuKind, HostKind, Timeline
from tailwave.recordings import read

pytestmark = pytest.mark.gpu

pytest.importorskip("torch")

# In a process of its own: what a profiler leaves behind would be the other tests'.
LOOP = """
import sys, tailwave, torch
net = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(20)]).cuda()
x = torch.randn(8, 256, device="cuda")
def profiled(path, step):
    with tailwave.profile(path) as p:
        for _ in range(400):
            step()
            p.step()
def eager():
    net(x).sum().item()
with torch.no_grad():
    profiled(sys.argv[1] + "/eager.json.gz", eager)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = net(x)
    graph.replay()
    profiled(sys.argv[1] + "/graph.json.gz", graph.replay)
torch.cuda.synchronize()
print("ended")
"""


def test_a_loop_is_profiled_and_a_graph_of_it_after_that(tmp_path: Path) -> None:
    """Steps, kernels, waits and the plain time; CUPTI leaves, comes again, and harms no graph."""
    command = [sys.executable, "-c", LOOP, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=110)
    assert (done.returncode, done.stdout) == (0, "ended\n"), done.stderr
    for name in ("eager", "graph"):
        (timeline,) = read(tmp_path / f"{name}.json.gz")
        assert len(steps(timeline)) == 5
        assert (timeline.gpu.kind == GpuKind.KERNEL).sum() >= 5 * 20
        assert timeline.plain_step_us > 0
    (timeline,) = read(tmp_path / "eager.json.gz")
    assert len(timeline.waits) >= 5
    # The host is the bound, and the profiler costs it something.
    assert timeline.plain_step_us < max(steps(timeline))


def steps(timeline: Timeline) -> list[float]:
    """Return how long each recorded step took the host (us)."""
    host = timeline.host
    names = [timeline.names[code] for code in host.name]
    return [
        float(host.end[row] - host.start[row]) / 1e3
        for row, name in enumerate(names)
        if name.startswith("ProfilerStep#") and host.kind[row] == HostKind.ANNOTATION
    ]


def test_ranks_that_torchrun_started_each_write_a_file(tmp_path: Path) -> None:
    """With the rank in its name."""
    script = tmp_path / "loop.py"
    script.write_text(LOOP, "utf-8")
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command = [*launcher, "--nproc-per-node", "2", str(script), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=115)
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in tmp_path.glob("*.json.gz"))
    assert names == [f"{name}.rank{rank}.json.gz" for name in ("eager", "graph") for rank in (0, 1)]

"""What the examples say when asked for help, and where something that they need is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples.scripts import EXAMPLES

NAMES = ("launch_bound", "noisy_neighbour", "starved_loader", "wave_tail")
OF_TORCH = tuple(name for name in NAMES if name != "wave_tail")
MISSING = 'raise ModuleNotFoundError("No module named {0!r}".format(__name__))\n'
BLIND = """
__version__ = "9.9"
class cuda:
    is_available = staticmethod(lambda: False)
"""


def run(name: str, *arguments: str, before: Path) -> subprocess.CompletedProcess[str]:
    """Run an example that imports what is in ``before`` first."""
    path = os.pathsep.join(filter(None, (str(before), os.environ.get("PYTHONPATH"))))
    return subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Make a folder that hides torch and cuda-core, wherever they are installed."""
    for package in ("torch", "cuda"):
        (tmp_path / f"{package}.py").write_text(MISSING, "utf-8")
    return tmp_path


@pytest.mark.parametrize("name", NAMES)
def test_each_says_what_it_shows(name: str, bare: Path) -> None:
    """--help needs neither torch nor a GPU, and names --json."""
    done = run(name, "--help", before=bare)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"python examples/{name}.py" in done.stdout
    assert "--json" in done.stdout


@pytest.mark.parametrize("name", OF_TORCH)
def test_without_torch_each_says_what_to_install(name: str, bare: Path) -> None:
    """One sentence on standard error, and the exit code for what is missing."""
    done = run(name, before=bare)
    assert (done.returncode, done.stdout) == (69, "")
    assert done.stderr == (
        f"{name}.py: This example needs PyTorch (No module named 'torch'): "
        "run `pip install torch 'tailwave[cuda]'`.\n"
    )


@pytest.mark.parametrize("name", OF_TORCH)
def test_without_a_gpu_each_says_so(name: str, tmp_path: Path) -> None:
    """A PyTorch that sees no GPU is told apart from none."""
    (tmp_path / "torch.py").write_text(BLIND, "utf-8")
    done = run(name, "--json", before=tmp_path)
    assert (done.returncode, done.stdout) == (69, "")
    assert done.stderr == (
        f"{name}.py: This example needs an NVIDIA GPU, and PyTorch 9.9 sees none: run it where "
        "`nvidia-smi` lists one, with a PyTorch that is built for CUDA.\n"
    )


def test_the_wave_needs_cuda_core_only(bare: Path) -> None:
    """Without cuda-core the wave's tail says what to install; it speaks of no torch."""
    done = run("wave_tail", before=bare)
    assert (done.returncode, done.stdout) == (69, "")
    assert done.stderr == (
        "wave_tail.py: NVIDIA GPUs need the package cuda-core (No module named 'cuda'): "
        "run `pip install 'tailwave[cuda]'`.\n"
    )


def test_an_unknown_option_is_refused(bare: Path) -> None:
    """A mistyped option is an error of usage, and nothing is measured."""
    assert run("launch_bound", "--jsn", before=bare).returncode == 2

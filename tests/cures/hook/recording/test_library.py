"""Which CUPTI is loaded: the one that the program's own packages would load."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailwave.cures.hook.recording import library


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that is the whole import path; there is no toolkit, and a driver of 13."""
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    monkeypatch.setattr(library, "_TOOLKITS", tmp_path / "usr")
    monkeypatch.setattr(library, "_newest_toolkit", lambda: 13)
    return tmp_path


def made(path: Path) -> Path:
    """Make an empty file, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_a_wheel_comes_before_a_toolkit(site: Path) -> None:
    """Two libraries in one process would not see the same work."""
    made(site / "usr/cuda-13.0/extras/CUPTI/lib64/libcupti.so.13")
    wheel = made(site / "nvidia/cu13/lib/libcupti.so.13")
    assert library.find() == wheel


def test_the_newest_that_the_driver_takes(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a driver of CUDA 12 that is the wheel of PyTorch for CUDA 12."""
    newer = made(site / "nvidia/cu13/lib/libcupti.so.13")
    older = made(site / "nvidia/cuda_cupti/lib/libcupti.so.12")
    assert library.find() == newer
    monkeypatch.setattr(library, "_newest_toolkit", lambda: 12)
    assert library.find() == older


def test_the_newest_toolkit(site: Path) -> None:
    """Versions are numbers: 12.10 is newer than 12.9."""
    made(site / "usr/cuda-12.9/lib64/libcupti.so.12")
    newest = made(site / "usr/cuda-12.10/lib64/libcupti.so.12")
    assert library.find() == newest


def test_links_and_other_names_are_passed_over(site: Path) -> None:
    """Only a name with one number says which CUDA it is for."""
    made(site / "nvidia/cu13/lib/libcupti.so.2025.3.1")
    made(site / "nvidia/cu13/lib/libcupti.so.11")
    with pytest.raises(OSError, match=r"there is no CUPTI here: pip install 'tailwave\[record\]'"):
        library.find()

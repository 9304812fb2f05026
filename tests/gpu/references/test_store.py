"""A device's reference is found by its model: the user's own first, then the shipped one."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tailwave.errors import UnreadableInputError, UsageError
from tailwave.gpu.references.store import file_name, find_reference, save_reference
from tailwave.model import DeviceFacts, Reference
from tests.measured import SIMULATED

L99 = DeviceFacts(name="NVIDIA L99", backend="cuda", sm_count=72)
KNOWN = Reference(
    schema=1,
    device="NVIDIA L99",
    sm_count=72,
    simulated=False,
    runs=5,
    drivers=("580.159",),
    started=(),
    figures=(),
)


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the user's own references out of the tests."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        (DeviceFacts("NVIDIA H200", "cuda"), "h200.json"),
        (
            DeviceFacts("NVIDIA GeForce RTX 4060 Laptop GPU", "cuda"),
            "geforce-rtx-4060-laptop-gpu.json",
        ),
        (DeviceFacts("AMD Instinct MI300X/../", "opencl"), "amd-instinct-mi300x.json"),
        (SIMULATED, "sim-h200.json"),
    ],
)
def test_a_models_file(device: DeviceFacts, expected: str) -> None:
    """The file is the model's name in lower case; a simulation has a file of its own."""
    assert file_name(device.name, simulated=device.simulated) == expected


def test_there_is_none() -> None:
    """Without a reference the words say how to get one."""
    assert find_reference(L99) == (
        None,
        "there is no reference for NVIDIA L99 (--save-reference makes one)",
    )


def test_the_users_own_is_found(tmp_path: Path) -> None:
    """What was saved under the user's data folder is found again."""
    path = tmp_path / "tailwave" / "references" / "l99.json"
    assert save_reference(KNOWN) == path
    assert find_reference(L99) == (KNOWN, f"NVIDIA L99, 5 runs, {path}")


def test_a_part_of_a_gpu_is_not_compared_with_the_whole() -> None:
    """A MIG slice has fewer SMs than its model's reference."""
    save_reference(KNOWN)
    found, why = find_reference(msgspec.structs.replace(L99, sm_count=18))
    assert found is None
    assert why.endswith("is of 72 SMs, and this device has 18")


def test_a_damaged_reference_is_refused() -> None:
    """A reference that cannot be read is named, and not taken for none."""
    save_reference(KNOWN).write_text("{")
    with pytest.raises(UnreadableInputError, match=r"the reference .*l99.json cannot be read"):
        find_reference(L99)


def test_a_place_that_cannot_be_written_is_a_usage_error(tmp_path: Path) -> None:
    """Saving into what is no folder says so."""
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot write"):
        save_reference(KNOWN, tmp_path / "file" / "l99.json")

"""Each kernel compiles for each architecture, and its machine code does what the kernel claims.

Compilers drop what they find unused, so a kernel that compiles may still do nothing.
"""

from __future__ import annotations

import re

import pytest

from tailwave.gpu.devices.base import NotSupportedError
from tailwave.gpu.kernels import FOLDER
from tests.gpu.kernels.compiling import (
    ARCHITECTURES,
    each_architecture,
    kernel_code,
)
from tests.gpu.kernels.machine_code import counted, instructions

_SOURCES = sorted(path.stem for path in FOLDER.glob("*.cu"))
_CONTRACT = (FOLDER / "README.md").read_text("utf-8")
_KERNELS = [
    "arguments_1" if name == "arguments" else name
    for name in re.findall(r"^\| `(\w+)`", _CONTRACT, re.MULTILINE)
]

# The least of each instruction that a kernel's work needs.
_WORK = {
    "atomics": {"RED": 8, "MEMBAR": 1},
    "banks": {"LDS": 17, "STS": 17},
    "chase": {"LDG": 1, "CS2R": 2},
    "hog": {"FFMA": 64},
    "issue": {"FFMA": 512, "BAR": 8, "NANOSLEEP": 1},
    "loaded": {"LDG": 12},
    "poll": {"LDG": 3, "STG": 1, "ATOMG": 0},
    "pingpong": {"LDG": 2, "STG": 3},
    "read": {"LDG": 10},
    "touch": {"LDG": 1, "RED": 1},
    "write": {"STG": 9, "MEMBAR": 1},
}


def test_every_kernel_of_the_contract_has_its_source() -> None:
    """The table and the folder name the same kernels."""
    assert sorted(name.partition("_")[0] for name in _KERNELS) == _SOURCES


@each_architecture
@pytest.mark.parametrize("name", _KERNELS)
def test_a_kernel_compiles_without_spilling(name: str, architecture: str) -> None:
    """Registers are enough: local memory would add traffic that nobody asked for."""
    family = "arguments" if name == "arguments_1" else name
    code = counted(kernel_code(name, architecture), family)
    assert (code["LDL"], code["STL"]) == (0, 0)


@each_architecture
@pytest.mark.parametrize("name", sorted(_WORK))
def test_a_kernel_keeps_its_work(name: str, architecture: str) -> None:
    """The instructions that the kernel exists for are in its machine code."""
    code = counted(kernel_code(name, architecture), name)
    short = {what: code[what] for what, least in _WORK[name].items() if code[what] < least}
    assert short == {}


@each_architecture
def test_a_timed_load_is_waited_for(architecture: str) -> None:
    """Between a timed load and the clock after it stands a branch that needs the value."""
    code = [name for name in instructions(kernel_code("chase", architecture), "chase") if name]
    load = code.index("LDG")
    assert code[load - 1 : load + 3] == ["CS2R", "LDG", "EXIT", "CS2R"]


@each_architecture
@pytest.mark.parametrize("count", [1, 16, 32, 64])
def test_arguments_are_compiled_in_any_number(count: int, architecture: str) -> None:
    """A variant of `arguments` does nothing, whatever it is given."""
    code = counted(kernel_code(f"arguments_{count}", architecture), "arguments")
    assert (code["LDG"], code["STG"], code["EXIT"]) == (0, 0, 1)


@pytest.mark.parametrize("name", ["nothing", "arguments", "arguments_0", "arguments_65"])
def test_a_kernel_that_there_is_not_is_refused(name: str) -> None:
    """A name without a source says so, before anything is compiled."""
    with pytest.raises(NotSupportedError, match=f"There is no kernel '{name}'"):
        kernel_code(name, ARCHITECTURES[0])


def test_an_architecture_that_the_compiler_does_not_know_is_refused() -> None:
    """A GPU too old or too new for the installed CUDA is told so."""
    with pytest.raises(NotSupportedError, match="an older GPU needs an older cuda-core"):
        kernel_code("empty", "sm_50")

"""Compiles kernels for tests: needs cuda-core, and no GPU."""

from __future__ import annotations

import pytest

from tailwave.errors import UnavailableError
from tailwave.gpu.devices.cuda.compiler import compiled, compiled_source
from tailwave.gpu.devices.cuda.opening import Libraries, load

ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
each_architecture = pytest.mark.parametrize("architecture", ARCHITECTURES)


def libraries() -> Libraries:
    """Return the CUDA packages; skips the test where they are not installed."""
    try:
        return load()
    except UnavailableError as error:
        pytest.skip(str(error))


def kernel_code(name: str, architecture: str) -> bytes:
    """Compile one of the project's kernels."""
    return bytes(compiled(libraries(), name, architecture).code)


def source_code(source: str, architecture: str) -> bytes:
    """Compile any source."""
    here = libraries()
    options = here.core.ProgramOptions(arch=architecture)
    return bytes(compiled_source(here, source, options).code)

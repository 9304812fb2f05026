"""Opens the GPU that the program is using, and leaves the thread's context as it was."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final, NamedTuple

from tailwave.cures.library.frameworks import current_number
from tailwave.errors import UnavailableError
from tailwave.gpu import DeniedError, Feature, NotSupportedError
from tailwave.gpu.devices.cuda import (
    CoreDevice,
    Libraries,
    Nvml,
    checked,
    lacking,
    load,
    load_nvml,
    opened,
)

# What the command line may try instead; a program has no such choice.
_INSTEAD: Final = re.compile(r"(?:, (give [^,]+))?,? or try `--device sim:\w+`")


class Gpu(NamedTuple):
    """A GPU whose primary context, the one that torch and CuPy use, is current."""

    libraries: Libraries
    core: CoreDevice

    @property
    def driver(self) -> ModuleType:
        """The driver's own functions."""
        return self.libraries.driver

    @property
    def number(self) -> int:
        """Its number as the program counts, under CUDA_VISIBLE_DEVICES."""
        return self.core.device_id

    def require(self, feature: Feature) -> None:
        """Raise UnavailableError, with the reason, for what this GPU cannot do."""
        if why := lacking(self.core, self.nvml()).get(feature):
            raise UnavailableError(why)

    def nvml(self) -> Nvml:
        """Ask NVML about it."""
        return Nvml(load_nvml(), self.core.pci_bus_id)

    def attribute(self, name: str) -> int:
        """Return a device attribute of the driver by its name."""
        attribute = getattr(self.driver.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        get = self.driver.cuDeviceGetAttribute
        return int(called(f"asking for the attribute {name}", get, attribute, self.number)[0])


def called(doing: str, function: Callable[..., Iterable[Any]], *args: object) -> list[Any]:
    """Call a function of the driver, and return what it gives beside its code.

    ``doing`` is what it is called for, in words; raises as `checked` where it does not succeed.
    """
    code, *values = function(*args)
    checked(code, doing)
    return values


@contextmanager
def on_current_gpu() -> Iterator[Gpu]:
    """Open the GPU that this thread uses; raises UnavailableError with what to do next."""
    with in_words_for_a_program():
        number = current_number(load().driver)
    with on_gpu(number) as gpu:
        yield gpu


@contextmanager
def on_gpu(number: int) -> Iterator[Gpu]:
    """Open a GPU by its number. Inside, its primary context is current in this thread.

    Afterwards the context from before is current again: a worker thread must not find one that
    it did not make.
    """
    with in_words_for_a_program():
        libraries = load()
        before = _context(libraries.driver)
        try:
            yield Gpu(libraries, opened(libraries, number))
        finally:
            _restore(libraries.driver, before)


@contextmanager
def in_words_for_a_program() -> Iterator[None]:
    """Tell what a GPU or this user cannot do as UnavailableError, in words for a program."""
    try:
        yield
    except (NotSupportedError, DeniedError, UnavailableError) as error:
        raise _for_a_program(error) from error


def _for_a_program(error: Exception) -> UnavailableError:
    kind = type(error) if isinstance(error, UnavailableError) else UnavailableError
    return kind(_INSTEAD.sub(lambda found: f", or {found[1]}" if found[1] else "", str(error)))


def _context(driver: ModuleType) -> object:
    """Return the thread's context, None for none."""
    try:
        code, context = driver.cuCtxGetCurrent()
    except RuntimeError:  # there is no libcuda.so, which opening the GPU will say
        return None
    return None if int(code) else context  # the driver may not have been started


def _restore(driver: ModuleType, context: object) -> None:
    """Make a context current again. What goes wrong with that has been told before."""
    try:
        driver.cuCtxSetCurrent(context)
    except RuntimeError:
        return

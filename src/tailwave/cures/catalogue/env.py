"""Set a variable that the user names."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable

from tailwave.cures.catalogue.base import Cure, Mechanism, Report, Setting, Treatment, already
from tailwave.errors import UsageError

# What the whole trial rests on, and why.
_OTHER_GPU = "for the guards look at the GPU that all of them use"
_FOLLOWED = "for tailwave follows them by it"
_NOT_HERE = {
    "PATH": "for it decides which program runs",
    "CUDA_VISIBLE_DEVICES": _OTHER_GPU,
    "CUDA_DEVICE_ORDER": _OTHER_GPU,
}
_OWN = "TAILWAVE_"
_PRELOAD = "LD_PRELOAD"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class EnvCure(Cure):
    """What the variable does is not known here: only the effect speaks."""

    name = "env"
    label = "a variable of the user's"
    does = "The program runs with one variable of its environment set: env:NAME=VALUE."
    needs = (
        "A name of letters, digits and underscores. The program is started anew. Not for what "
        "decides which program runs (PATH), which GPU it uses, or how tailwave itself follows it: "
        "then something else would be measured than the cure. A library to preload must be there, "
        "for the loader goes on without one that is not."
    )
    example = "NAME=VALUE"

    def parameters(self, _: Setting, /) -> tuple[str, ...]:
        """None: only the user knows."""
        return ()

    def treatment(self, parameter: str, _: Setting, /) -> Treatment:
        """Set the variable."""
        name, equals, value = parameter.partition("=")
        if not equals or not _NAME.fullmatch(name):
            raise UsageError("env takes NAME=VALUE: write for example env:NCCL_MAX_CTAS=8.")
        if name in _NOT_HERE or name.startswith(_OWN):
            raise UsageError(
                f"env cannot set {name} for a part of the runs, {_NOT_HERE.get(name, _FOLLOWED)}: "
                "set it for the whole trial, in front of tailwave."
            )
        if name == _PRELOAD:
            _refuse_missing(value)
        return Treatment(environment={name: value})

    def why_not(self, parameter: str, setting: Setting, /) -> str:
        """Not where it is set so already."""
        name, _, value = parameter.partition("=")
        return already({name: value}, setting)

    def mechanism(self, parameter: str, _: Iterable[Report], /) -> Mechanism:
        """Say that nobody reports it."""
        return Mechanism(None, f"{parameter} was set; what it does is not reported.")

    def lines(self, parameter: str, /) -> tuple[str, ...]:
        """The variable."""
        name, _, value = parameter.partition("=")
        return (f"export {name}={shlex.quote(value)}",)


def _refuse_missing(libraries: str) -> None:
    """Refuse a library by path that is not there; one by name is looked for by the loader."""
    for library in re.split(r"[ :]", libraries):
        if "/" in library and not os.path.isfile(library):  # noqa: PTH113 - of any text
            raise UsageError(f"there is no library {library} for {_PRELOAD}: check the path.")
        if library and set(library) <= {"."}:
            raise UsageError(f"{_PRELOAD} names libraries: write env:{_PRELOAD}=/path/to/lib.so.")

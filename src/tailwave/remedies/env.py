"""Set a variable that the user names.

What it does:
    The program runs with one variable of its environment set: env:NAME=VALUE.

What it needs:
    A name of letters, digits and underscores. The program is started anew.

How its mechanism is seen:
    What the variable does is not known here: only the effect speaks.

How it is undone:
    A run without the variable, or with the value that it had.

Lines to keep it:
    export NAME=VALUE
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

from tailwave.errors import UsageError
from tailwave.remedies.base import Change, Report, Seen, Setting, already

NAME = "env"
LABEL = "a variable of the user's"
CURES: tuple[str, ...] = ()
EVIDENCE: tuple[str, ...] = ()

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def parameters(_: Setting) -> tuple[str, ...]:
    """None: only the user knows."""
    return ()


def change(parameter: str, _: Setting) -> Change:
    """Set the variable."""
    name, equals, value = parameter.partition("=")
    if not equals or not _NAME.fullmatch(name):
        raise UsageError("env takes NAME=VALUE: write for example env:NCCL_MAX_CTAS=8.")
    return Change(environment={name: value})


def why_not(parameter: str, setting: Setting) -> str:
    """Not where it is set so already."""
    name, _, value = parameter.partition("=")
    return already({name: value}, setting)


def seen(parameter: str, _: Iterable[Report]) -> Seen:
    """Say that nobody reports it."""
    return Seen(None, f"{parameter} was set; what it does is not reported.")


def lines(parameter: str) -> tuple[str, ...]:
    """The variable."""
    name, _, value = parameter.partition("=")
    return (f"export {name}={shlex.quote(value)}",)

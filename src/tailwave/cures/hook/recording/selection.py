"""What of all that CUPTI can record a recording has in it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol

from tailwave.cures.hook.recording.cupti import DRIVER, KINDS, RUNTIME

ACTIVITIES = (
    "kernel",
    "memcpy",
    "memcpy-peer",
    "memset",
    "runtime",
    "driver",
    "sync",
    "event",
    "marker",
)
# Of some 1,300 calls those that launch, copy, wait, allocate and order; the others are switched
# off, for each call recorded costs the thread that makes it, and a launch of PyTorch's comes with
# seven that only ask for the device, the last error and the like. Switching on these alone, without
# their kinds, is not enough: beside the other activities CUPTI 13.0 then leaves out the driver's
# calls within the runtime's.
_CALLS = re.compile(
    r"cu(da)?(Launch|GraphLaunch|GraphInstantiate|Memcpy|Memset|\w+Synchronize|EventRecord"
    r"|StreamWait|Malloc|Free|HostAlloc|MemAlloc|MemFree|MemHost|MemPrefetch|ModuleLoad"
    r"|LibraryLoad)"
)


class Switches(Protocol):
    """What CUPTI lets be switched."""

    def enable(self, kind: int) -> None:
        """Record a kind of activity."""

    def switch_call(self, domain: int, number: int, *, on: bool) -> None:
        """Record one call of an enabled kind, or do not."""

    def calls(self, domain: int) -> Mapping[int, str]:
        """Return all calls of a domain by number."""


def switch_on(cupti: Switches) -> None:
    """Record the activities, and of the calls those that a timeline is made of."""
    for kind in ACTIVITIES:
        cupti.enable(KINDS[kind])
    for domain in (RUNTIME, DRIVER):
        for number, name in cupti.calls(domain).items():
            if not is_recorded(name):
                cupti.switch_call(domain, number, on=False)


def is_recorded(call: str) -> bool:
    """Tell whether a call of the runtime or the driver is one that a timeline is made of."""
    return _CALLS.match(call) is not None

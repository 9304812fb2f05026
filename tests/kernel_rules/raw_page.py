"""A raw page of ``ncu --csv`` with the counters that are kept of a report."""

from __future__ import annotations

from tailwave.model import KernelProfile
from tests.readers.ncu.pages import LAUNCH, rows


def raw_page(profiles: tuple[KernelProfile, ...]) -> str:
    """Write launches as ncu writes a raw page: a header, units, a row a launch."""
    names = list(dict.fromkeys(name for one in profiles for name in one.counters))
    units = {name: one.counters[name].unit for one in profiles for name in one.counters}
    table = [
        (*LAUNCH, *names),
        (*("" for _ in LAUNCH), *(units[name] for name in names)),
    ]
    for number, profile in enumerate(profiles):
        launch = (str(number), "42", "app", "host", profile.name, "1", "7")
        shapes = (str(profile.block), str(profile.grid), "0", "9.0")
        values = (profile.counters.get(name) for name in names)
        table.append((*launch, *shapes, *("" if v is None else str(v.value) for v in values)))
    return rows(table)

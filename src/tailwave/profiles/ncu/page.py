"""Reads what ``ncu --csv`` writes: the details page (a row a metric) and the raw page.

In any language and encoding, between ncu's own messages and the program's output.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from tailwave.errors import UnreadableInputError
from tailwave.files import refused
from tailwave.model import Counter, KernelProfiles, RuleKind, RuleResult, Shape
from tailwave.profiles.ncu.labels import metric_name
from tailwave.profiles.ncu.numbers import AMBIGUOUS, base_unit, decimal_mark, number, readings
from tailwave.profiles.ncu.once import distinct
from tailwave.profiles.ncu.other_output import why_none
from tailwave.profiles.ncu.profile import LaunchRecord, percentage, profile_of
from tailwave.profiles.ncu.rows import CsvPage, PageTable, decoded, page_of

_IDENTITY = frozenset(
    (
        *("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Kernel Time"),
        *("Context", "Stream", "Block Size", "Grid Size", "Device", "CC", "Section Name"),
    )
)
_OF_THE_LAUNCH = _IDENTITY - {"Section Name"}
_RANGES = ":PL_Type:"  # in the names of the columns of NVTX ranges
# Words, lists and versions, that may look like numbers.
_WORDS = (
    *("breakdown:", "group:", "launch__tpc_enabled", "Enabled TPC IDs"),
    *("launch__kernel_name", "device__name"),
)
_KINDS = {
    "INF": RuleKind.NOTE,
    "OPT": RuleKind.OPTIMIZATION,
    "WRN": RuleKind.WARNING,
    "ERR": RuleKind.ERROR,
    "OK": RuleKind.OK,
}
_NO_UNITS = "the page lacks its row of units"
_NO_COLUMN = "the page lacks its column of units"

Row = dict[str, str]


def read_profiles(path: Path) -> KernelProfiles:
    """Read a page; raises UnreadableInputError when it holds no launch."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise refused(path, error) from error
    page = page_of(decoded(data))
    found = distinct([[profile_of(launch, 0) for launch in table] for table in _launches(page)])
    profiles = [profile for table in found for profile in table.profiles]
    if not profiles:
        raise UnreadableInputError(why_none(path, data, page))
    kinds = sorted({"details" if table.is_long else "raw" for table in page.tables if table.rows})
    return KernelProfiles(
        profiles=tuple(replace(one, launch=order) for order, one in enumerate(profiles)),
        kind=f"ncu-csv {' and '.join(kinds)}",
        path=str(path),
        notes=_notes(page, sum(len(table.holders) for table in found)),
    )


def _notes(page: CsvPage, repeated: int) -> tuple[str, ...]:
    notes = []
    tables = [table for table in page.tables if table.rows]
    if any(
        "Metric Unit" not in table.header if table.is_long else not table.units for table in tables
    ):
        notes.append("Counters are left out whose units the file lacks: export it again.")
    if repeated:
        launches = "1 launch stands" if repeated == 1 else f"{repeated} launches stand"
        once = "counts" if repeated == 1 else "count"
        notes.append(f"{launches} in the file more than once, and {once} once.")
    if page.damaged:
        rows = f"{page.damaged} row{'s' if page.damaged > 1 else ''}"
        notes.append(f"{rows} left out: damaged.")
    if page.cut:
        notes.append("The file ends in mid-row; what was whole before that was read.")
    return tuple(notes)


def _launches(page: CsvPage) -> Iterator[Iterator[LaunchRecord]]:
    """Yield the launches of each table, in the order in which the file begins them."""
    tables = [table for table in page.tables if not _is_summary(table)]
    decimal = decimal_mark(text for table in tables for text in _numbers(table))
    for table in tables:
        yield _long(table, decimal) if table.is_long else _raw(table, decimal)


def _is_summary(table: PageTable) -> bool:
    return table.is_long and "Metric Value" not in table.header


def _numbers(table: PageTable) -> Iterator[str]:
    """Yield the texts of a table that are numbers in the file's language."""
    for row in table.rows:
        named = _named(table, row)
        if table.is_long:
            if not named["Metric Name"].startswith(_WORDS):
                yield _bare(named.get("Metric Value", ""))
        else:
            yield from (_bare(text) for name, text in named.items() if _is_metric(name))


def _is_metric(column: str) -> bool:
    return column not in _IDENTITY and _RANGES not in column and not column.startswith(_WORDS)


def _bare(text: str) -> str:
    """Take a value without its instances: ``12 (1; 5; 6)``."""
    return text.partition(" (")[0]


def _named(table: PageTable, row: list[str]) -> Row:
    return dict(zip(table.header, row, strict=False))


def _raw(table: PageTable, decimal: str) -> Iterator[LaunchRecord]:
    units = _named(table, table.units)
    for row in table.rows:
        named = _named(table, row)
        launch = _launch(named)
        for name, text in named.items():
            if name not in _IDENTITY and _RANGES not in name:
                launch.counters[name] = (
                    _counter(name, text, units[name], decimal)
                    if units
                    else Counter(None, "", _NO_UNITS)
                )
        yield launch


def _long(table: PageTable, decimal: str) -> Iterator[LaunchRecord]:
    launches: dict[tuple[str, ...], LaunchRecord] = {}
    for row in table.rows:
        named = _named(table, row)
        key = tuple(text for name, text in named.items() if name in _OF_THE_LAUNCH)
        if key not in launches:
            launches[key] = _launch(named)
        launch = launches[key]
        if label := named["Metric Name"]:
            _add_metric(launch, label, named, decimal)
        elif (rule := _rule(named)) is not None:
            launch.rules += (rule,)
    yield from launches.values()


def _add_metric(launch: LaunchRecord, label: str, named: Row, decimal: str) -> None:
    unit = named.get("Metric Unit")
    counter = (
        Counter(None, "", _NO_COLUMN)
        if unit is None
        else _counter(label, named.get("Metric Value", ""), unit, decimal)
    )
    name = metric_name(label, counter.unit)
    if name != label:
        counter = Counter(counter.value, counter.unit, counter.reason, source=label)
    launch.counters.setdefault(name, counter)


def _counter(name: str, text: str, unit: str, decimal: str) -> Counter:
    base, factor = base_unit(unit)
    if text in ("", "n/a", "N/A", "no data", "<error>"):
        reason = f"ncu wrote {text}" if text else "empty in the file"
        return Counter(None, base, reason)
    found = {} if name.startswith(_WORDS) else readings(_bare(text))
    if not found:
        if re.fullmatch(r"[+-]?(nan|inf)\b.*", text, re.IGNORECASE):
            return Counter(None, base, f"ncu wrote {text}")
        return Counter(text, unit)
    value = number(found, decimal)
    if value is None:
        return Counter(None, base, f"{text}: {AMBIGUOUS}")
    scaled = float(value * factor)
    return (
        Counter(scaled, base)
        if math.isfinite(scaled)
        else Counter(None, base, f"{text}: too large")
    )


def _rule(named: Row) -> RuleResult | None:
    """Read a rule's result; None for a row without one."""
    message, name = named.get("Rule Description", ""), named.get("Rule Name", "")
    if not message or not name:
        return None
    return RuleResult(
        name=name,
        kind=_KINDS.get(named.get("Rule Type", "").upper(), RuleKind.NOTE),
        message=message,
        section=named.get("Section Name", ""),
        speedup=_speedup(named.get("Estimated Speedup", "")),
        scope=named.get("Estimated Speedup Type", ""),
    )


def _speedup(text: str) -> float | None:
    """Return an estimate in percent; too small to have its digits grouped, its mark is decimal."""
    value = readings(text).get("," if "," in text else ".")
    return None if value is None else percentage(float(value))


def _launch(named: Row) -> LaunchRecord:
    name = named.get("Kernel Name", "")
    return LaunchRecord(
        names=(name,) if name else (),
        counters={},
        grid=_shape(named.get("Grid Size", "")),
        block=_shape(named.get("Block Size", "")),
        device=_integer(named.get("Device", "")),
        capability=_capability(named.get("CC", "")),
        stream=_integer(named.get("Stream", "")),
        context=_integer(named.get("Context", "")),
        process_id=_integer(named.get("Process ID", "")),
        process_name=named.get("Process Name", ""),
        number=_integer(named.get("ID", "")),
        nvtx=tuple(text for column, text in named.items() if _RANGES in column and text),
    )


def _shape(text: str) -> Shape | None:
    sizes = re.fullmatch(r"\(?([0-9]{1,10}), *([0-9]{1,10}), *([0-9]{1,10})\)?", text)
    return (int(sizes[1]), int(sizes[2]), int(sizes[3])) if sizes else None


def _capability(text: str) -> tuple[int, int] | None:
    parts = re.fullmatch(r"([0-9]{1,3})[.,]([0-9]{1,3})", text)
    return (int(parts[1]), int(parts[2])) if parts else None


def _integer(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]{1,18}", text) else None

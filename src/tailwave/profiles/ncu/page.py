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
from tailwave.profiles.ncu.once import distinct
from tailwave.profiles.ncu.profile import Launch, percentage, profile_of
from tailwave.profiles.ncu.rows import Page, Table, decoded, page_of
from tailwave.profiles.ncu.sentences import title_of, told
from tailwave.profiles.ncu.units import base_unit
from tailwave.profiles.ncu.written import AMBIGUOUS, decimal_mark, number, taken_apart

WANTED = "give a .ncu-rep, or what `ncu --csv --page raw` wrote"
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
_FORBIDDEN = "ERR_NVGPUCTRPERM"
_FORBIDDEN_WORDS = (
    f"ncu may not read counters there ({_FORBIDDEN}); run it as root, or have the driver loaded "
    "with NVreg_RestrictProfilingToAdminUsers=0"
)
# What else ncu and its predecessor print, by a line of it.
_OTHERS = (
    (
        re.compile(
            r'"?Metric Name"?,"?Metric Type"?|^Device .* \([A-Z]{2}\w{3}\)\n-{9}', re.MULTILINE
        ),
        ("a list of counters' names, without a launch"),
    ),
    (re.compile(r"^==\d+== *(?:NVPROF|Profiling)", re.MULTILINE), "output of nvprof, not of ncu"),
    (
        re.compile(r'^"#","Address"|^"?#"?,"?Source"?', re.MULTILINE),
        "ncu's source page, without counters",
    ),
    (re.compile(r"^ {2,}Section: \w", re.MULTILINE), "ncu's output for a person, not CSV"),
    (
        re.compile(r'^"\d+","\d+","[^"\n]*","[^"\n]*","', re.MULTILINE),
        "a page without its header row",
    ),
)
_NO_UNITS = "the page lacks its row of units"
_NO_COLUMN = "the page lacks its column of units"
_GZIP = b"\x1f\x8b"

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
        raise UnreadableInputError(_nothing(path, data, page))
    kinds = sorted({"details" if table.is_long else "raw" for table in page.tables if table.rows})
    return KernelProfiles(
        profiles=tuple(replace(one, launch=order) for order, one in enumerate(profiles)),
        kind=f"ncu-csv {' and '.join(kinds)}",
        path=str(path),
        notes=_notes(page, sum(table.left_out for table in found)),
    )


def is_page(head: bytes) -> bool:
    """Tell from a file's first bytes whether it is a page of ncu, or some other output of it."""
    text = decoded(head)
    ours = text.startswith("==PROF==") or _other(text) is not None
    return ours or bool(page_of(text + "\n").tables)


def _nothing(path: Path, data: bytes, page: Page) -> str:
    if not data.strip():
        return f"{path} is empty: {WANTED}."
    if (told := _told(page)) is not None:
        return f"{path} holds no kernel launch; {told}."
    if any("Metric Value" not in t.header and "Average" in t.header for t in page.tables):
        return f"{path} is a summary over launches: export it again without --print-summary."
    if (other := _other(decoded(data))) is not None:
        return f"{path} is {other}: {WANTED}."
    if data.startswith(_GZIP):
        return f"{path} is compressed: give what `gunzip {path.name}` makes of it."
    return f"{path} {_unlike(page)}: {WANTED}."


def _unlike(page: Page) -> str:
    if page.tables or page.cut or "PROF" in page.messages:
        return "ends before its first launch" if page.cut else "holds no kernel launch"
    return "is neither a report of ncu nor a CSV page of it"


def _told(page: Page) -> str | None:
    """Return why there is no launch, by ncu's own messages; None if they do not tell."""
    said = [*page.messages.get("ERROR", ()), *page.messages.get("WARNING", ())]
    if any(_FORBIDDEN in message for message in said):
        return _FORBIDDEN_WORDS
    return f"ncu says there: {said[0].rstrip('.:')}: profile again" if said else None


def _other(text: str) -> str | None:
    """Say which other output of a profiler a text is; None for one that looks like none."""
    if page_of(text + "\n").tables:
        return None
    return next((words for pattern, words in _OTHERS if pattern.search(text)), None)


def _notes(page: Page, repeated: int) -> tuple[str, ...]:
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


def _launches(page: Page) -> Iterator[Iterator[Launch]]:
    """Yield the launches of each table, in the order in which the file begins them."""
    tables = [table for table in page.tables if not _is_summary(table)]
    decimal = decimal_mark(text for table in tables for text in _numbers(table))
    for table in tables:
        yield _long(table, decimal) if table.is_long else _raw(table, decimal)


def _is_summary(table: Table) -> bool:
    return table.is_long and "Metric Value" not in table.header


def _numbers(table: Table) -> Iterator[str]:
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


def _named(table: Table, row: list[str]) -> Row:
    return dict(zip(table.header, row, strict=False))


def _raw(table: Table, decimal: str) -> Iterator[Launch]:
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


def _long(table: Table, decimal: str) -> Iterator[Launch]:
    launches: dict[tuple[str, ...], Launch] = {}
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
    for launch in launches.values():
        for name, counter in told(launch.rules, launch.counters).items():
            launch.counters.setdefault(name, counter)
        yield launch


def _add_metric(launch: Launch, label: str, named: Row, decimal: str) -> None:
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
    written = None if name.startswith(_WORDS) else taken_apart(_bare(text))
    if written is None:
        if re.fullmatch(r"[+-]?(nan|inf)\b.*", text, re.IGNORECASE):
            return Counter(None, base, f"ncu wrote {text}")
        return Counter(text, unit)
    value = number(written, decimal)
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
        title=title_of(name, message),
        section=named.get("Section Name", ""),
        speedup=_speedup(named.get("Estimated Speedup", "")),
        scope=named.get("Estimated Speedup Type", ""),
    )


def _speedup(text: str) -> float | None:
    """Return an estimate in percent; too small to have its digits grouped, its mark is decimal."""
    written = taken_apart(text)
    value = None if written is None else number(written, written.mark)
    return None if value is None else percentage(float(value))


def _launch(named: Row) -> Launch:
    name = named.get("Kernel Name", "")
    return Launch(
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

"""What a file is that holds no launch: why a page has none, and which other output it may be."""

from __future__ import annotations

import re
from pathlib import Path

from tailwave.profiles.ncu.rows import CsvPage, decoded, page_of

_WANTED = "give a .ncu-rep, or what `ncu --csv --page raw` wrote"
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
        "a list of counters' names, without a launch",
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
_GZIP = b"\x1f\x8b"


def is_page(head: bytes) -> bool:
    """Tell from a file's first bytes whether it is a page of ncu, or some other output of it."""
    text = decoded(head)
    ours = text.startswith("==PROF==") or _other(text) is not None
    return ours or bool(page_of(text + "\n").tables)


def why_none(path: Path, data: bytes, page: CsvPage) -> str:
    """Say in a sentence why a file without a launch has none, and what to give instead."""
    if not data.strip():
        return f"{path} is empty: {_WANTED}."
    if reason := _reason_by_ncu(page):
        return f"{path} holds no kernel launch; {reason}."
    if any("Metric Value" not in t.header and "Average" in t.header for t in page.tables):
        return f"{path} is a summary over launches: export it again without --print-summary."
    if data.startswith(_GZIP):
        return f"{path} is compressed: give what `gunzip {path.name}` makes of it."
    if (other := _other(decoded(data))) is not None:
        what = f"is {other}"
    elif page.cut:
        what = "ends before its first launch"
    elif page.tables or "PROF" in page.messages:
        what = "holds no kernel launch"
    else:
        what = "is neither a report of ncu nor a CSV page of it"
    return f"{path} {what}: {_WANTED}."


def _reason_by_ncu(page: CsvPage) -> str:
    """Return why there is no launch by ncu's own messages; "" if they do not tell."""
    said = [*page.messages.get("ERROR", ()), *page.messages.get("WARNING", ())]
    if any(_FORBIDDEN in message for message in said):
        return _FORBIDDEN_WORDS
    return f"ncu says there: {said[0].rstrip('.:')}: profile again" if said else ""


def _other(text: str) -> str | None:
    """Say which other output of a profiler a text is; None for one that looks like none."""
    if page_of(text + "\n").tables:
        return None
    return next((words for pattern, words in _OTHERS if pattern.search(text)), None)

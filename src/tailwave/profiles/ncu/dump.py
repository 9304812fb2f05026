"""A program of its own: opens a report with NVIDIA's ncu-report, prints it as lines of JSON.

It is run in a process apart, because the native library ends its process on some damaged reports.
It imports nothing of tailwave, so that it starts fast and from anywhere. Each line is a launch;
how the fields read is told by ``report.Line``. Ends with 69 when the library does not load.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

UNAVAILABLE = 69


def main(path: str) -> int:
    """Print the report's launches; what the library itself prints goes to stderr."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        library: Any = importlib.import_module("ncu_report")
    except ImportError as error:
        sys.stderr.write(f"{error}\n")
        return UNAVAILABLE
    dump(library, library.load_report(path), out)
    return 0


def dump(library: Any, report: Any, out: TextIO) -> None:  # noqa: ANN401 - it has no types
    """Write each launch of an open report as a line."""
    with out:
        for actions in map(report.range_by_idx, range(report.num_ranges())):
            for number in range(actions.num_actions()):
                line = json.dumps(_launch(library, actions.action_by_idx(number)))
                print(line, file=out, flush=True)


def _launch(library: Any, action: Any) -> dict[str, Any]:  # noqa: ANN401
    lost = [0]
    bases = (action.NameBase_DEMANGLED, action.NameBase_FUNCTION, action.NameBase_MANGLED)
    return {
        "names": [name for base in bases if (name := _text(action.name(base)))],
        "is_kernel": action.workload_type() == action.WorkloadType_KERNEL,
        "metrics": list(_metrics(action, lost)),
        "rules": list(_rules(library, action, lost)),
        "nvtx": _nvtx(action, lost),
        "lost": lost[0],
    }


def _metrics(action: Any, lost: list[int]) -> Iterator[tuple[str, str, float | str | None]]:  # noqa: ANN401
    """Yield name, unit and value; what a damaged report does not give is counted in ``lost``."""
    for name in action.metric_names():
        try:
            metric = action.metric_by_name(name)
            value = metric.value() if metric.has_value() else None
            yield _text(name), _text(metric.unit()), _plain(value)
        except (AttributeError, TypeError, ValueError, RuntimeError, OverflowError, KeyError):
            lost[0] += 1


def _plain(value: Any) -> float | str | None:  # noqa: ANN401
    if isinstance(value, str):
        return _text(value)
    return None if value is None or not math.isfinite(value) else float(value)


def _rules(library: Any, action: Any, lost: list[int]) -> Iterator[dict[str, Any]]:  # noqa: ANN401
    kind = library.MsgType
    kinds = {kind.OK: "ok", kind.OPTIMIZATION: "optimization", kind.WARNING: "warning"}
    kinds[kind.ERROR] = "error"
    scopes = {library.SpeedupType.LOCAL: "local", library.SpeedupType.GLOBAL: "global"}
    for result in action.rule_results():
        try:
            message = result.rule_message()
            gain = result.speedup_estimation() if result.has_speedup_estimation() else {}
            yield {
                "name": _text(result.rule_identifier()),
                "section": _text(result.section_identifier()),
                "kind": kinds.get(message["type"], "note"),
                "title": _text(message["title"]),
                "message": _text(message["message"]),
                "speedup": _plain(gain.get("speedup")),
                "scope": scopes.get(gain.get("type"), ""),
            }
        except (AttributeError, TypeError, ValueError, RuntimeError, KeyError):
            lost[0] += 1


def _nvtx(action: Any, lost: list[int]) -> list[str]:  # noqa: ANN401
    state, ranges = action.nvtx_state(), []
    for domain in state.domains() if state else ():
        try:
            entry = state.domain_by_id(domain)
            ranges += [
                _text(name) for name in (*entry.push_pop_ranges(), *entry.start_end_ranges())
            ]
        except (AttributeError, TypeError, ValueError, RuntimeError):
            lost[0] += 1
    return ranges


def _text(text: str | None) -> str:
    """Return text that is text throughout: damaged names have halves of letters, or are None."""
    return (text or "").encode(errors="replace").decode()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

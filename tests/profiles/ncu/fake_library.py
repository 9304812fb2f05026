"""Stands in for NVIDIA's ncu-report in the reader's own process: what a report holds, in Python.

A test saves it as ``ncu_report.py`` and the report as the JSON that ``load_report`` reads.
"""

# ruff: noqa: D101, D102, D103, D107, ANN401 - the names are NVIDIA's, and it has no types

from __future__ import annotations

import enum
import json
import os
from pathlib import Path
from typing import Any


class MsgType(enum.IntEnum):
    NONE, OK, OPTIMIZATION, WARNING, ERROR = range(5)


class SpeedupType(enum.IntEnum):
    UNKNOWN, LOCAL, GLOBAL = range(3)


class Metric:
    def __init__(self, unit: Any, value: Any) -> None:
        self._unit, self._value = unit, value

    def unit(self) -> Any:
        return self._unit

    def has_value(self) -> Any:
        return self._value is not None

    def value(self) -> Any:
        return float(self._value) if self._value == "nan" else self._value


class Rule:
    def __init__(self, entry: Any) -> None:
        self._entry = entry

    def rule_identifier(self) -> Any:
        return self._entry["name"]

    def section_identifier(self) -> Any:
        return "Section"

    def rule_message(self) -> Any:
        return {"title": "Title", "message": self._entry["message"], "type": self._entry["type"]}

    def has_speedup_estimation(self) -> Any:
        return "speedup" in self._entry

    def speedup_estimation(self) -> Any:
        return {"type": self._entry["scope"], "speedup": self._entry["speedup"]}


class Domain:
    def __init__(self, ranges: Any) -> None:
        self._ranges = ranges

    def push_pop_ranges(self) -> Any:
        return tuple(self._ranges)

    def start_end_ranges(self) -> Any:
        return ()


class Nvtx:
    def __init__(self, domains: Any) -> None:
        self._domains = domains

    def domains(self) -> Any:
        return tuple(range(len(self._domains)))

    def domain_by_id(self, number: Any) -> Any:
        return Domain(self._domains[number])


class Action:
    NameBase_FUNCTION, NameBase_DEMANGLED, NameBase_MANGLED = range(3)
    WorkloadType_KERNEL = 0

    def __init__(self, entry: Any) -> None:
        self._entry = entry

    def name(self, base: Any) -> Any:
        return self._entry["names"][base]

    def workload_type(self) -> Any:
        return self._entry.get("workload", 0)

    def metric_names(self) -> Any:
        return tuple(self._entry["metrics"])

    def metric_by_name(self, name: Any) -> Any:
        metric = self._entry["metrics"][name]
        return None if metric is None else Metric(*metric)

    def rule_results(self) -> Any:
        return [Rule(entry) for entry in self._entry.get("rules", ())]

    def nvtx_state(self) -> Any:
        return Nvtx(self._entry["nvtx"]) if "nvtx" in self._entry else None


class Range:
    def __init__(self, entries: Any) -> None:
        self._entries = entries

    def num_actions(self) -> Any:
        return len(self._entries)

    def action_by_idx(self, number: Any) -> Any:
        entry = self._entries[number]
        if entry == "abort":
            os.abort()
        return Action(entry)


class Report:
    def __init__(self, ranges: Any) -> None:
        self._ranges = ranges

    def num_ranges(self) -> Any:
        return len(self._ranges)

    def range_by_idx(self, number: Any) -> Any:
        return Range(self._ranges[number])


def load_report(path: Any) -> Any:
    print("the library prints")  # noqa: T201 - it does so on damaged reports
    return Report(json.loads(Path(path).with_suffix(".json").read_text("utf-8")))

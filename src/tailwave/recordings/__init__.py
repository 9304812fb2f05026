"""A recording becomes findings: read, walked, run again, diagnosed."""

from __future__ import annotations

from tailwave.recordings.activity.names import MEMORY, Codes, operator_name
from tailwave.recordings.activity.tables import (
    Rows,
    gpu_in_order,
    gpu_table,
    host_table,
    launches,
    taken,
    wait_table,
)
from tailwave.recordings.causes.build import (
    Added,
    counted,
    finding,
    severity,
    worth_of,
)
from tailwave.recordings.causes.diagnose import diagnose
from tailwave.recordings.readers import read
from tailwave.recordings.replay.change import Change, Changed
from tailwave.recordings.replay.forecast import Forecast
from tailwave.recordings.replay.program import Program
from tailwave.recordings.timeline.case import Case

__all__ = [
    "MEMORY",
    "Added",
    "Case",
    "Change",
    "Changed",
    "Codes",
    "Forecast",
    "Program",
    "Rows",
    "counted",
    "diagnose",
    "finding",
    "gpu_in_order",
    "gpu_table",
    "host_table",
    "launches",
    "operator_name",
    "read",
    "severity",
    "taken",
    "wait_table",
    "worth_of",
]

"""Counters of single kernels become findings: read, asked by rules, joined with a recording."""

from __future__ import annotations

from tailwave.profiles.counters import (
    Counters,
    CounterWord,
    NameCheck,
    QuestionAnswer,
    find_counters,
    meant,
)
from tailwave.profiles.join import Join
from tailwave.profiles.ncu import holds_profiles, once, read_profiles
from tailwave.profiles.rules import KERNEL_RULES
from tailwave.profiles.rules.base import KernelRule
from tailwave.profiles.rules.diagnose import diagnose_profiles

__all__ = [
    "KERNEL_RULES",
    "CounterWord",
    "Counters",
    "Join",
    "KernelRule",
    "NameCheck",
    "QuestionAnswer",
    "diagnose_profiles",
    "find_counters",
    "holds_profiles",
    "meant",
    "once",
    "read_profiles",
]

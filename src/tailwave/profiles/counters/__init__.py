"""Hardware counters by name: a chip's list, what a word means, which counters answer a question."""

from __future__ import annotations

from tailwave.profiles.counters.answers import Counters, NameCheck, QuestionAnswer, find_counters
from tailwave.profiles.counters.meanings import CounterWord, meant

__all__ = ["CounterWord", "Counters", "NameCheck", "QuestionAnswer", "find_counters", "meant"]

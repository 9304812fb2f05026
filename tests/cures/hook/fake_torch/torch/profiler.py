"""A profiler that writes down what it was told."""

from __future__ import annotations

import json
from pathlib import Path

events: list[str] = []
configs: list[object] = []


def supported_activities() -> set[str]:
    """Return one."""
    return {"CPU"}


class profile:  # noqa: N801  torch's name
    """Records annotations."""

    def __init__(self, activities: set[str], experimental_config: object = None) -> None:
        """Take the activities, and what is experimental."""
        self.activities = activities
        configs.extend([experimental_config] if experimental_config else [])

    def start(self) -> None:
        """Start at once."""
        events.append("start")

    def prepare_trace(self) -> None:
        """Get ready."""
        events.append("prepare")

    def start_trace(self) -> None:
        """Start, once it is ready."""
        events.append("start")

    def stop(self) -> None:
        """Stop."""
        events.append("stop")

    def export_chrome_trace(self, path: str) -> None:
        """Write the events."""
        Path(path).write_text(json.dumps({"traceEvents": events}), "utf-8")


class record_function:  # noqa: N801  torch's name
    """An annotation."""

    def __init__(self, name: str) -> None:
        """Take its name."""
        self.name = name

    def __enter__(self) -> None:
        """Begin."""
        events.append(f"+{self.name}")

    def __exit__(self, *_: object) -> None:
        """End."""
        events.append(f"-{self.name}")

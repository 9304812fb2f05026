"""How the severities of findings look on a terminal."""

from __future__ import annotations

from tailwave.model import Severity

SEVERITY_STYLES = {
    Severity.CRITICAL: "bold red",
    Severity.MAJOR: "bold yellow",
    Severity.MINOR: "bold cyan",
    Severity.INFO: "dim",
}

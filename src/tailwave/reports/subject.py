"""What a session measured and when, in words."""

from __future__ import annotations

from datetime import UTC, datetime

from tailwave.model import DeviceFacts, Session


def device_name(device: DeviceFacts | None) -> str:
    """Return a device's name, which says so when it is simulated."""
    if device is None:
        return "no device"
    marked = not device.simulated or "simulated" in device.name
    return device.name if marked else f"{device.name} (simulated)"


def is_simulated(session: Session) -> bool:
    """Tell whether a session's figures come from no real GPU."""
    return session.device is not None and session.device.simulated


def moment(started: str) -> str:
    """Word a moment in UTC: ``2026-11-29 16:53 UTC``; anything else stays as it is."""
    try:
        return datetime.fromisoformat(started).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    except ValueError:
        return started

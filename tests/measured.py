"""Figures and sessions made by hand, as probes would have measured them."""

from __future__ import annotations

import msgspec

from tailwave.model import DeviceFacts, Measurement, Session, Status, Table

H200 = DeviceFacts(name="NVIDIA H200", backend="cuda", uuid="GPU-1", sm_count=132, driver="580.159")
SIMULATED = DeviceFacts(name="NVIDIA H200 (simulated)", backend="sim", sm_count=132, simulated=True)


def figure(
    name: str,
    value: float,
    unit: str = "",
    *,
    spread: float = 0.0,
    headline: bool = True,
    **parameters: float | str,
) -> Measurement:
    """Make a figure with an interval of ``spread`` on either side, relative."""
    return Measurement(
        name=name,
        status=Status.OK,
        unit=unit,
        value=value,
        low=value * (1 - spread),
        high=value * (1 + spread),
        parameters=parameters,
        headline=headline,
    )


def without(name: str, status: Status, reason: str) -> Measurement:
    """Make a figure that could not be taken."""
    return Measurement(name, status, reason=reason)


def session(*results: Measurement | Table, **fields: object) -> Session:
    """Make a session of an H200 that measured these."""
    plain = Session(
        schema=1,
        tool_version="0.1.0",
        command="check",
        started="2026-11-29T15:00:00+00:00",
        seconds=38.0,
        device=H200,
        measurements=tuple(r for r in results if isinstance(r, Measurement)),
        tables=tuple(r for r in results if isinstance(r, Table)),
    )
    return msgspec.structs.replace(plain, **fields)

"""From what ncu wrote of a launch to a KernelProfile, whatever it was written in."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from tailwave.model import Counter, DeviceInfo, KernelProfile, RuleResult, Shape
from tailwave.profiles.ncu.stalls import stall_shares

SM_COUNT = "launch__sm_count"
_DEVICE_SMS = "device__attribute_multiprocessor_count"
_GREEN = "launch__uses_green_context"
# Summed over SMs and averaged over them: their quotient is the number of SMs.
_PER_SM = ("sm__cycles_elapsed", "sm__cycles_active", "sm__inst_executed", "sm__warps_active")
_TIME = "gpu__time_duration."
_ELAPSED, _ELAPSED_SUM = "sm__cycles_elapsed.avg", "sm__cycles_elapsed.sum"
_DEVICE = {
    "warp_size": "device__attribute_warp_size",
    "max_threads_per_sm": "device__attribute_max_threads_per_multiprocessor",
    "registers_per_sm": "device__attribute_max_registers_per_multiprocessor",
    "shared_per_sm": "device__attribute_max_shared_memory_per_multiprocessor",
    "shared_per_block_optin": "device__attribute_max_shared_memory_per_block_optin",
}


class LaunchRecord(msgspec.Struct):
    """What a file says of a launch outside its counters; None and "" for what it does not."""

    names: tuple[str, ...]
    counters: dict[str, Counter]
    grid: Shape | None = None
    block: Shape | None = None
    device: int | None = None
    capability: tuple[int, int] | None = None
    stream: int | None = None
    context: int | None = None
    process_id: int | None = None
    process_name: str = ""
    number: int | None = None
    rules: tuple[RuleResult, ...] = ()
    nvtx: tuple[str, ...] = ()


def profile_of(launch: LaunchRecord, order: int) -> KernelProfile:
    """Make the profile of the launch that is number ``order`` of its file."""
    counters = {name: _timed(name, counter) for name, counter in launch.counters.items()}
    if (sms := _sm_count(counters)) is not None:
        counters[SM_COUNT] = sms
    if (elapsed := _elapsed(counters)) is not None:
        counters[_ELAPSED] = elapsed
    return KernelProfile(
        name=launch.names[0] if launch.names else "",
        launch=order,
        names=launch.names,
        grid=launch.grid or _shape(counters, "launch__grid_dim_{}"),
        block=launch.block or _shape(counters, "launch__block_dim_{}"),
        dynamic_shared=_whole(counters, "launch__shared_mem_per_block_dynamic"),
        static_shared=_whole(counters, "launch__shared_mem_per_block_static"),
        registers=_whole(counters, "launch__registers_per_thread"),
        device=_device(launch, counters),
        stream=_known(launch.stream, counters, "launch__stream_id"),
        context=_known(launch.context, counters, "launch__context_id"),
        process_id=launch.process_id,
        process_name=launch.process_name,
        number=launch.number,
        counters=counters,
        stalls=stall_shares(counters),
        rules=launch.rules,
        nvtx=launch.nvtx,
    )


def percentage(estimate: float | None) -> float | None:
    """Return an estimate of a share in percent; None for what is no share of anything."""
    return estimate if estimate is not None and 0 <= estimate <= 100 else None  # noqa: PLR2004


def _timed(name: str, counter: Counter) -> Counter:
    """Return a counter; a time without a unit of time is none, for it may be of any."""
    if name.startswith(_TIME) and counter.unit != "ns" and isinstance(counter.value, float):
        return Counter(None, counter.unit, "without a unit of time")
    return counter


def _number(counters: Mapping[str, Counter], name: str) -> float | None:
    counter = counters.get(name)
    return counter.value if counter and isinstance(counter.value, float) else None


def _whole(counters: Mapping[str, Counter], name: str) -> int | None:
    value = _number(counters, name)
    return None if value is None or value < 0 else round(value)


def _known(given: int | None, counters: Mapping[str, Counter], name: str) -> int | None:
    return _whole(counters, name) if given is None else given


def _shape(counters: Mapping[str, Counter], name: str) -> Shape | None:
    x, y, z = (_whole(counters, name.format(axis)) for axis in "xyz")
    return None if x is None or y is None or z is None else (x, y, z)


def _sm_count(counters: Mapping[str, Counter]) -> Counter | None:
    """Return the SMs that the launch could use, where the file says so otherwise than by its name.

    None if it has the counter itself, or nothing that it follows from. A launch in a green context
    has fewer SMs than the device: what only tells of the device says nothing then.
    """
    if _number(counters, SM_COUNT) is not None or _number(counters, _GREEN):
        return None
    device = _number(counters, _DEVICE_SMS)
    if device is not None:
        return Counter(device, "SM", source=_DEVICE_SMS)
    for name in _PER_SM:
        total, mean = _number(counters, f"{name}.sum"), _number(counters, f"{name}.avg")
        if total and mean and _is_count(total / mean):
            return Counter(float(round(total / mean)), "SM", source=f"{name}.sum / {name}.avg")
    return None


def _elapsed(counters: Mapping[str, Counter]) -> Counter | None:
    """Return the average SM's elapsed cycles, where the file has their sum; None if it has both.

    The GPCs' elapsed cycles, which details pages show, may be of another pass at another clock.
    """
    if _number(counters, _ELAPSED) is not None or _number(counters, _GREEN):
        return None
    total, sms = _number(counters, _ELAPSED_SUM), _number(counters, SM_COUNT)
    if not total or not sms or sms < 0:
        return None
    return Counter(total / sms, "cycle", source=f"{_ELAPSED_SUM} / {SM_COUNT}")


def _is_count(quotient: float) -> bool:
    """Tell whether a quotient of two printed figures is a whole number, but for their rounding."""
    return quotient > 0 and math.isclose(quotient, round(quotient), rel_tol=1e-4)


def _device(launch: LaunchRecord, counters: Mapping[str, Counter]) -> DeviceInfo | None:
    """Put together what is said of the device; None for nothing at all."""
    name = counters.get("device__attribute_display_name")
    major, minor = launch.capability or (
        _whole(counters, "device__attribute_compute_capability_major") or 0,
        _whole(counters, "device__attribute_compute_capability_minor") or 0,
    )
    sms = _whole(counters, _DEVICE_SMS)
    if sms is None and not _number(counters, _GREEN):
        sms = _whole(counters, SM_COUNT)
    index = _known(launch.device, counters, "launch__device_id")
    if index is None and not major and sms is None and name is None:
        return None
    limits = {field: _whole(counters, metric) for field, metric in _DEVICE.items()}
    return DeviceInfo(
        index=index or 0,
        name=str(name.value) if name and name.value is not None else "",
        sm_count=sms or 0,
        compute_major=major,
        compute_minor=minor,
        **{field: value for field, value in limits.items() if value},
    )

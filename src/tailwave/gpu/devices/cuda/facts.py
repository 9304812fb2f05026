"""What a GPU is, and what it cannot do and why."""

from __future__ import annotations

from typing import Final

from tailwave.gpu.devices.base import Feature
from tailwave.gpu.devices.cuda.foreign import CoreDevice
from tailwave.gpu.devices.cuda.memory import Memory
from tailwave.gpu.devices.cuda.nvml import Nvml
from tailwave.gpu.devices.cuda.opening import Libraries, driver_version
from tailwave.gpu.devices.cuda.refusals import guarded
from tailwave.model import DeviceFacts

_CLUSTERS_FROM: Final = 9  # compute capability
_KHZ_PER_MHZ: Final = 1000


def facts_of(libraries: Libraries, device: CoreDevice, memory: Memory, nvml: Nvml) -> DeviceFacts:
    """Gather a GPU's facts; what NVML alone knows is "" or CUDA's own word without it."""
    has = device.properties
    cuda = ".".join(map(str, driver_version(libraries)))
    return DeviceFacts(
        name=device.name,
        backend="cuda",
        uuid=nvml.uuid or f"GPU-{device.uuid}",
        sm_count=has.multiprocessor_count,
        compute_major=has.compute_capability_major,
        compute_minor=has.compute_capability_minor,
        clock_mhz_max=nvml.clock_mhz_max or has.clock_rate // _KHZ_PER_MHZ,
        l2_bytes=has.l2_cache_size,
        memory_bytes=memory.total_bytes(),
        shared_per_sm=has.max_shared_memory_per_multiprocessor,
        shared_per_block_optin=has.max_shared_memory_per_block_optin,
        max_threads_per_sm=has.max_threads_per_multiprocessor,
        driver=f"{nvml.driver} (CUDA {cuda})" if nvml.driver else f"CUDA {cuda}",
        runtime=f"CUDA {libraries.toolkit[0]}.{libraries.toolkit[1]}",
    )


def lacking(device: CoreDevice, nvml: Nvml) -> dict[Feature, str]:
    """Return the features that a GPU lacks, each with the sentence that says why."""
    has = device.properties
    found = {
        Feature.CLUSTERS: _why_no_clusters(device),
        Feature.PRIORITY: (
            "" if has.stream_priorities_supported else "This GPU has no stream priorities."
        ),
        Feature.PARTITION: _why_no_partition(device),
        Feature.MANAGED: (
            ""
            if has.managed_memory and has.concurrent_managed_access
            else "This GPU, or its driver on this system, does not move managed memory by page."
        ),
        Feature.LINK: _why_no_link(nvml),
        Feature.SM_IDS: _why_no_sm_ids(device),
    }
    return {feature: why for feature, why in found.items() if why}


def _why_no_clusters(device: CoreDevice) -> str:
    has = device.properties
    if has.compute_capability_major < _CLUSTERS_FROM or not has.cluster_launch:
        return (
            "Clusters need compute capability 9.0 (Hopper) or later; this GPU has "
            f"{has.compute_capability_major}.{has.compute_capability_minor}."
        )
    return ""


def _why_no_partition(device: CoreDevice) -> str:
    try:
        with guarded("asking which SMs can be split"):
            return "" if device.resources.sm.sm_count else "There are no SMs to split."
    except Exception as error:  # noqa: BLE001  whatever the reason, the feature is not there
        return f"Splitting SMs needs green contexts, of driver 550 (CUDA 12.4) or later: {error}"


def _why_no_link(nvml: Nvml) -> str:
    if nvml.mig:
        return "Under MIG the host link belongs to all instances, and tells nothing of one."
    return nvml.why_not


def _why_no_sm_ids(device: CoreDevice) -> str:
    if device.properties.mps_enabled:
        return (
            "Under MPS an SM's id is not its place on the chip: stop the MPS daemon "
            "(`echo quit | nvidia-cuda-mps-control`) to map the die."
        )
    return ""

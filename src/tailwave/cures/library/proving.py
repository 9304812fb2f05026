"""Finds out on which SMs a stream's work runs."""

from __future__ import annotations

from contextlib import closing
from typing import Final

from tailwave.cures.library.gpu import Gpu
from tailwave.gpu import Launch
from tailwave.gpu.devices.cuda import CoreStream, CudaDevice, CudaStream

# CTAs for each SM of the group. One fills an SM, so that without walls they would spill over.
_CTAS_PER_SM: Final = 4
# How long each stays (ns): longer than all are dispatched in, so that no SM is left out.
_STAY_NS: Final = 50_000
_WORDS: Final = 4  # of the kernel for each CTA, the first of them the SM


def sms_used(gpu: Gpu, stream: CoreStream, sm_count: int) -> frozenset[int]:
    """Run a kernel on a stream and return the ids of the SMs that its CTAs read from ``%smid``.

    Waits for all work of the GPU. Raises NotSupportedError and what a GPU that fails raises.
    """
    with closing(CudaDevice(gpu.libraries, gpu.core, gpu.nvml())) as device:
        ctas = _CTAS_PER_SM * sm_count
        out = device.buffer(_WORDS * ctas)
        launch = Launch("spin", ctas, 32, (out, _STAY_NS), shared=-1)
        device.synchronize()
        device.launch(CudaStream(stream, sm_count), launch)
        device.synchronize()
        ids = out.read()[::_WORDS]
        out.free()
        return frozenset(ids.tolist())

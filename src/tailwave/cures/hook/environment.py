"""What can be read back of the settings that a process runs with."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import ModuleType

from tailwave.cures.hook.driver import Driver

# The kernel's name of a GPU's file: /dev/nvidia0, and not /dev/nvidiactl.
_GPU_FILE = "/dev/nvidia"


def settings(torch: ModuleType | None, *, cuda_is_up: bool) -> dict[str, object]:
    """Return what is in force, by name; what cannot be seen is left out."""
    found: dict[str, object] = {}
    if torch is not None:
        found["threads"] = torch.get_num_threads()
        found["interop_threads"] = torch.get_num_interop_threads()
    if torch is not None and cuda_is_up:
        found["allocator"] = torch.cuda.get_allocator_backend()
        segments = torch.cuda.memory_snapshot()
        if segments:  # none where another allocator holds the memory
            found["expandable_segments"] = any(s.get("is_expandable") for s in segments)
        device = torch.cuda.current_device()
        found["sm_count"] = torch.cuda.get_device_properties(device).multi_processor_count
        with contextlib.suppress(OSError):
            driver = Driver()
            found["host_wait"] = driver.primary_context(device).wait
            found["module_loading"] = driver.module_loading()
            found["mps"] = driver.is_under_mps(device)
    return found


def holds_gpu() -> bool:
    """Tell whether this process has a GPU's file open, be it through torch or anything else."""
    with contextlib.suppress(OSError):
        for file in Path("/proc/self/fd").iterdir():
            with contextlib.suppress(OSError):  # the file of the listing itself is closed by now
                name = str(file.readlink())
                if name.startswith(_GPU_FILE) and name.removeprefix(_GPU_FILE).isdigit():
                    return True
    return False

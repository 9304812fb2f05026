"""Starts the recording in a process: before the program's first line, in its main thread."""

from __future__ import annotations

import atexit
import json
import os
from pathlib import Path
from types import ModuleType

from tailwave.cures.hook.arrival import when_imported
from tailwave.cures.hook.ending import on_every_end
from tailwave.cures.hook.recording import library
from tailwave.cures.hook.recording.cupti import Cupti
from tailwave.cures.hook.recording.recording import Recording
from tailwave.cures.library import marks

# Packages that turn to the GPU in ways of their own; torch, which is asked when it does, is not
# among them. CUPTI must be attached before that, and costs a process without a GPU nothing but
# the loading.
_GPU_PACKAGES = (
    "cuda.bindings.driver",
    "cuda.bindings.runtime",
    "cuda.core",
    "cupy",
    "jaxlib",
    "numba.cuda",
    "onnxruntime",
    "pycuda.driver",
    "tensorflow",
    "tensorrt",
    "warp",
)


def start(path: Path) -> None:
    """Follow the plan in this process; raises OSError or ValueError for one that is damaged."""
    plan = json.loads(path.read_text("utf-8"))
    recording = Recording(str(plan["report"]), lambda: Cupti(library.find()))
    marks.attach(recording)
    on_every_end(recording.finish)
    # Run before the above, and only at an end of the program's own: one that is told to end by a
    # signal must not wait.
    atexit.register(recording.settle)
    os.register_at_fork(after_in_child=recording.forked)
    when_imported("torch", recording.torch_arrived)
    for package in _GPU_PACKAGES:
        when_imported(package, lambda module: _attach(recording, module))


def _attach(recording: Recording, module: ModuleType) -> None:
    del module
    recording.attach()

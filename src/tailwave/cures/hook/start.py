"""Starts the hook in a process: before the program's first line, in its main thread.

A program is often many processes: a launcher and its ranks, a loader's workers, a compiler's. The
*main* ones do its work: the process that the trial started, or the first rank under a launcher such
as torchrun. Each process leaves its number in the environment; one that finds another's there was
started by it, and is a helper, unless it is a first rank whose parent was none.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import MutableMapping
from pathlib import Path

from tailwave.cures.hook import plan
from tailwave.cures.hook.arrival import when_imported
from tailwave.cures.hook.ending import on_every_end
from tailwave.cures.hook.hook import Hook
from tailwave.cures.library import marks

ROOT = "TAILWAVE_TRIAL_ROOT"
RANK = "RANK"  # as torchrun, DeepSpeed and accelerate set it
_FIRST = "0"
# Packages that turn to the GPU in ways of their own; torch tells when it does. CUPTI must be
# attached before that, and costs a process without a GPU nothing but the loading.
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
    wanted = plan.read(path)
    recording = None
    if wanted.record:
        # Not for a trial: it brings queue, before the program's own of that name.
        from tailwave.cures.hook.recording.recording import Recording  # noqa: PLC0415

        recording = Recording(str(Path(wanted.report).with_name("cupti")))
    hook = Hook(wanted, main=claim(os.environ), recording=recording)
    hook.prepare()
    marks.attach(hook)
    on_every_end(hook.finish)
    if recording is not None:
        # Run before the above, and only at an end of the program's own: one that is told to end
        # by a signal must not wait.
        atexit.register(recording.settle)
        for package in _GPU_PACKAGES:
            when_imported(package, hook.gpu_package_arrived)
    os.register_at_fork(after_in_child=hook.forked)
    when_imported("torch", hook.torch_arrived)


def claim(environment: MutableMapping[str, str]) -> bool:
    """Tell whether this process is a main one, and let those that it starts know that it exists."""
    own, rank = str(os.getpid()), environment.get(RANK, "")
    parent, _, parent_rank = environment.get(ROOT, "").partition(":")
    # Its own number: the process has replaced itself by exec.
    is_root = parent in {"", own}
    main = rank in {"", _FIRST} if is_root else rank == _FIRST and not parent_rank
    environment[ROOT] = f"{own}:{rank}"
    return main

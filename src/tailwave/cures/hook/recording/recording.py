"""The recording of one process: begun before its GPU is, and written as it goes."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from pathlib import Path

from tailwave.cures.hook.plan import write_report
from tailwave.cures.hook.recording import library
from tailwave.cures.hook.recording.cupti import Cupti
from tailwave.cures.hook.recording.names import Names
from tailwave.cures.hook.recording.spool import Block, Spool
from tailwave.cures.hook.settings import Driver

NVTX_INJECTION = "NVTX_INJECTION64_PATH"
_FLUSH_MS = 1000  # what a process that is killed loses at most
_DRAIN_S = 60.0
_REPORT_EACH_S = 1.0
_REPORT_SHARE = 50  # a report may take one part in so many of the time


class Recording:
    """Attaches to CUPTI once, keeps the marks of the program's steps, and reports at the end."""

    def __init__(self, prefix: str) -> None:
        """Write what is recorded to files whose paths begin with ``prefix``."""
        self._prefix = prefix
        self._cupti: Cupti | None = None
        self._tried = False
        self._steps: list[tuple[int, int]] = []
        self._since = 0
        self._reported, self._report_took = 0.0, 0.0

    @property
    def attached(self) -> bool:
        """Tell whether CUPTI records, so that no other profiler of this process can."""
        return self._cupti is not None

    def forked(self) -> None:
        """Start afresh in a child: what CUPTI was in its parent is of no use to it."""
        # Nor can it attach again where its parent had: CUPTI's own thread stayed there.
        self._cupti, self._steps = None, []

    def attach(self) -> None:
        """Begin to record, if this process does not yet; a refusal is reported, never raised."""
        if self._tried:
            return
        self._tried = True
        try:
            cupti = Cupti(library.find())
            # NVTX loads this library at its first range, which then tells CUPTI of them.
            os.environ.setdefault(NVTX_INJECTION, str(cupti.path))
            self._names = Names(cupti)
            self._spool = Spool(Path(f"{self._prefix}-{os.getpid()}.records"), self._look)
            self._looked: set[int] = set()
            cupti.set_up()
            cupti.hand_buffers(self._spool.give, self._spool.take)
            cupti.switch_on()
            cupti.flush_each(_FLUSH_MS)
        except OSError as error:
            self._report({"error": str(error)})
            return
        self._spool.start()
        self._cupti, self._since = cupti, cupti.now()

    def step(self) -> None:
        """Take note that a step has ended."""
        if self._cupti is not None:
            self._steps.append((self._cupti.now(), threading.get_native_id()))

    def settle(self) -> None:
        """Wait for what the GPU still does, so that it is recorded, at the program's own end."""
        if self._cupti is not None:
            with contextlib.suppress(OSError):
                Driver().wait()

    def finish(self) -> None:
        """Write all that there is, and what is needed to read it; may be called more than once."""
        if self._cupti is None:
            return
        try:
            # CUPTI's thread must not come with a buffer when the interpreter is gone.
            self._cupti.flush_each(0)
            self._cupti.flush()
        except OSError as error:
            self._spool.failure = self._spool.failure or str(error)
        self._spool.drain(_DRAIN_S)
        self._look_at_rest()
        self._report(self._document(complete=True))

    def _look(self, block: Block) -> None:
        """Look for names in one block of ever more: they repeat, and looking takes time."""
        count = len(self._spool.written)
        if count & (count - 1) == 0:  # 0, 1, 2, 4, 8, ...
            self._names.look(block.buffer.address, block.buffer.records(block.valid))
            self._looked.add(count)
        now = time.monotonic()
        pause = max(_REPORT_EACH_S, _REPORT_SHARE * self._report_took)
        if count and now - self._reported > pause:
            self._report(self._document(complete=False))
            self._reported, self._report_took = now, time.monotonic() - now

    def _look_at_rest(self) -> None:
        """Look for names in the blocks that were only written, now that the program has ended."""
        for count, buffer, valid in self._spool.read_again():
            if count not in self._looked:
                self._names.look(buffer.address, buffer.records(valid))
                self._looked.add(count)

    def _document(self, *, complete: bool) -> dict[str, object]:
        cupti = self._cupti
        assert cupti is not None  # noqa: S101 - there is nothing to report of before
        calls = list(self._names.calls.items())  # another thread adds to them
        return {
            "cupti": cupti.version(),
            "records": str(self._spool.path),
            "blocks": list(self._spool.written),
            "sizes": dict(self._names.sizes),
            "texts": dict(self._names.texts),
            "calls": {f"{domain}:{number}": n for (domain, number), n in calls},
            "threads": _threads(),
            "gpus": _gpus() if complete else [],
            "steps": list(self._steps),
            "since": self._since,
            "until": cupti.now(),
            "dropped": cupti.dropped() if complete else 0,
            "complete": complete,
            "error": self._spool.failure,
        }

    def _report(self, document: dict[str, object]) -> None:
        who: dict[str, object] = {
            "pid": os.getpid(),
            "argv": list(getattr(sys, "argv", [])),
            "rank": os.environ.get("RANK", ""),
            "world_size": os.environ.get("WORLD_SIZE", ""),
        }
        try:
            write_report(self._prefix, {**who, **document})
        except OSError:
            return  # nowhere to say it: the reader notes that a report is missing


def _gpus() -> list[dict[str, object]]:
    """Return the properties of the GPUs that the process sees; nothing where the driver refuses."""
    with contextlib.suppress(OSError):
        driver = Driver()
        return [driver.properties(device) for device in range(driver.device_count())]
    return []


def _threads() -> dict[str, str]:
    """Return the names of this process's threads by their ids."""
    found = {}
    for task in Path("/proc/self/task").glob("*"):
        try:
            found[task.name] = (task / "comm").read_text("utf-8", "replace").strip()
        except OSError:
            continue  # it has just ended
    return found

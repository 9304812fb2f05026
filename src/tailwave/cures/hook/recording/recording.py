"""The recording of one process: begun before its GPU is, and written as it goes."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Protocol

from tailwave.cures.hook import report
from tailwave.cures.hook.recording import gpus
from tailwave.cures.hook.recording.names import Names, Reader
from tailwave.cures.hook.recording.selection import Switches, switch_on
from tailwave.cures.hook.recording.spool import Block, Spool

NVTX_INJECTION = "NVTX_INJECTION64_PATH"
_FLUSH_MS = 1000  # what a process that is killed loses at most
_DRAIN_S = 60.0
_REPORT_EACH_S = 1.0
_REPORT_SHARE = 50  # a report may take one part in so many of the time


class Source(Reader, Switches, Protocol):
    """What a recording needs of CUPTI."""

    path: Path

    def version(self) -> int:
        """Return the interface's version."""

    def now(self) -> int:
        """Return the time on the clock of the records (ns)."""

    def hand_buffers(
        self, give: Callable[[], tuple[int, int]], take: Callable[[int, int], None]
    ) -> None:
        """Have buffers asked for and returned."""

    def set_up(self) -> None:
        """Choose how threads are named."""

    def flush_each(self, milliseconds: int) -> None:
        """Hand over what is complete this often."""

    def flush(self) -> None:
        """Hand over all."""

    def dropped(self) -> int:
        """Return how many records were lost."""


class Recording:
    """Attaches to CUPTI once, keeps the marks of the program's steps, and reports at the end."""

    def __init__(self, prefix: str, opened: Callable[[], Source]) -> None:
        """Write what is recorded to files whose paths begin with ``prefix``."""
        self._prefix, self._opened = prefix, opened
        self._source: Source | None = None
        self._tried = False
        self._steps: list[tuple[int, int]] = []
        self._since = 0
        self._reported, self._report_took = 0.0, 0.0

    def forked(self) -> None:
        """Start afresh in a child: what CUPTI was in its parent is of no use to it."""
        # Nor can it attach again where its parent had: CUPTI's own thread stayed there.
        self._source, self._steps = None, []

    def torch_arrived(self, torch: ModuleType) -> None:
        """Attach as soon as torch turns to the GPU, before it does."""
        begin = torch.cuda._lazy_init  # noqa: SLF001 - all of torch's ways to the GPU lead here

        def _lazy_init() -> None:
            self.attach()
            torch.cuda._lazy_init = begin  # noqa: SLF001
            begin()

        torch.cuda._lazy_init = _lazy_init  # noqa: SLF001

    def attach(self) -> None:
        """Begin to record, if this process does not yet; a refusal is reported, never raised."""
        if self._tried:
            return
        self._tried = True
        try:
            source = self._opened()
            # NVTX loads this library at its first range, which then tells CUPTI of them.
            os.environ.setdefault(NVTX_INJECTION, str(source.path))
            self._names = Names(source)
            self._spool = Spool(Path(f"{self._prefix}-{os.getpid()}.records"), self._look)
            self._looked: set[int] = set()
            self._begin(source)
        except OSError as error:
            self._report({"error": str(error)})
            return
        self._source, self._since = source, source.now()

    def _begin(self, source: Source) -> None:
        source.set_up()
        source.hand_buffers(self._spool.give, self._spool.take)
        switch_on(source)
        source.flush_each(_FLUSH_MS)
        self._spool.start()

    def step(self) -> None:
        """Take note that a step has ended."""
        if self._source is not None:
            self._steps.append((self._source.now(), threading.get_native_id()))

    def output(self, name: str, value: object) -> None:
        """Take no note of outputs: they are of no use to a timeline."""

    def settle(self) -> None:
        """Wait for what the GPU still does, so that it is recorded, at the program's own end."""
        if self._source is not None:
            gpus.wait()

    def finish(self) -> None:
        """Write all that there is, and what is needed to read it; may be called more than once."""
        if self._source is None:
            return
        try:
            # CUPTI's thread must not come with a buffer when the interpreter is gone.
            self._source.flush_each(0)
            self._source.flush()
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
        source = self._source
        assert source is not None  # noqa: S101 - there is nothing to report of before
        return {
            "cupti": source.version(),
            "records": str(self._spool.path),
            "blocks": list(self._spool.written),
            "sizes": dict(self._names.sizes),
            "texts": dict(self._names.texts),
            "calls": {f"{domain}:{number}": n for (domain, number), n in self._calls()},
            "threads": _threads(),
            "gpus": gpus.properties() if complete else [],
            "steps": list(self._steps),
            "since": self._since,
            "until": source.now(),
            "dropped": source.dropped() if complete else 0,
            "complete": complete,
            "error": self._spool.failure,
        }

    def _calls(self) -> list[tuple[tuple[int, int], str]]:
        return list(self._names.calls.items())

    def _report(self, document: dict[str, object]) -> None:
        who: dict[str, object] = {
            "pid": os.getpid(),
            "argv": list(getattr(sys, "argv", [])),
            "rank": os.environ.get("RANK", ""),
            "world_size": os.environ.get("WORLD_SIZE", ""),
        }
        try:
            report.write(self._prefix, {**who, **document})
        except OSError:
            return  # nowhere to say it: the reader notes that a report is missing


def _threads() -> dict[str, str]:
    """Return the names of this process's threads by their ids."""
    found = {}
    for task in Path("/proc/self/task").glob("*"):
        try:
            found[task.name] = (task / "comm").read_text("utf-8", "replace").strip()
        except OSError:
            continue  # it has just ended
    return found

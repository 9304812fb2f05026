"""What is copied, and what is waited for."""

from __future__ import annotations

from tailwave.gpu.devices.base import Feature, Stream
from tailwave.gpu.probes import run_probes
from tailwave.model import Measurement
from tests.gpu.probes.fake import FakeDevice

MIB = 1 << 20


class Copying(FakeDevice):
    """A device that remembers its copies, and after how many of each stream it was waited for."""

    def __init__(self) -> None:
        """Nothing was copied yet."""
        super().__init__()
        self.features = frozenset({Feature.COPY})
        self.copies: set[tuple[int, bool, bool]] = set()
        self.pending: list[Stream] = []
        self.unwaited = 0

    def clock_ns(self) -> int:
        """Return the time; what is under way when a copy has been timed was not waited for."""
        self.unwaited = max(self.unwaited, len(self.pending))
        return super().clock_ns()

    def copy(self, stream: Stream, nbytes: int, *, to_device: bool, pinned: bool) -> None:
        """Take a nanosecond for 50 bytes."""
        self.copies.add((nbytes, to_device, pinned))
        self.pending.append(stream)
        self.work(0, nbytes // 50)

    def synchronize(self, stream: Stream | None = None) -> None:
        """Let the copies of a stream end."""
        self.pending = [other for other in self.pending if other is not stream]
        super().synchronize(stream)


def test_copies_are_waited_for_on_every_stream() -> None:
    """64 MiB each way, pinned and pageable, and 8 pinned bytes; none is timed before its end."""
    device = Copying()
    found = {m.name: m for m in run_probes(device, only=["copy"]) if isinstance(m, Measurement)}
    assert device.copies == {
        (64 * MIB, True, True),
        (64 * MIB, False, True),
        (64 * MIB, True, False),
        (64 * MIB, False, False),
        (8, True, True),
    }
    assert device.unwaited == 0
    assert found["copy.small"].value == 1.0  # the time to wake up
    assert found["copy.link_width"].reason == f"A fake has no {Feature.LINK}."

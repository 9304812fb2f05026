"""Step times by CUDA events: resolved when the GPU has passed them, never waited for."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace

import pytest

from tailwave.cures.library import steps


class Gpu(ModuleType):
    """A torch whose GPU has passed the first ``passed`` events; each comes 2 ms after the other."""

    def __init__(self) -> None:
        """Have passed nothing."""
        super().__init__("torch")
        self.passed, self.made, self.recorded = 0, 0, 0
        self.device, self.capturing = 0, False
        self.waits = 0
        gpu = self

        class Event:
            """An event of this GPU."""

            def __init__(self, *, enable_timing: bool) -> None:
                assert enable_timing
                gpu.made += 1

            def record(self) -> None:
                gpu.recorded += 1
                self.place, self.device = gpu.recorded, gpu.device

            def query(self) -> bool:
                return self.place <= gpu.passed

            def synchronize(self) -> None:
                gpu.waits += 1
                gpu.passed = max(gpu.passed, self.place)

            def elapsed_time(self, other: Event) -> float:
                assert other.query()
                assert self.device == other.device
                return 2.0 * (other.place - self.place)

        self.cuda = SimpleNamespace(
            Event=Event,
            current_device=lambda: self.device,
            is_current_stream_capturing=lambda: self.capturing,
        )


@pytest.fixture
def gpu() -> Gpu:
    """A GPU that is behind."""
    return Gpu()


def marked(gpu: Gpu, times: int) -> steps.GpuSteps:
    """Mark some steps."""
    found = steps.GpuSteps(gpu)
    for _ in range(times):
        found.mark()
    return found


def test_marks_wait_for_nothing(gpu: Gpu) -> None:
    """Steps that the GPU has not finished are not known before the end."""
    found = marked(gpu, 4)
    assert (list(found.us), gpu.waits) == ([], 0)
    found.finish()
    assert list(found.us) == [2000.0, 2000.0, 2000.0]


def test_events_are_used_again(gpu: Gpu) -> None:
    """A GPU that keeps up needs three events, however many the steps are."""
    found = steps.GpuSteps(gpu)
    for _ in range(50):
        found.mark()
        gpu.passed = gpu.recorded
    assert gpu.made <= 3
    found.finish()
    assert list(found.us) == [2000.0] * 49


def test_a_mark_on_another_gpu_begins_anew(gpu: Gpu) -> None:
    """Times of two GPUs cannot be compared: the step between them is left out."""
    found = marked(gpu, 2)
    gpu.device = 1
    found.mark()
    found.mark()
    found.finish()
    assert list(found.us) == [2000.0, 2000.0]


def test_a_mark_in_a_capture_is_none(gpu: Gpu) -> None:
    """An event would become a part of the graph; the steps on both sides are left out."""
    found = marked(gpu, 2)
    gpu.capturing = True
    found.mark()
    gpu.capturing = False
    found.mark()
    found.mark()
    found.finish()
    assert list(found.us) == [2000.0, 2000.0]


def test_there_is_a_bound_to_events(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU that falls behind without end costs steps, not memory, and no step is made longer."""
    monkeypatch.setattr(steps, "MOST_PENDING", 4)
    found = marked(gpu, 10)
    assert gpu.made == 4
    gpu.passed = gpu.recorded
    found.mark()
    found.mark()
    found.finish()
    assert set(found.us) == {2000.0}


def test_the_hooks_own_time_is_no_step() -> None:
    """A cut leaves out the time from the mark before it to the mark after it."""
    found = steps.HostSteps()
    found.mark()
    found.mark()
    found.cut()
    found.mark()
    found.mark()
    assert len(found.us) == 2


def test_only_recent_steps_are_written_in_mid_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writing them takes no longer, however long the program runs; the end has them all."""
    monkeypatch.setattr(steps, "RECENT_STEPS", 3)
    found = steps.Steps()
    for _ in range(9):
        found.mark()
    recent, everything = found.document(final=False)["us"], found.document(final=True)["us"]
    assert isinstance(recent, list)
    assert isinstance(everything, list)
    assert (len(recent), len(everything)) == (3, 8)
    assert recent == everything[-3:]


def test_times_are_in_microseconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The host's clock tells seconds."""
    monkeypatch.setattr("time.perf_counter", iter([1.0, 1.5, 1.75]).__next__)
    found = steps.Steps()
    for _ in range(3):
        found.mark()
    assert found.document(final=True) == {"clock": "host", "us": [500_000.0, 250_000.0]}


def test_a_step_is_known_when_the_gpu_has_passed_both_its_marks(gpu: Gpu) -> None:
    """Streams and GPUs pass them in any order."""
    found = marked(gpu, 2)
    late, gpu.passed = found._pending[0].event, gpu.recorded  # noqa: SLF001 - no public way
    late.place = gpu.recorded + 1  # type: ignore[attr-defined]
    found.resolve(2)
    assert list(found.us) == []


def test_a_gpu_that_catches_up_drains_the_marks(gpu: Gpu) -> None:
    """Two at each mark: one comes in, so the queue gets shorter."""
    found = marked(gpu, 10)
    for _ in range(9):
        gpu.passed = gpu.recorded
        found.mark()
    assert len(found._pending) <= 2  # noqa: SLF001 - no public way


def test_before_the_end_nothing_is_waited_for_and_the_host_tells(gpu: Gpu) -> None:
    """Until the GPU's first step is known; at the end it is, and counts."""
    found = steps.Steps()
    found.use_gpu(gpu)
    for _ in range(3):
        found.mark()
    assert (found.document(final=False)["clock"], gpu.waits) == ("host", 0)
    assert found.document(final=True) == {"clock": "gpu", "us": [2000.0, 2000.0]}


def test_both_clocks_leave_out_what_the_hook_used(gpu: Gpu) -> None:
    """The time from the mark before it to the mark after it."""
    found = steps.Steps()
    found.mark()
    found.cut()
    found.mark()
    assert found.document(final=True)["us"] == []
    found.use_gpu(gpu)
    found.mark()
    found.cut()
    found.mark()
    found.mark()
    assert found.document(final=True) == {"clock": "gpu", "us": [2000.0]}

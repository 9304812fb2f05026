"""The guards: each thing that speaks against a trial, in one sentence, and what does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tailwave.cures.trials import guards
from tailwave.cures.trials.guards import Guards, open_guards
from tailwave.errors import UNAVAILABLE, UnavailableError
from tailwave.gpu.devices.base import ClockReason, GpuProcess, GpuState, NotSupportedError
from tests.cures.trials.watches import GONE, IDLE, FakeWatch, gpus, state

_NOBODY = 2**22 + 1  # above the kernel's highest process id
_OTHER = GpuProcess(_NOBODY, 12 << 30)
_GIB = 1 << 30


def guarding(
    watch: FakeWatch | None, *, places: tuple[Path, ...] = (), **environment: str
) -> Guards:
    """Guards that do not wait."""
    return Guards(watch, environment, places=places, pause=lambda _: None)


def against(*states: GpuState) -> str:
    """What is said against a run on a GPU of these states."""
    return guarding(FakeWatch(*states)).against()


def test_nothing_speaks_against_an_idle_gpu() -> None:
    """It is looked at once, and there is nothing to note."""
    watch = FakeWatch()
    guard = guarding(watch)
    guard.check()
    assert (guard.against(), guard.notes) == ("", ())
    assert watch.looked_at == ["GPU-a", "GPU-a"]
    assert (guard.gpus, guard.count, guard.driver, guard.mig) == (gpus(1), 1, "580.159.04", False)


def test_another_process_is_refused() -> None:
    """One sentence, exit code 69, and what to do next."""
    with pytest.raises(UnavailableError) as refused:
        guarding(FakeWatch(state(_OTHER))).check()
    assert str(refused.value) == (
        f"Process {_NOBODY} holds 12 GiB on GPU 0: wait until it has ended, "
        "or give the program another GPU by CUDA_VISIBLE_DEVICES."
    )
    assert refused.value.exit_code == UNAVAILABLE


def test_a_process_that_can_be_seen_is_told_by_its_name() -> None:
    """One whose parent is not this process; its memory may be unknown."""
    said = against(state(GpuProcess(1, None)))
    name = Path("/proc/1/comm").read_text("utf-8").strip()
    assert said.startswith(f"Process 1 ({name}) runs on GPU 0: ")


def test_many_processes_are_counted() -> None:
    """Three are named."""
    others = (GpuProcess(_NOBODY + number, _GIB) for number in range(5))
    said = against(state(*others))
    assert said.count("process") == 2
    assert ", 2 more on GPU 0: " in said


def test_what_a_run_leaves_is_waited_for() -> None:
    """A dying process, or the utilisation of just now."""
    assert against(state(_OTHER), state(utilization=0.9), IDLE) == ""


def test_company_that_comes_and_stays_is_refused_after_some_looks() -> None:
    """Thirty-one, a tenth of a second apart."""
    pauses: list[float] = []
    watch = FakeWatch(state(_OTHER))
    Guards(watch, {}, places=(), pause=pauses.append).against()
    assert (len(watch.looked_at), pauses) == (31, [0.1] * 30)


def test_our_own_processes_are_no_company() -> None:
    """This one, and one that it started."""
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert against(state(GpuProcess(os.getpid(), _GIB), GpuProcess(child.pid, _GIB))) == ""
    finally:
        child.communicate()


def test_one_that_draws_is_no_company() -> None:
    """Nor is the work that it does."""
    desktop = GpuProcess(_NOBODY, _GIB, compute=False)
    assert against(state(desktop, utilization=0.3)) == ""


def test_mps_own_server_is_no_company(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its clients are listed by themselves."""
    monkeypatch.setattr(guards, "_PROC", tmp_path)
    (tmp_path / "77").mkdir()
    (tmp_path / "77" / "comm").write_text("nvidia-cuda-mps\n", "utf-8")
    assert against(state(GpuProcess(77, 30 << 20))) == ""
    assert against(state(GpuProcess(77, 30 << 20), GpuProcess(78, _GIB))) != ""


@pytest.mark.parametrize(
    ("seen", "what"),
    [
        (state(used=2 * _GIB), "2 GiB in use"),
        (state(utilization=0.37), "kernels running for 37% of the time"),
        (GpuState(None, 2 * _GIB, None, None), "2 GiB in use"),
        (state(GpuProcess(os.getpid(), _GIB), used=2 * _GIB), "2 GiB in use"),
    ],
)
def test_a_process_that_a_container_hides_is_seen_by_what_it_does(
    seen: GpuState, what: str
) -> None:
    """Memory that no listed process holds, or kernels while nothing of ours runs."""
    assert against(seen) == (
        f"GPU 0 has {what} while nothing of ours runs, so a process that cannot be seen from here "
        "uses it: wait until it has ended, or give the program another GPU by CUDA_VISIBLE_DEVICES."
    )


@pytest.mark.parametrize(
    "seen",
    [
        state(used=127 << 20),
        state(utilization=0.04),
        GpuState(None, None, None, None),
        state(GpuProcess(os.getpid(), None), used=2 * _GIB),
    ],
)
def test_an_idle_gpus_own_and_what_cannot_be_read_are_no_company(seen: GpuState) -> None:
    """Less than a context, a monitor's kernel, unknown figures, memory that is not told apart."""
    assert against(seen) == ""


@pytest.mark.parametrize(
    ("reasons", "said"),
    [
        ([ClockReason.HW_SLOWDOWN, ClockReason.HW_THERMAL], "let it cool"),
        ([ClockReason.SW_THERMAL], "let it cool"),
        ([ClockReason.HW_SLOWDOWN, ClockReason.POWER_BRAKE], "see to its power supply"),
        ([ClockReason.HW_SLOWDOWN], "see to its temperature and power supply"),
    ],
)
def test_a_clock_that_is_held_down_is_refused_at_once(
    reasons: list[ClockReason], said: str
) -> None:
    """After a pause it may look well, so nothing is waited for, be there company or not."""
    held = against(state(_OTHER, reasons=reasons), IDLE)
    assert held.startswith("The clock of GPU 0 is held down (")
    assert said in held
    assert all(reason in held for reason in reasons)


def test_a_power_cap_and_mig_are_noted_and_not_refused() -> None:
    """The figures hold for them; each is noted once."""
    guard = guarding(FakeWatch(state(reasons=[ClockReason.POWER_CAP], mig=True)))
    assert [guard.against(), guard.against()] == ["", ""]
    assert guard.notes == (
        "GPU 0 is divided by MIG: its instances share power and clock.",
        "The power cap holds the clock of GPU 0 down: the figures are for this cap.",
    )


def test_only_the_programs_gpus_are_looked_at() -> None:
    """Company on others is none of its business."""
    watch = FakeWatch(state(_OTHER), number=3)
    guard = guarding(watch, CUDA_VISIBLE_DEVICES="GPU-a,GPU-b")
    assert guard.against() == ""
    assert (guard.gpus, guard.count) == (gpus(3)[:2], 2)
    assert watch.looked_at == ["GPU-a", "GPU-b"]


def test_where_it_cannot_be_told_which_gpu_all_are_looked_at() -> None:
    """And the sentence says how to tell."""
    said = guarding(FakeWatch(state(_OTHER), number=2), CUDA_VISIBLE_DEVICES="0").against()
    assert said == (
        f"Process {_NOBODY} holds 12 GiB on GPU 1: wait until it has ended, or say which GPU the "
        "program uses (CUDA_DEVICE_ORDER=PCI_BUS_ID, or CUDA_VISIBLE_DEVICES by UUID)."
    )


def test_an_instance_of_mig_is_looked_at_by_itself() -> None:
    """And told by its name."""
    watch = FakeWatch(state(_OTHER, mig=True), instances=("MIG-1", "MIG-2"))
    guard = guarding(watch, CUDA_VISIBLE_DEVICES="MIG-2")
    assert "on the instance MIG-2 of GPU 0: " in guard.against()
    assert set(watch.looked_at) == {"MIG-2"}
    assert guard.mig


def test_a_program_without_a_gpu_is_refused() -> None:
    """The variable is quoted."""
    with pytest.raises(UnavailableError, match=r"CUDA_VISIBLE_DEVICES=-1 leaves the program no"):
        guarding(FakeWatch(), CUDA_VISIBLE_DEVICES="-1")


def test_a_gpu_that_goes_speaks_against_going_on() -> None:
    """In its own words."""
    guard = guarding(FakeWatch(GONE))
    assert guard.against() == "The GPU has fallen off the bus."
    with pytest.raises(UnavailableError, match="fallen off the bus"):
        guard.check()


def test_under_hami_a_trial_is_refused(tmp_path: Path) -> None:
    """Before the GPU is looked at."""
    preload = tmp_path / "ld.so.preload"
    preload.write_text("/usr/local/vgpu/libvgpu.so", "utf-8")
    watch = FakeWatch()
    with pytest.raises(UnavailableError, match="CUDA graphs would escape its quota: run the trial"):
        guarding(watch, places=(preload,)).check()
    assert watch.looked_at == []


def test_where_nothing_can_look_the_guards_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """A note, not silence; HAMi is seen all the same."""

    def blind() -> None:
        raise NotSupportedError("Nothing can look: install it.")

    monkeypatch.setattr(guards, "open_watch", blind)
    guard = open_guards({})
    assert guard.notes == ("Nothing can look: install it.",)
    assert (guard.against(), guard.gpus, guard.count, guard.driver) == ("", (), 1, "")
    assert "HAMi" in open_guards({"LD_PRELOAD": "libvgpu.so"}).against()


def test_guards_open_on_what_can_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """And without a GPU they do not open."""
    monkeypatch.setattr(guards, "open_watch", FakeWatch)
    assert open_guards({}).gpus == gpus(1)

    def none() -> None:
        raise UnavailableError("There is no NVIDIA GPU here.")

    monkeypatch.setattr(guards, "open_watch", none)
    with pytest.raises(UnavailableError, match="no NVIDIA GPU"):
        open_guards({})

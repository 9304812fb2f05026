"""The cures that set one thing in the program's environment: rows of one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tailwave.cures.catalogue.base import (
    ANYTHING,
    Cure,
    Mechanism,
    Report,
    Setting,
    Treatment,
    already,
    exports,
    one_of,
    read_back,
    whole,
)
from tailwave.errors import UsageError


@dataclass(frozen=True)
class Variable(Cure):
    """Sets ``variables`` to the parameter; one without parameters (``values`` None) unsets them.

    ``values`` are those that mean anything. ``guess`` names the ones worth a trial, where that is
    not the example. ``refusal`` says why it is not tried in a setting; by itself it is not where it
    is set so already. ``reported`` is the key under which a process reads it back, "" where the
    driver reports nothing: then only the effect speaks.
    """

    name: str
    label: str
    does: str
    needs: str
    variables: tuple[str, ...]
    values: tuple[str, ...] | range | None
    example: str = ""
    advice: str = ""
    answers: tuple[str, ...] = ()
    guess: Callable[[Setting], tuple[str, ...]] | None = None
    refusal: Callable[[str, Setting], str] | None = None
    reported: str = ""

    def parameters(self, setting: Setting, /) -> tuple[str, ...]:
        """What the row guesses."""
        return self.guess(setting) if self.guess is not None else (self.example,)

    def treatment(self, parameter: str, _: Setting, /) -> Treatment:
        """Set the variables, or unset them."""
        return Treatment(environment=self._environment(self._checked(parameter)))

    def why_not(self, parameter: str, setting: Setting, /) -> str:
        """Not against the row's own reason, nor where it is so already."""
        own = self.refusal(parameter, setting) if self.refusal is not None else ""
        return own or already(self._environment(parameter), setting)

    def mechanism(self, parameter: str, reports: Iterable[Report], /) -> Mechanism:
        """Read it back, or say that nobody reports it."""
        name = self.variables[0]
        if not self.reported:
            done = f"{name} was unset" if self.values is None else f"{name}={parameter} was set"
            return Mechanism(None, f"{done}; the driver does not report it.")
        wanted = int(parameter) if isinstance(self.values, range) else parameter
        return read_back(self.reported, wanted, name, reports)

    def lines(self, parameter: str, /) -> tuple[str, ...]:
        """The shell's."""
        return exports(self._environment(parameter))

    def _environment(self, parameter: str) -> dict[str, str | None]:
        return dict.fromkeys(self.variables, None if self.values is None else parameter)

    def _checked(self, parameter: str) -> str:
        """Return a parameter as the variables take it; raises UsageError for any other."""
        if isinstance(self.values, range):
            return str(whole(self.name, parameter, self.values[0], self.values[-1]))
        if self.values is not None:
            return one_of(self.name, parameter, self.values)
        if parameter:
            raise UsageError(f"{self.name} takes no parameter: write {self.name}.")
        return ""


_BLOCKING = "CUDA_LAUNCH_BLOCKING"
_QUEUES = "CUDA_DEVICE_MAX_CONNECTIONS"


def _not_blocking(_: str, setting: Setting) -> str:
    """There is nothing to unset."""
    if setting.environment.get(_BLOCKING, "") in ("", "0"):
        return f"{_BLOCKING} is not set, so there is nothing to unset."
    return ""


def _one_queue(parameter: str, setting: Setting) -> str:
    """The program orders its work by a single queue."""
    if setting.environment.get(_QUEUES) == "1" and parameter != "1":
        return (
            f"{_QUEUES}=1 is set, by which some frameworks keep communication before compute: "
            "unset it yourself if the program does not need that order."
        )
    return ""


def _half_of_the_cores(setting: Setting) -> tuple[str, ...]:
    """Half of a GPU's share of the cores, for others need some too; then one thread."""
    half = setting.cpus // max(2 * setting.gpus, 1)
    return tuple(dict.fromkeys((str(max(half, 1)), "1")))


LAUNCH_BLOCKING_OFF = Variable(
    name="launch-blocking-off",
    label="the host need not wait for each kernel",
    does=(
        "CUDA_LAUNCH_BLOCKING=1 makes the host wait for each kernel. It is a debugger's setting, "
        "and left on it costs a program most of its speed. The cure unsets it."
    ),
    needs="The variable is set where the program is started.",
    answers=(ANYTHING,),
    variables=(_BLOCKING,),
    values=None,
    guess=lambda setting: () if _not_blocking("", setting) else ("",),
    refusal=_not_blocking,
)
HOST_THREADS = Variable(
    name="host-threads",
    label="threads on the CPU",
    does=(
        "Each process of a program starts a pool of threads for its operators on the CPU, as many "
        "as the machine has cores, whatever a container grants. More threads than cores take the "
        "core from the thread that issues the GPU's work. OMP_NUM_THREADS and MKL_NUM_THREADS set "
        "their number."
    ),
    needs="A program that uses OpenMP or MKL (PyTorch, NumPy), started anew.",
    advice=(
        "Start no more threads than there are cores (OMP_NUM_THREADS, torch.set_num_threads), and "
        "give the issuing thread one of its own (taskset, numactl, the container's limits)."
    ),
    answers=("host-threads",),
    variables=("OMP_NUM_THREADS", "MKL_NUM_THREADS"),
    values=range(1, 4097),
    guess=_half_of_the_cores,
    example="4",
    reported="threads",
)
# It answers "partition": a kernel that waits though its stream is free may be in another's queue.
# At most 32: CUDA C++ Programming Guide, "CUDA Environment Variables".
MAX_CONNECTIONS = Variable(
    name="max-connections",
    label="hardware queues",
    does=(
        "Streams share hardware queues, 8 by default. Two streams in one queue wait for each other "
        "though nothing in the program says so. CUDA_DEVICE_MAX_CONNECTIONS makes it up to 32."
    ),
    needs=(
        "A program with more streams than queues, started anew. Frameworks that order "
        "communication before compute by a single queue (Megatron-LM, Transformer Engine) set it "
        "to 1 on purpose."
    ),
    answers=("partition",),
    variables=(_QUEUES,),
    values=range(1, 33),
    example="32",
    refusal=_one_queue,
)
# No finding asks for it: a step that a profile shows has its kernels loaded.
MODULE_LOADING = Variable(
    name="module-loading",
    label="when kernels are loaded",
    does=(
        "CUDA loads a kernel when it is first launched (lazy, the default on Linux since CUDA "
        "12.2), which takes milliseconds in the middle of a run. CUDA_MODULE_LOADING=EAGER loads "
        "all of them at the start."
    ),
    needs=(
        "The variable is read when CUDA comes up, so the program is started anew. EAGER takes "
        "memory for every kernel of every library, and a longer start."
    ),
    variables=("CUDA_MODULE_LOADING",),
    values=("EAGER", "LAZY"),
    example="EAGER",
    reported="module_loading",
)

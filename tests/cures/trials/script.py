"""A program that is none: what its runs take is computed, so that no test looks at a clock."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping

from tailwave.cures.catalogue.base import Candidate, Cure, Mechanism, Report, Setting, Treatment
from tailwave.cures.catalogue.choose import Choice
from tailwave.cures.trials.metric import Metric, StepTime
from tailwave.cures.trials.preparing import Preparation, Request
from tailwave.cures.trials.rounds import Rounds
from tailwave.cures.trials.run import Run
from tailwave.model import Diagnosis

SETTING = Setting(environment={})
SIX_ROUNDS = Request(("prog",), {})
HEALTHY_US = 1000.0


class FakeCure(Cure):
    """A cure that sets one variable to its name; told what its mechanism is seen to do."""

    does = needs = ""

    def __init__(self, name: str, *, works: bool | None = True, cannot: str = "") -> None:
        """Name it; ``cannot`` is why it cannot be tried."""
        self.name, self.label = name, f"the cure {name}"
        self._works, self._cannot = works, cannot

    def treatment(self, parameter: str, setting: Setting, /) -> Treatment:
        """Set CURE to its name."""
        del setting
        return Treatment(environment={"CURE": f"{self.name}{parameter}"})

    def why_not(self, parameter: str, setting: Setting, /) -> str:
        """Say what it was told to."""
        del parameter, setting
        return self._cannot

    def mechanism(self, parameter: str, reports: Iterable[Report], /) -> Mechanism:
        """Say what it was told to."""
        del parameter, reports
        return Mechanism(self._works, f"{self.name} was {'seen' if self._works else 'not seen'}")

    def lines(self, parameter: str, /) -> tuple[str, ...]:
        """Set the variable."""
        return (f"export CURE={self.name}{parameter}",)


def candidate(
    name: str,
    *,
    works: bool | None = True,
    bound: float | None = None,
    codes: tuple[str, ...] = (),
) -> Candidate:
    """Return a fake cure as a candidate that answers these findings."""
    return Candidate(FakeCure(name, works=works), bound=bound, codes=codes)


def steps_run(
    us: Iterable[float], outputs: Mapping[str, object] | None = None, *, seconds: float = 1.0
) -> Run:
    """Return a run that marked these steps."""
    report = {
        "pid": 1,
        "main": True,
        "steps": {"clock": "gpu", "us": list(us)},
        "outputs": outputs or {},
    }
    return Run(0, seconds, reports=(report,))


class Scripted:
    """Runs a function of the cure's name ("" for none) and of how many runs went before."""

    def __init__(self, script: Callable[[str, int], Run]) -> None:
        """Run this."""
        self._script = script
        self.names: list[str] = []
        self.limits_s: list[float | None] = []

    def run(
        self, treatment: Treatment, *, profile: bool = False, limit_s: float | None = None
    ) -> Run:
        """Run it once."""
        del profile
        self.limits_s.append(limit_s)
        self.names.append(treatment.environment.get("CURE") or "")
        return self._script(self.names[-1], len(self.names) - 1)

    def trace(self) -> str:
        """No profile is recorded."""
        return ""


def noisy(
    factors: dict[str, float], noise: float, seed: int, *, drift: float = 0.0, slow: float = 0.0
) -> Callable[[str, int], Run]:
    """Return a script of noisy runs: each of its own speed, with steps that scatter around it.

    A run's speed scatters by ``noise`` (a standard deviation, of the logarithm), drifts by
    ``drift`` a run, and with probability ``slow`` a neighbour makes it a twentieth slower.
    """
    random_ = random.Random(seed)  # noqa: S311 - noise, no secret

    def script(name: str, index: int) -> Run:
        level = HEALTHY_US * factors.get(name, 1.0) * random_.lognormvariate(0, noise)
        level *= (1 + drift) ** index * (1.05 if random_.random() < slow else 1.0)
        return steps_run([level * random_.lognormvariate(0, 0.01) for _ in range(40)])

    return script


class Silent:
    """Hears what a trial does."""

    def __init__(self) -> None:
        """Nothing has been said yet."""
        self.heard: list[str] = []
        self.left: list[float | None] = []

    def planned(self, choice: Choice, /) -> None:
        """Keep the candidates' names."""
        self.heard.append(f"planned {[c.spec for c in choice.candidates]}")

    def begin(self, what: str, done: int, total: int, left_s: float | None, /) -> None:
        """Keep what begins."""
        self.heard.append(f"{what} ({done}/{total})")
        self.left.append(left_s)


def rounds_of(  # noqa: PLR0913 - each given by its name
    runner: Scripted,
    *candidates: Candidate,
    reserves: tuple[Candidate, ...] = (),
    request: Request = SIX_ROUNDS,
    metric: Metric | None = None,
    diagnosis: Diagnosis | None = None,
    observer: Silent | None = None,
) -> Rounds:
    """Return the rounds of a trial of these candidates, not yet run."""
    choice = Choice(candidates=tuple(candidates), reserves=reserves)
    preparation = Preparation(metric or StepTime("gpu"), 1.0, diagnosis, SETTING, choice, ())
    return Rounds(request, preparation, runner, observer or Silent())


def nothing() -> str:
    """Watch, and see nothing that speaks against going on."""
    return ""

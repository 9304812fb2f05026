"""Does the last wave of CTAs leave SMs idle?

`tailwave explain wave-tail` prints what a recording's rule says. From counters it is found by the
CTAs that do not divide by the SMs, and never counts more than SMs were seen to idle.
"""

from __future__ import annotations

from tailwave.figures import percent
from tailwave.model import Evidence
from tailwave.profiles.rules.base import Loss, NcuRule, least, ratio
from tailwave.profiles.rules.kernel import ACTIVE_MEAN, ACTIVE_MOST, ELAPSED, GRID, SMS, Kernel

CODE = "wave-tail"
TITLE = "The last wave of CTAs leaves most SMs idle"
QUESTION = "does the last wave of CTAs leave SMs idle?"
METRICS: tuple[str, ...] = (
    GRID,
    SMS,
    "launch__waves_per_multiprocessor",
    ACTIVE_MEAN,
    ACTIVE_MOST,
    ELAPSED[0],
)
NEEDED: tuple[str, ...] = ()
THEIRS: tuple[NcuRule, ...] = (NcuRule("LaunchConfiguration", "Tail"),)
DIFFERS = (
    "ncu's tail rule counts the last wave as a whole one, however full it is; tailwave counts the "
    "time for which SMs idled"
)


def find(kernel: Kernel) -> Loss | None:
    """Take the time that SMs idled, as far as the grid's size explains it."""
    ctas, sms = kernel.ctas, kernel.sms
    if ctas <= sms:
        return None
    more = ctas % sms
    if not more:
        return None
    share = min(kernel.unevenness, kernel.rounding)
    if share <= 0:
        return None
    claim = (
        f"{ctas:,.0f} CTAs on {sms:.0f} SMs: {'1 SM runs' if more == 1 else f'{more:.0f} SMs run'} "
        f"one more than the others, which stand idle for {percent(share)} of the kernel."
    )
    evidence = [
        Evidence("in the grid", ctas, "CTAs"),
        Evidence("to run them", sms, "SMs"),
        ratio("of the kernel that the average SM idled", kernel.unevenness),
        ratio("at most explained by the grid's size", kernel.rounding),
    ]
    waves = kernel.get("launch__waves_per_multiprocessor")
    if waves is not None:
        evidence.append(Evidence("of all SMs", waves, "waves"))
    return Loss(share, claim, tuple(evidence))


def most(kernel: Kernel) -> float:
    """No more than the grid's size explains, nor than the average SM stood idle."""
    return least(lambda: kernel.rounding, lambda: 1.0 - kernel.working)


def cures(_: Kernel) -> tuple[str, ...]:
    """A grid that fills its last wave, or one that has none."""
    return ("whole-waves", "persistent-kernel")

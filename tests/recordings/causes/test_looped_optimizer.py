"""The optimizer updates parameter by parameter instead of all in one pass."""

from __future__ import annotations

from tailwave.recordings.causes import looped_optimizer
from tests.builders import Trace, kernel, steps
from tests.recordings.causes.cases import evidence, find, found


def update(trace: Trace, kernels: int = 8, name: str = "Optimizer.step#AdamW.step") -> None:
    """Launch kernels of 10 us, one every 50 us, of two kinds in turn, within a mark."""
    trace.annotation(name, 0, 50 * kernels - 1)
    for number in range(kernels):
        at = 50 * number
        trace.launch(at, at + 4, kernel(("mul", "add")[number % 2], at + 5, at + 15))


def test_an_optimizer_that_goes_from_parameter_to_parameter_is_found() -> None:
    """One kernel as long as one of the two passes, 40 us, takes the place of eight."""
    finding = found(looped_optimizer, steps(4, 400, update))
    assert finding.cures == ("fused-optimizer",)
    assert evidence(finding, "launches that a fused optimizer spares") == 7
    assert "7 launches a step that one fused kernel spares" in finding.claim
    assert 40 <= (finding.step_us_after or 0) < 100


def test_one_pass_is_fused_already() -> None:
    """A kernel of each kind is what a fused optimizer launches at most."""
    assert find(looped_optimizer, steps(4, 400, lambda trace: update(trace, kernels=2))) is None


def test_the_same_kernels_elsewhere_are_no_optimizer() -> None:
    """Only the framework's mark tells which kernels update parameters."""
    assert find(looped_optimizer, steps(4, 400, lambda trace: update(trace, name="loss"))) is None

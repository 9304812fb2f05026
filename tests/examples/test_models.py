"""The examples' models run, on whatever torch there is; none is needed otherwise."""

from __future__ import annotations

import pytest

from tests.examples.scripts import BENCHMARKS, EXAMPLES, load

torch = pytest.importorskip("torch")


def test_the_decoders_step_scores_each_word() -> None:
    """A step gives finite scores, and the same ones for the same token."""
    example = load(EXAMPLES, "launch_bound")
    step = example.Decoder(torch, "cpu").step
    scores = step(torch.zeros(1, dtype=torch.long))
    assert tuple(scores.shape) == (1, example.WORDS)
    assert bool(torch.isfinite(scores).all())
    assert torch.equal(scores, step(torch.zeros(1, dtype=torch.long)))


@pytest.mark.parametrize(
    ("name", "small"),
    [
        ("launch_bound_inference", {"steps": 4}),
        ("starved_loader", {"steps": 2}),
        ("slow_optimizer", {"steps": 4}),
        ("pageable_copies", {"steps": 2, "rows": 2}),
    ],
)
def test_the_planted_programs_mark_each_step_and_an_output(
    name: str, small: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trial finds as many steps as were made, and one output to compare."""
    script = load(BENCHMARKS / "trials", name)
    steps: list[int] = []
    outputs: dict[str, object] = {}
    monkeypatch.setattr(script.tailwave, "step", lambda: steps.append(1))
    monkeypatch.setattr(script.tailwave, "output", outputs.__setitem__)
    script.main(device="cpu", **small)
    assert len(steps) == small["steps"]
    assert len(outputs) == 1

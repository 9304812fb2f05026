"""The wave's tail, with a kernel that only notes how it is launched."""

from __future__ import annotations

from tests.examples.scripts import EXAMPLES, load

example = load(EXAMPLES, "wave_tail")


def test_the_grid_comes_from_the_device() -> None:
    """One block more than run at once, then as many; the work is the same in both."""
    launches: list[tuple[int, int]] = []
    kernel = example.Kernel("A GPU", 7, 14, lambda blocks, turns: launches.append((blocks, turns)))
    shown = example.compare(kernel, rounds=2, runs=3)
    warm = example.showing.WARM_UPS
    expected = [15] * warm + [14] * warm + ([15] * 3 + [14] * 3) * 2
    assert [blocks for blocks, _ in launches] == expected
    assert {turns for _, turns in launches} == {14 * example.TURNS_OF_A_BLOCK}
    assert [row.what for row in shown.rows] == [
        "before: 15 blocks on 7 SMs",
        "after: 14 blocks on 7 SMs",
    ]
    assert [len(row.us) for row in shown.rows] == [6, 6]

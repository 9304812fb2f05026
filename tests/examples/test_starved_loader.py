"""The photographs that the starved loader prepares."""

from __future__ import annotations

import numpy as np
import pytest

from tests.examples.scripts import EXAMPLES, load

example = load(EXAMPLES, "starved_loader")


def test_a_photograph_is_the_same_each_time_it_is_asked_for() -> None:
    """Workers and the plain loader prepare the same; two photographs are not alike."""
    photos, others = example.Photos(4), example.Photos(4)
    assert photos[1].shape == (3, example.CROP, example.CROP)
    assert photos[1].dtype == np.float32
    assert np.array_equal(photos[1], others[1])
    assert not np.array_equal(photos[1], photos[3])


def test_the_photographs_end() -> None:
    """Asking beyond the last is an IndexError, as for a list."""
    photos = example.Photos(4)
    assert len(photos) == 4
    with pytest.raises(IndexError):
        photos[4]

"""The isolation link: SMs of one's own isolate."""

from __future__ import annotations

import pytest

from tailwave.gpu.verdicts import isolation
from tailwave.model import Health
from tests.gpu.verdicts.links import healths, words
from tests.measured import figure

PARTITION = "work beside a tenant with SMs of its own against sharing them, p99"


@pytest.mark.parametrize(
    ("own_us", "expected"),
    [(361.0, Health.OK), (4600.0, Health.OK), (4601.0, Health.CRITICAL)],
)
def test_own_sms_isolate(own_us: float, expected: Health) -> None:
    """Slow runs with SMs of their own take no longer than with shared ones."""
    found = healths(
        isolation,
        figure("interference.shared", 4600.0, "us", quantile="p99"),
        figure("interference.partition", own_us, "us", quantile="p99", sms=32),
    )
    assert found == {PARTITION: expected}


def test_the_median_is_another_figure() -> None:
    """The p50 of a partition is not taken for its p99."""
    found = healths(
        isolation,
        figure("interference.shared", 4600.0, "us", quantile="p99"),
        figure("interference.partition", 361.0, "us", quantile="p50", sms=32),
    )
    assert found == {}


def test_what_it_means() -> None:
    """The meaning is what a tenant costs, what own SMs bring, and who pays."""
    assert words(
        isolation,
        figure("interference.alone", 120.0, "us", quantile="p99"),
        figure("interference.shared", 4600.0, "us", quantile="p99"),
        figure("interference.partition", 361.0, "us", quantile="p99", sms=32),
        figure("interference.tenant_pays", 1.39, "ratio", sms=32),
    ) == (
        "p99 alone 120 us, beside a tenant 4.60 ms, with own SMs 361 us",
        (
            "Small work beside a tenant takes up to 4.60 ms, and 0.361 ms with SMs of its own. "
            "The tenant then takes 1.4 times as long."
        ),
    )

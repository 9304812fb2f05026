"""The JSON of a check keeps to its schema, and is whole."""

from __future__ import annotations

from typing import Any

import pytest

from tailwave.model import Session, Status
from tailwave.reports import to_json
from tailwave.session import load
from tests.documents import checked
from tests.measured import session, without
from tests.places import DATA
from tests.reports.checks import HEALTHY, LOST, NARROW, NO_DEVICE, SIMULATION

SAVED = DATA / "sessions" / "v1.json"


def as_json(whole: Session) -> dict[str, Any]:
    """Return the document, read back and held against its schema."""
    return checked(to_json(whole), "check")


@pytest.mark.parametrize(
    "whole",
    [HEALTHY, NARROW, LOST, NO_DEVICE, SIMULATION, load(SAVED)],
    ids=["healthy", "narrow", "lost", "no-device", "simulation", "saved"],
)
def test_every_document_keeps_to_the_schema(whole: Session) -> None:
    """Whatever happened, the document is of the published form."""
    assert as_json(whole)["health"] == whole.health.value


def test_what_a_document_says() -> None:
    """The answer, the health of the whole, each verdict with its criteria, each figure."""
    document = as_json(NARROW)
    assert document["summary"].startswith("This GPU does not quite schedule as any GPU should")
    assert document["health"] == "warning"
    assert document["verdicts"][1]["criteria"][0] == {
        "what": "the link's width under load, of what both ends could do",
        "basis": "any-gpu",
        "health": "warning",
        "value": 8.0,
        "unit": "lanes",
        "least": 16.0,
        "most": None,
        "reason": None,
    }
    assert document["figures"][0]["samples"] == 3


def test_what_is_not_known_is_null() -> None:
    """A figure that could not be taken is null with a reason, never 0."""
    denied = without("copy.small", Status.DENIED, "Not in this container.")
    (figure,) = as_json(session(denied))["figures"]
    assert (figure["value"], figure["low"], figure["clock_mhz"]) == (None, None, None)
    assert (figure["status"], figure["reason"]) == ("denied", "Not in this container.")


def test_simulated_figures_say_so() -> None:
    """The document and each of its figures say whether they are simulated."""
    document = as_json(load(SAVED))
    assert document["simulated"] is True
    assert {figure["simulated"] for figure in document["figures"]} == {True}

"""The JSON of predictions says what its schema promises."""

from __future__ import annotations

import json
import math
import re
from importlib import resources
from typing import Any

import jsonschema
import msgspec
import pytest

from tailwave import __version__
from tailwave.model import DeviceInfo, Predictions, Source
from tailwave.recordings.replay.whatif import WHATIFS, host_speed_is, sm_count_is
from tailwave.reports.predictions_json import predictions_to_json
from tests.reports.predictions import EACH_ALONE, ONE

SAMPLES = {"each alone": EACH_ALONE, "one": ONE}


@pytest.fixture(name="schema", scope="module")
def load_schema() -> dict[str, Any]:
    """Read the schema as the package ships it."""
    file = resources.files("tailwave.reports").joinpath("predictions.schema.json")
    schema: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return schema


def _parsed(predictions: Predictions) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(predictions_to_json(predictions))
    return document


def test_the_schema_is_valid(schema: dict[str, Any]) -> None:
    """The schema file is itself a JSON Schema, draft 2020-12."""
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_report_fits_the_schema(schema: dict[str, Any], name: str) -> None:
    """Whatever was asked, the JSON is what the schema describes."""
    jsonschema.Draft202012Validator(schema).validate(_parsed(SAMPLES[name]))


def test_the_schema_lists_the_whatifs(schema: dict[str, Any]) -> None:
    """The schema knows exactly the names of the what-ifs."""
    known, *_ = schema["$defs"]["name"]["anyOf"]
    assert known["enum"] == [whatif.name for whatif in WHATIFS]


def test_the_schema_knows_the_parametrised_whatifs(schema: dict[str, Any]) -> None:
    """SM counts and host speeds fit their patterns, however they are written."""
    _, sms, speed = schema["$defs"]["name"]["anyOf"]
    assert all(re.search(sms["pattern"], sm_count_is(n).name) for n in (1, 64, 1_000_000))
    speeds = (0.001, 1.5, 2.0, 1e9, math.inf)
    assert all(re.search(speed["pattern"], host_speed_is(times).name) for times in speeds)


def test_every_figure_is_there() -> None:
    """Times are microseconds a step, rounded to the nanosecond."""
    document = _parsed(EACH_ALONE)
    assert document["schema"] == 1
    assert document["tool"] == {"name": "tailwave", "version": __version__}
    assert document["device"] == {"name": "NVIDIA H200", "sm_count": 132}
    assert document["steps"] == {
        "count": 3,
        "by": "ProfilerStep",
        "median_us": 7561.0,
        "gpu_busy_us": 405.3,
    }
    assert document["step_us_now"] == 3640.0
    assert document["step_us_range"] == [2190.0, 6040.0]
    assert document["combined"] == {
        "names": ["no-sync", "cuda-graph"],
        "question": "what no-sync asks; what cuda-graph asks",
        "step_us_now": 3640.0,
        "step_us_after": 455.0,
        "recoverable_us": 3185.0,
        "notes": [],
    }
    assert document["notes"] == list(EACH_ALONE.notes)


def test_what_costs_time_is_negative() -> None:
    """A change that makes the step longer recovers less than nothing."""
    assert _parsed(EACH_ALONE)["what_ifs"][-1]["recoverable_us"] == -364.0


@pytest.mark.parametrize(
    ("device", "expected"),
    [(None, None), (DeviceInfo(index=0), {"name": None, "sm_count": None})],
)
def test_an_unknown_device_is_null(
    device: DeviceInfo | None, expected: dict[str, None] | None
) -> None:
    """What the recording does not say of its GPU is null, never 0 or empty."""
    predictions = msgspec.structs.replace(EACH_ALONE, device=device)
    assert _parsed(predictions)["device"] == expected


def test_a_path_that_is_no_text_is_still_json() -> None:
    """File names are bytes; what is no UTF-8 in them is written as question marks."""
    source = Source(path="step\udcff.json", kind="kineto", events=1, ranks=(0,))
    predictions = msgspec.structs.replace(ONE, source=source)
    assert _parsed(predictions)["source"]["path"] == "step?.json"

"""The JSON report says what its schema promises."""

from __future__ import annotations

import json
import math
from importlib import resources
from typing import Any

import jsonschema
import msgspec
import pytest

from tailwave import __version__
from tailwave.model import DeviceInfo, Diagnosis, Evidence, Severity
from tailwave.recordings.causes import RULES
from tailwave.reports.json_report import to_json
from tests.reports.samples import (
    HEALTHY_STEP,
    LAUNCH_BOUND,
    LAUNCH_BOUND_STEP,
    NO_STEPS,
    SOURCE,
)

SAMPLES = {
    "launch-bound": LAUNCH_BOUND_STEP,
    "healthy": HEALTHY_STEP,
    "no-steps": NO_STEPS,
}


@pytest.fixture(name="schema", scope="module")
def load_schema() -> dict[str, Any]:
    """Read the schema as the package ships it."""
    text = resources.files("tailwave.reports").joinpath("diagnosis.schema.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def _parsed(diagnosis: Diagnosis) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(to_json(diagnosis))
    return document


def test_the_schema_is_valid(schema: dict[str, Any]) -> None:
    """The schema file is itself a JSON Schema, draft 2020-12."""
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_report_fits_the_schema(schema: dict[str, Any], name: str) -> None:
    """Whatever the diagnosis, its JSON is what the schema describes."""
    jsonschema.Draft202012Validator(schema).validate(_parsed(SAMPLES[name]))


def test_the_schema_lists_the_severities(schema: dict[str, Any]) -> None:
    """The schema knows exactly the severities that the model has."""
    severities = schema["$defs"]["finding"]["properties"]["severity"]["enum"]
    assert severities == [severity.value for severity in Severity]


def test_the_schema_lists_the_codes(schema: dict[str, Any]) -> None:
    """Every rule's code is one that the schema knows."""
    codes = {rule.CODE for rule in RULES}
    assert codes - set(schema["$defs"]["finding"]["properties"]["code"]["enum"]) == set()


def test_an_unknown_field_breaks_the_schema(schema: dict[str, Any]) -> None:
    """A field that the schema does not name is refused at every level."""
    document = _parsed(LAUNCH_BOUND_STEP)
    document["findings"][0]["evidence"][0]["colour"] = "red"
    assert not jsonschema.Draft202012Validator(schema).is_valid(document)


def test_the_document_of_a_finding() -> None:
    """A finding is written field by field, its times in microseconds."""
    assert _parsed(LAUNCH_BOUND_STEP)["findings"][0] == {
        "code": "launch-bound",
        "severity": "critical",
        "title": LAUNCH_BOUND.title,
        "claim": LAUNCH_BOUND.claim,
        "step_us_now": 7561.0,
        "step_us_after": 471.0,
        "recoverable_us": 7090.0,
        "evidence": [
            {"what": "GPU busy", "value": 0.054, "unit": "ratio"},
            {"what": "launches in the step", "value": 1312.0, "unit": "count"},
            {"what": "host time per launch", "value": 5.6, "unit": "us"},
            {
                "what": "the host never waits for the GPU between the first and the last launch",
                "value": None,
                "unit": "",
            },
        ],
        "cures": ["cuda-graph", "compile"],
    }


def test_the_document_around_the_findings() -> None:
    """The document names its format, the tool, the input, the device, the steps and the shares."""
    document = _parsed(HEALTHY_STEP)
    assert document == {
        "schema": 1,
        "tool": {"name": "tailwave", "version": __version__},
        "source": {"path": "decode.json.gz", "kind": "kineto", "events": 4605, "ranks": [0]},
        "device": {"name": "NVIDIA H200", "sm_count": 132},
        "steps": {"count": 3, "by": "kernel period", "median_us": 472.4, "gpu_busy_us": 468.0},
        "division": [
            {"what": "kernels", "label": "kernels at work", "us": 459.0},
            {"what": "gpu-latency", "label": "switching from kernel to kernel", "us": 13.4},
        ],
        "findings": [],
        "kernels": [],
        "withheld": [],
        "notes": [],
    }


def test_what_is_unknown_is_null() -> None:
    """An unknown device, and a known device's unknown fields, are null and not 0."""
    nameless = msgspec.structs.replace(NO_STEPS, device=DeviceInfo(index=0))
    assert _parsed(NO_STEPS)["device"] is None
    assert _parsed(NO_STEPS)["steps"] is None
    assert _parsed(nameless)["device"] == {"name": None, "sm_count": None}


def test_a_figure_that_is_no_number_is_null() -> None:
    """Evidence that could not be worked out is null: NaN is no JSON."""
    unknown = msgspec.structs.replace(LAUNCH_BOUND, evidence=(Evidence("ratio", math.nan),))
    diagnosis = msgspec.structs.replace(LAUNCH_BOUND_STEP, findings=(unknown,))
    assert _parsed(diagnosis)["findings"][0]["evidence"][0]["value"] is None


def test_a_time_that_is_no_number_is_refused() -> None:
    """A finding without its times is a bug of its rule, and does not pass as a result."""
    broken = msgspec.structs.replace(LAUNCH_BOUND, step_us_after=math.nan)
    diagnosis = msgspec.structs.replace(LAUNCH_BOUND_STEP, findings=(broken,))
    with pytest.raises(ValueError, match="a time of a diagnosis is nan"):
        to_json(diagnosis)


def test_a_file_name_that_is_no_text() -> None:
    """A path with bytes that are no UTF-8 still gives a valid document."""
    source = msgspec.structs.replace(SOURCE, path="caf\udce9.json")
    diagnosis = msgspec.structs.replace(HEALTHY_STEP, source=source)
    assert _parsed(diagnosis)["source"]["path"] == "caf?.json"

"""JSON documents of diagnoses and predictions say what their schemas promise."""

from __future__ import annotations

import math
from typing import Any

import pytest
from msgspec.structs import replace

from tailwave import __version__
from tailwave.model import DeviceInfo, Diagnosis, Evidence, Predictions
from tailwave.reports import to_json
from tests.documents import checked
from tests.reports.predictions import EACH_ALONE, ONE
from tests.reports.samples import (
    HEALTHY_STEP,
    LAUNCH_BOUND,
    LAUNCH_BOUND_STEP,
    NO_STEPS,
    QUEUED,
    SOURCE,
)


def diagnosed(diagnosis: Diagnosis) -> dict[str, Any]:
    """Return the document of a diagnosis."""
    return checked(to_json(diagnosis), "diagnosis")


def predicted(predictions: Predictions) -> dict[str, Any]:
    """Return the document of predictions."""
    return checked(to_json(predictions), "predictions")


def test_the_document_of_a_finding() -> None:
    """A finding is written field by field, its times in microseconds."""
    assert diagnosed(LAUNCH_BOUND_STEP)["findings"][0] == {
        "code": "launch-bound",
        "severity": "critical",
        "title": LAUNCH_BOUND.title,
        "claim": LAUNCH_BOUND.claim,
        "step_us_now": 7561.0,
        "step_us_after": 471.0,
        "recoverable_us": 7090.0,
        "share": 0.9377,
        "evidence": [
            {"what": "GPU busy", "value": 0.0536, "unit": "ratio"},
            {"what": "launches in the step", "value": 1312.0, "unit": "count"},
            {"what": "host time per launch", "value": 5.6, "unit": "us"},
            {
                "what": "the host never waits for the GPU between the first and the last launch",
                "value": None,
                "unit": "",
            },
        ],
        "cures": ["cuda-graph", "compile"],
        "condition": None,
    }


def test_a_finding_without_a_gain() -> None:
    """What cannot be computed is null, and the part that the cause takes is still there."""
    (found,) = diagnosed(replace(LAUNCH_BOUND_STEP, findings=(QUEUED,)))["findings"]
    assert (found["step_us_after"], found["recoverable_us"], found["share"]) == (None, None, 0.2)


def test_the_costliest_kernels() -> None:
    """Each with its class, its launches a step, its time and its part of the GPU's."""
    assert diagnosed(LAUNCH_BOUND_STEP)["costliest"] == [
        {"name": "gemv", "kind": "matrix product", "calls": 656.0, "us": 310.2, "share": 0.765}
    ]


def test_the_document_around_the_findings() -> None:
    """The document names its format, the tool, the input, the device, the steps and the shares."""
    document = diagnosed(HEALTHY_STEP)
    device = document.pop("device")
    assert (device["name"], device["sm_count"]) == ("NVIDIA H200", 132)
    assert document == {
        "schema": 3,
        "tool": {"name": "tailwave", "version": __version__},
        "source": {"path": "decode.json.gz", "kind": "kineto", "events": 4605, "ranks": [0]},
        "steps": {
            "count": 3,
            "by": "kernel period",
            "mean_us": 472.4,
            "median_us": 472.3,
            "p90_us": 472.8,
            "p99_us": 472.9,
            "max_us": 472.9,
            "gpu_busy_us": 468.0,
            "replayed": 3,
        },
        "now": {
            "us": 472.4,
            "low_us": 472.4,
            "high_us": 472.4,
            "by": "recorded",
            "recorded_us": 472.4,
        },
        "costliest": [],
        "division": [
            {"what": "kernels", "label": "kernels at work", "us": 459.0},
            {"what": "gpu-latency", "label": "switching from kernel to kernel", "us": 13.4},
        ],
        "findings": [],
        "kernels": [],
        "withheld": [],
        "notes": [],
        "next": None,
    }


def test_the_document_of_predictions() -> None:
    """Each alone, the best combination, and what they count from, in microseconds a step."""
    document = predicted(EACH_ALONE)
    assert document["schema"] == 3
    assert document["now"] == {
        "us": 3640.0,
        "low_us": 2190.0,
        "high_us": 6040.0,
        "by": "estimated",
        "recorded_us": 7561.0,
    }
    assert document["combined"] == {
        "names": ["no-sync", "cuda-graph"],
        "question": "what no-sync asks; what cuda-graph asks",
        "step_us_now": 3640.0,
        "step_us_after": 455.0,
        "recoverable_us": 3185.0,
        "notes": [],
        "condition": None,
    }
    assert document["what_ifs"][-1]["recoverable_us"] == -364.0  # it costs time


def test_what_is_unknown_is_null() -> None:
    """An unknown device, and a known device's unknown fields, are null and not 0 or empty."""
    nameless = DeviceInfo(index=0)
    assert (diagnosed(NO_STEPS)["device"], diagnosed(NO_STEPS)["steps"]) == (None, None)
    for document in (
        diagnosed(replace(NO_STEPS, device=nameless)),
        predicted(replace(ONE, device=nameless)),
    ):
        assert (document["device"]["name"], document["device"]["sm_count"]) == (None, None)
    assert predicted(ONE)["device"] is None


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_figure_that_is_no_number_is_null(value: float) -> None:
    """Evidence that could not be worked out is null: NaN is no JSON."""
    unknown = replace(LAUNCH_BOUND, evidence=(Evidence("ratio", value),))
    document = diagnosed(replace(LAUNCH_BOUND_STEP, findings=(unknown,)))
    assert document["findings"][0]["evidence"][0]["value"] is None


def test_figures_keep_their_digits_and_lose_the_noise() -> None:
    """A binary fraction is written as the figure that it stands for, however small."""
    evidence = (Evidence("sum", 0.1 + 0.2, "us"), Evidence("loss", 1.25e-8))
    finding = replace(LAUNCH_BOUND, evidence=evidence)
    (found,) = diagnosed(replace(LAUNCH_BOUND_STEP, findings=(finding,)))["findings"]
    assert [one["value"] for one in found["evidence"]] == [0.3, 1.25e-8]


def test_a_file_name_that_is_no_text() -> None:
    """A path with bytes that are no UTF-8 still gives a valid document."""
    source = replace(SOURCE, path="caf\udce9.json")
    assert diagnosed(replace(HEALTHY_STEP, source=source))["source"]["path"] == "caf?.json"
    assert predicted(replace(ONE, source=source))["source"]["path"] == "caf?.json"

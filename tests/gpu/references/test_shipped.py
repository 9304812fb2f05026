"""The references that are shipped, and what they say of the GPUs they were made on."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest
from msgspec.structs import replace

from tailwave.gpu.references.store import file_name, find_reference
from tailwave.gpu.verdicts.judge import judge
from tailwave.model import DeviceFacts, Health, Measurement, Session
from tailwave.session import load
from tests.places import ROOT

RUNS = sorted((ROOT / "benchmarks" / "results" / "check").glob("*.json"))
NAMES = sorted(
    path.name for path in files("tailwave.gpu.references").iterdir() if path.name.endswith(".json")
)
H200 = DeviceFacts(name="NVIDIA H200", backend="cuda", sm_count=132)


@pytest.fixture(autouse=True)
def _no_own_reference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the user's own references out of the tests."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


def healths(session: Session) -> dict[str, Health]:
    """Judge all links of a session by the shipped reference of the H200."""
    reference, words = find_reference(H200)
    assert words.endswith("shipped with tailwave")
    probes = {m.name.partition(".")[0] for m in session.measurements}
    verdicts = judge(session.measurements, reference, probes)
    return {verdict.link: verdict.health for verdict in verdicts}


def times(session: Session, name: str, factor: float) -> Session:
    """Return the session with one figure multiplied."""

    def changed(m: Measurement) -> Measurement:
        if m.name != name or m.value is None or m.low is None or m.high is None:
            return m
        return replace(m, value=m.value * factor, low=m.low * factor, high=m.high * factor)

    return replace(session, measurements=tuple(map(changed, session.measurements)))


def test_a_reference_lies_under_its_models_name() -> None:
    """What is shipped is found by the name of its model."""
    assert NAMES == ["h200.json"]
    reference, _ = find_reference(H200)
    assert reference is not None
    assert file_name(reference.device, simulated=False) == "h200.json"
    assert not reference.simulated


@pytest.mark.parametrize("path", RUNS, ids=[path.stem for path in RUNS])
def test_a_healthy_h200_is_ok(path: Path) -> None:
    """Whatever its host did meanwhile, every link of the H200 that was measured is OK."""
    found = healths(load(path))
    assert len(found) == 7
    assert set(found.values()) == {Health.OK}


@pytest.mark.parametrize(
    ("name", "factor", "link", "expected"),
    [
        ("dispatch.ns_per_cta", 1.1, "dispatch", Health.WARNING),
        ("dispatch.fairness", 0.8, "dispatch", Health.CRITICAL),
        ("launch.graph_node", 1.1, "launch", Health.WARNING),
        ("launch.graph_node", 20.0, "launch", Health.CRITICAL),
        ("issue.barrier", 1.1, "issue", Health.WARNING),
        ("fabric.speedup_chip", 0.9, "fabric", Health.WARNING),
        ("fabric.speedup_chip", 0.1, "fabric", Health.CRITICAL),
        ("l2.bandwidth", 0.9, "l2", Health.WARNING),
        ("copy.link_width", 0.5, "copy", Health.WARNING),
        ("interference.partition", 5.0, "isolation", Health.CRITICAL),
    ],
)
def test_a_fault_is_seen_in_its_link_alone(
    name: str, factor: float, link: str, expected: Health
) -> None:
    """One figure made worse spoils the health of its own link and of no other."""
    found = healths(times(load(RUNS[-1]), name, factor))
    assert {other: health for other, health in found.items() if health != Health.OK} == {
        link: expected
    }

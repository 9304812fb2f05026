"""The description of a chip: its file, and what it says of itself."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import msgspec
import pytest

from tailwave.errors import UnavailableError
from tailwave.gpu.devices import sim
from tailwave.gpu.devices.base import Feature, Launch, NotSupportedError
from tailwave.gpu.devices.sim import chip as chips
from tests.gpu.devices.sim.rig import CHIP, Rig, quiet

FILE = Path(chips.__file__).with_name("h200.toml")


def test_an_unknown_chip_is_unavailable() -> None:
    """A name without a file says which there are."""
    with pytest.raises(UnavailableError, match="there are: h200"):
        sim.open("b9000")


def test_a_missing_parameter_is_an_error() -> None:
    """No parameter has a value that the file does not give."""
    table = tomllib.loads(FILE.read_text("utf-8"))
    del table["clock"]["mhz"]
    with pytest.raises(msgspec.ValidationError, match="mhz"):
        msgspec.convert(table, chips.Chip)


def test_every_parameter_says_where_it_comes_from() -> None:
    """Each line with a figure has a comment; the GPCs' stands above them all."""
    lines = FILE.read_text("utf-8").splitlines()
    figures = [line for line in lines if re.match(r"\w+ = [\d\[]", line)]
    bare = {line.split(" = ")[0] for line in figures if "#" not in line}
    assert bare == {"side", "site", "cpcs"}


def test_the_facts_are_marked_as_simulated() -> None:
    """Nobody can take it for a GPU."""
    facts = sim.open("h200").facts
    assert facts.simulated is True
    assert facts.backend == "sim"
    assert "simulated" in facts.name
    assert facts.sm_count == 132


def test_the_h200_has_every_feature() -> None:
    """Nothing is missing, and so there is no reason to give."""
    device = sim.open("h200")
    assert device.features == frozenset(Feature)
    assert {device.why_not(feature) for feature in Feature} == {""}


def test_a_chip_may_lack_features() -> None:
    """What the file says is lacking is refused with the file's reason."""
    reason = "This chip has no clusters."
    rig = Rig(msgspec.structs.replace(CHIP, lacks={"clusters": reason}))
    assert Feature.CLUSTERS not in rig.device.features
    assert rig.device.why_not(Feature.CLUSTERS) == reason
    with pytest.raises(NotSupportedError, match=reason):
        rig.run("empty", 4, 32, cluster=2)


def test_a_larger_chip_is_a_matter_of_its_description() -> None:
    """Twice the GPCs, on TPC numbers of their own, make a chip with twice the SMs."""
    table = CHIP.topology
    shift = sum(len(tpcs) for gpc in table.gpcs for tpcs in gpc.cpcs)
    copies = tuple(
        msgspec.structs.replace(
            gpc, cpcs=tuple(tuple(tpc + shift for tpc in tpcs) for tpcs in gpc.cpcs)
        )
        for gpc in table.gpcs
    )
    topology = msgspec.structs.replace(table, gpcs=table.gpcs + copies)
    rig = Rig(msgspec.structs.replace(quiet(), topology=topology))
    assert rig.device.facts.sm_count == 264
    assert len(set(rig.rows("stamp", 264, 1000)[:, 0].tolist())) == 264


@pytest.mark.parametrize(
    "launch",
    [
        Launch("nonsense", 1, 32),
        Launch("empty", 0, 32),
        Launch("empty", 1, 2048),
        Launch("empty", 1, 32, shared=1 << 20),
        Launch("empty", 32, 32, cluster=32),
        Launch("empty", 17, 32, cluster=16),
    ],
)
def test_what_no_such_chip_can_run_is_refused(launch: Launch) -> None:
    """Launch and graph refuse alike, with a sentence."""
    rig = Rig()
    with pytest.raises(NotSupportedError, match=r"\.$"):
        rig.device.launch(rig.stream, launch)
    with pytest.raises(NotSupportedError, match=r"\.$"):
        rig.device.graph([launch])

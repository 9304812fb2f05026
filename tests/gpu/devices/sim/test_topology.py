"""The map of the H200: SMs, TPCs, CPCs and GPCs."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from tailwave.gpu.devices.sim.topology import build
from tests.gpu.devices.sim.rig import CHIP

TOPOLOGY = build(CHIP.topology)


def test_the_parts_add_up() -> None:
    """132 SMs in 66 TPCs in 8 GPCs of 16 or 18 SMs."""
    assert TOPOLOGY.sm_count == 132
    assert np.bincount(TOPOLOGY.tpc).tolist() == [2] * 66
    assert np.bincount(TOPOLOGY.gpc).tolist() == [16, 16, 16, 16, 16, 16, 18, 18]


def test_sms_2k_and_2k_plus_1_share_a_tpc() -> None:
    """TPC k holds SMs 2k and 2k + 1."""
    assert TOPOLOGY.tpc.tolist() == [sm // 2 for sm in range(132)]


def test_each_sm_is_in_one_domain() -> None:
    """Clusters join seven groups of 16 SMs, one of 8, and six leftover TPCs by themselves."""
    assert sorted(np.concatenate(TOPOLOGY.domains).tolist()) == list(range(132))
    assert sorted(len(domain) for domain in TOPOLOGY.domains) == [2] * 6 + [8] + [16] * 7


def test_a_domain_lies_in_one_gpc() -> None:
    """No cluster spans GPCs."""
    assert {len(set(TOPOLOGY.gpc[domain].tolist())) for domain in TOPOLOGY.domains} == {1}


def test_the_first_wave_visits_each_sm_once() -> None:
    """Some TPCs first, as on an H200; then GPC after GPC, both SMs of a TPC together."""
    assert sorted(TOPOLOGY.order.tolist()) == list(range(132))
    assert TOPOLOGY.order[:8].tolist() == list(range(124, 132))
    later = TOPOLOGY.order[8:]
    assert list(dict.fromkeys(TOPOLOGY.gpc[later].tolist())) == [3, 4, 5, 6, 7, 0, 1, 2]
    assert (TOPOLOGY.tpc[later[0::2]] == TOPOLOGY.tpc[later[1::2]]).all()


def test_tpcs_are_numbered_without_a_gap() -> None:
    """A TPC that no GPC holds is an error in the description."""
    gpcs = CHIP.topology.gpcs[1:]
    with pytest.raises(ValueError, match="without a gap"):
        build(msgspec.structs.replace(CHIP.topology, gpcs=gpcs))

"""How the host waits is three bits of the context's flags, and no other."""

from __future__ import annotations

import pytest

import tailwave
from tailwave.errors import UsageError
from tests.cures.library.fakes import Cuda


@pytest.mark.parametrize(("policy", "bit"), [("spin", 1), ("yield", 2), ("block", 4)])
def test_a_policy_is_a_bit(cuda: Cuda, policy: str, bit: int) -> None:
    """The other flags stay; afterwards the policy is the one from before; no context is made."""
    cuda.flags = 0x18 | 2
    with tailwave.host_wait(policy) as wait:
        assert (cuda.flags, wait.policy) == (0x18 | bit, policy)
    assert (cuda.flags, cuda.current) == (0x18 | 2, None)


def test_what_others_set_meanwhile_stays(cuda: Cuda) -> None:
    """Only the policy is set back."""
    wait = tailwave.host_wait("block")
    cuda.flags |= 0x80
    wait.close()
    assert cuda.flags == 0x98
    cuda.flags = 0x9A
    wait.close()
    assert cuda.flags == 0x9A


def test_it_nests_and_is_undone_on_an_exception(cuda: Cuda) -> None:
    """Each gives back what it found."""
    with tailwave.host_wait("spin"):
        with pytest.raises(ValueError, match="mine"), tailwave.host_wait("block"):
            raise ValueError("mine")
        assert cuda.flags == 0x19
    assert cuda.flags == 0x18


def test_another_word_is_refused(cuda: Cuda) -> None:
    """The sentence says which there are; nothing changed."""
    with pytest.raises(UsageError, match="'spin', 'yield' or 'block', not 'sleep'"):
        tailwave.host_wait("sleep")
    assert cuda.flags == 0x18

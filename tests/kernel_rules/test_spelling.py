"""One spelling of a kernel's name."""

from __future__ import annotations

import pytest

from tailwave.kernel_rules.spelling import instance, plain

SAME = [
    ("k<(int)4>(T1 *)", "void k<4>(float*)"),
    ("k<(bool)1, (bool)0>(T1)", "k<true, false>(int)"),
    ("k<(unsigned long)3, (long)-2>()", "k<3ul, -2l>()"),
    ("<unnamed>::k<<unnamed>::F>(int)", "(anonymous namespace)::k<(anonymous namespace)::F>(int)"),
    ("k<std::array<char *, (int)2>>(T1)", "k<std::array<char*, 2> >(std::array<char*, 2>)"),
    ("k<f(at::A &)::[lambda(float) (instance 1)]>()", "k<f(at::A&)::{lambda(float)#1}>()"),
    ("k<[lambda() (instance 3)]::operator ()() const>()", "k<{lambda()#3}::operator()() const>()"),
    ("k<const float *>(T1)", "k<float const*>(float const*)"),
    ("k<(ns::Kind)2>()", "k<(ns::Kind)2>()"),
]
OTHER = [
    ("k<(int)4>()", "k<8>()"),
    ("k<(bool)1>()", "k<false>()"),
    ("k<[lambda(float) (instance 1)]>()", "k<{lambda(int)#1}>()"),
    ("k<[lambda(float) (instance 1)]>()", "k<{lambda(float)#2}>()"),
    ("k<float>()", "k<double>()"),
    ("a::k()", "b::k()"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_spellings_of_one_instance_are_one(one: str, other: str) -> None:
    """Casts, literals, lambdas, unnamed namespaces and parameters, as two demanglers have them."""
    assert instance(one) == instance(other)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_instances_stay_apart(one: str, other: str) -> None:
    """What tells two kernels of a template apart is kept."""
    assert instance(one) != instance(other)


def test_a_plain_name_keeps_its_parameters() -> None:
    """Only spaces and the return type go."""
    assert plain("void k<float> (float *, int)") == "k<float>(float*,int)"

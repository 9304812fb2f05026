"""Finding the profile of a recording's kernel."""

from __future__ import annotations

import pytest

from tailwave.model import KernelDiagnosis, Shape
from tailwave.profiles.join.matching import Index, Match, instance, plain


def profiled(
    name: str, grid: Shape = (8, 1, 1), *, names: tuple[str, ...] = (), launches: int = 1
) -> KernelDiagnosis:
    """Make a profiled kernel of 64 threads a CTA."""
    return KernelDiagnosis(
        name=name,
        names=names,
        launches=launches,
        grid=grid,
        block=(64, 1, 1),
        device=None,
        duration_us=1.0,
        bound="nothing",
    )


@pytest.mark.parametrize("name", ["k(float *)", "k(float*)", "void k(float *)", "_Z1kPf"])
def test_any_spelling_of_the_whole_name_matches(name: str) -> None:
    """Spaces, a return type, or one of the report's other names."""
    index = Index([profiled("k(float *)", names=("k(float *)", "_Z1kPf"))])
    assert index.find(name, 8, 64) == Match(0, "by name, grid and block", same_shape=True)


def test_of_several_grids_the_same_one_is_taken() -> None:
    """Name, grid and block together."""
    index = Index([profiled("k()", (8, 1, 1)), profiled("k()", (4, 4, 1))])
    assert index.find("k()", 16, 64) == Match(1, "by name, grid and block", same_shape=True)


def test_another_grid_takes_the_nearest_and_says_so() -> None:
    """100 is nearer to 132 than to 8."""
    index = Index([profiled("k()", (8, 1, 1)), profiled("k()", (132, 1, 1))])
    how = "by name alone: the counters are of a grid of 132"
    assert index.find("k()", 100, 64) == Match(1, how, same_shape=False)


def test_alike_profiles_are_said_to_be_several() -> None:
    """Of the same name and shape (another number of registers), the one launched most."""
    index = Index([profiled("k()"), profiled("k()", launches=3)])
    match = index.find("k()", 8, 64)
    assert isinstance(match, Match)
    assert match.profile == 1
    assert "of 2 such profiles" in match.how


def test_a_base_name_matches_with_its_shape_only() -> None:
    """Another instance of the template may be another kernel altogether."""
    index = Index([profiled("void k<float>(float *)")])
    assert index.find("k", 8, 64) == Match(0, "by its base name, grid and block", same_shape=True)
    assert index.find("k", 9, 64) == "a profile of the same base name has another grid or block"


def test_an_ambiguous_base_name_is_refused() -> None:
    """Two instances of one shape: nobody knows which."""
    index = Index([profiled("void k<float>()"), profiled("void k<int>()")])
    assert index.find("k", 8, 64) == "2 profiles have its base name, grid and block"


def test_a_kernel_that_was_not_profiled_has_no_profile() -> None:
    """Nothing of its name."""
    assert Index([profiled("k()")]).find("other()", 8, 64) == ""


def test_demanglers_spell_template_arguments_differently() -> None:
    """NVIDIA's writes casts and T2 where the profiler of PyTorch writes literals and types."""
    theirs = (
        "void at::native::vectorized_elementwise_kernel<(int)4, at::native::CUDAFunctor_add<float>,"
        " std::array<char *, (unsigned long)3>>(int, T2, T3)"
    )
    other = theirs.replace("CUDAFunctor_add<float>", "FillFunctor<float>")
    ours = (
        "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
        "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)"
    )
    index = Index([profiled(other), profiled(theirs)])
    assert index.find(ours, 8, 64) == Match(1, "by name, grid and block", same_shape=True)


def test_a_name_without_its_arguments_is_no_whole_name_of_a_template() -> None:
    """A report has "k" as another name of k<float> and of k<int>: a recording's "k" is neither."""
    index = Index(
        [profiled("void k<float>(T1)", names=("k",)), profiled("void k<int>(T1)", names=("k",))]
    )
    assert index.find("k", 8, 64) == "2 profiles have its base name, grid and block"


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


def test_another_instance_of_a_template_is_another_kernel() -> None:
    """Of the same shape, and the only profile of its base name: its counters say nothing of it."""
    index = Index([profiled("void fill<float>(T1 *)")])
    assert index.find("void fill<int>(int*)", 8, 64) == ""
    assert index.find("fill", 8, 64) == Match(
        0, "by its base name, grid and block", same_shape=True
    )

"""The parts of a capture that need no GPU: trees, state, fresh inputs, agreement, wording."""

from __future__ import annotations

import functools
import types
from collections import OrderedDict, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest

from tailwave.cures.library.capture.compare import (
    Agreement,
    changed_arguments,
    compare,
    fresh,
    fresh_leaves,
    tolerance,
)
from tailwave.cures.library.capture.refusals import line_of, refusal
from tailwave.cures.library.capture.survey import survey
from tailwave.cures.library.capture.tree import flatten, rebuild, token
from tailwave.errors import GraphRefusedError

if TYPE_CHECKING:
    from tailwave.cures.library.capture.captor import Values


class Pair(NamedTuple):
    """A named tuple."""

    left: object
    right: object


@dataclass
class Record:
    """A dataclass."""

    value: object


class Output(OrderedDict[str, object]):
    """A mapping made by keywords, as model zoos return."""

    def __init__(self, **entries: object) -> None:
        """Take the entries."""
        super().__init__(**entries)


TREES = [
    (1, [2, {"a": 3, "b": (4,)}], None),
    Pair(1, [2]),
    Record({"x": 1}),
    Output(a=1, b=[2]),
    OrderedDict(z=1, a=2),
    defaultdict(int, {"k": 1}),
    {},
    (),
    [],
    5,
]


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_a_tree_comes_back_as_it_was(tree: object) -> None:
    """Taken apart and put together, a tree is equal and of the same types."""
    leaves, form = flatten(tree)
    again = rebuild(form, leaves)
    assert again == tree
    assert type(again) is type(tree)


def test_forms_differ_by_nesting_alone() -> None:
    """Other leaves have the same form; another key, length or type has another."""
    forms = [flatten(tree)[1] for tree in ({"a": 1}, {"a": 2}, {"b": 1}, [1], (1,), [1, 1])]
    assert forms[0] == forms[1]
    assert len(set(forms)) == 5


def test_tokens_tell_values_and_objects_apart() -> None:
    """Plain values count by type and value, other things by identity; NaN is itself."""
    assert len(set(map(token, [1, 1.0, True, "1", None]))) == 5
    assert token(float("nan")) == token(float("nan"))
    assert token(0.0) != token(-0.0)
    one, other = [object(), object()]
    assert token(one) == token(one) != token(other)


class Array:
    """What the survey is told to look for."""


def is_array(item: object) -> bool:
    """Tell the arrays."""
    return isinstance(item, Array)


in_globals = Array()
never_named = Array()


class Owner:
    """An object with state in attributes, lists and dicts."""

    def __init__(self) -> None:
        """Make the state."""
        self.direct = Array()
        self.deep = {"list": [Array()], "more": types.SimpleNamespace(inner=Array())}
        self.count = 0

    def method(self) -> object:
        """Name a global."""
        return in_globals


def test_state_is_found_where_a_function_can_reach_it() -> None:
    """Attributes, containers, closures, defaults, partials and named globals; nothing else."""
    owner, closed, default, bound = Owner(), Array(), Array(), Array()

    def function(x: object, y: object = default) -> object:
        return x, y, closed

    roots: dict[str, object] = {
        "owner.method": owner.method,
        "function": functools.partial(function, bound),
    }
    found = set(map(id, survey(roots, is_array).arrays.values()))
    deep = owner.deep["more"]
    assert isinstance(deep, types.SimpleNamespace)
    inside = [owner.direct, owner.deep["list"][0], deep.inner]  # type: ignore[index]
    assert found == set(map(id, [*inside, closed, default, bound, in_globals]))


def test_labels_say_where_state_is() -> None:
    """A label reads as the program would write it."""
    labels = survey({"owner.method": Owner().method}, is_array).arrays.keys()
    assert set(labels) >= {"owner.direct", "owner.deep['list'][0]", "owner.deep['more'].inner"}


def test_bindings_are_put_back() -> None:
    """Counts, rebound arrays, grown containers and closures' variables come back."""
    owner, count = Owner(), 0

    def function() -> None:
        nonlocal count
        count += 1
        owner.count += 1
        owner.direct = Array()
        owner.deep["list"].append(Array())  # type: ignore[attr-defined]
        owner.deep["new"] = Array()

    before = owner.direct
    kept = [(holder, holder.read()) for holder in survey({"f": function}, is_array).holders]
    function()
    for holder, bindings in kept:
        holder.write(bindings)
    assert (count, owner.count, owner.direct, list(owner.deep)) == (0, 0, before, ["list", "more"])
    assert len(owner.deep["list"]) == 1  # type: ignore[arg-type]


def test_a_circle_ends() -> None:
    """Objects that hold each other are looked at once."""
    owner = Owner()
    owner.deep["self"] = owner
    assert len(survey({"owner": owner}, is_array).arrays) == 3


def test_too_much_to_look_through_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that reaches a whole data set asks for state=."""
    monkeypatch.setattr("tailwave.cures.library.capture.survey._MOST", 10)
    data = [[] for _ in range(20)]  # type: list[list[int]]
    with pytest.raises(GraphRefusedError, match="state="):
        survey({"f": lambda: data}, is_array)


def generator() -> np.random.Generator:
    """Return a generator that draws the same each time."""
    return np.random.default_rng(0)


def test_fresh_reals_are_like_the_given_ones() -> None:
    """New values, of like mean and spread, none outside of the range that was seen."""
    values = np.random.default_rng(1).uniform(0, 1, (50, 40)).astype(np.float32)
    made = fresh(values, generator()).astype(np.float64)
    assert (made != values).mean() > 0.99
    assert made.mean() == pytest.approx(0.5, abs=0.03)
    assert made.std() == pytest.approx(0.27, abs=0.05)
    assert made.min() >= values.min()
    assert made.max() <= values.max()


def test_fresh_whole_numbers_are_the_same_in_another_order() -> None:
    """Each row keeps its own values, so that each is still a valid index."""
    values = np.array([[5, 1, 3, 2, 9, 7], [90, 70, 10, 20, 60, 50]])
    made = fresh(values, generator())
    assert not np.array_equal(made, values)
    assert np.array_equal(np.sort(made), np.sort(values))


@pytest.mark.parametrize("values", [[0, 3, 3, 7], [4], [2, 2, 2]])
def test_offsets_and_positions_stay(values: list[int]) -> None:
    """Whole numbers that never fall keep their order, which is what they mean."""
    assert fresh(np.array(values), generator()).tolist() == values


def test_fresh_masks_keep_their_elements() -> None:
    """Booleans and arrays with infinities are permuted."""
    for values in (np.arange(40) < 15, np.where(np.arange(40) < 15, -np.inf, 0.0)):
        made = fresh(values, generator())
        assert not np.array_equal(made, values)
        assert np.array_equal(np.sort(made), np.sort(values))


def test_fresh_complex_numbers_keep_their_type() -> None:
    """Both parts are new."""
    values = (np.arange(6) + 1j * np.arange(6)[::-1]).astype(np.complex64)
    made = fresh(values, generator())
    assert made.dtype == np.dtype(np.complex64)
    assert made.shape == (6,)
    assert not np.array_equal(made.real, values.real)


def test_a_lone_or_constant_real_stays() -> None:
    """There is no spread to copy."""
    assert fresh(np.array(3.5), generator()).tolist() == 3.5
    assert fresh(np.zeros(4), generator()).tolist() == [0] * 4


class NumpyArrays:
    """Numpy's arrays in the place of a GPU library's."""

    def is_array(self, item: object) -> bool:
        """Tell numpy's."""
        return isinstance(item, np.ndarray)

    def type_name(self, array: Values) -> str:
        """Return the type's name."""
        return str(array.dtype)

    def same_bits(self, one: Values, other: Values) -> bool:
        """Compare bytes."""
        return one.tobytes() == other.tobytes()

    def on_host(self, array: Values) -> Values:
        """Return it."""
        return array

    def copy(self, array: Values) -> Values:
        """Copy it."""
        return array.copy()

    def like(self, array: Values, values: Values) -> Values:
        """Take the values."""
        return values.reshape(array.shape)


def agreed(plain: object, replay: object) -> str:
    """Return how one output agrees."""
    agreement = Agreement()
    compare(NumpyArrays(), agreement, {"output 0": plain}, {"output 0": replay})
    return str(agreement)


def test_equal_bits_agree_bitwise() -> None:
    """NaN in the same place is the same."""
    values = np.array([1.0, np.nan, np.inf], np.float32)
    assert agreed(values, values.copy()) == "bitwise"


def test_a_small_difference_is_told() -> None:
    """A difference within the type's tolerance is told with its size and place."""
    plain = np.array([2.0, -4.0, np.nan], np.float32)
    replay = np.array([2.0, -4.002, np.nan], np.float32)
    assert agreed(plain, replay) == "within 5.0e-04 of the largest value of output 0"


@pytest.mark.parametrize(
    ("plain", "replay"),
    [
        (np.array([2.0], np.float32), np.array([2.01], np.float32)),
        (np.array([2.0]), np.array([2.0000001])),
        (np.array([3]), np.array([4])),
        (np.array([True]), np.array([False])),
        (np.array([0.0]), np.array([1e-12])),
        (np.array([np.nan]), np.array([1.0])),
        (np.array([np.nan, 5.0]), np.array([1.0, 5.0])),
    ],
)
def test_a_larger_difference_is_refused(plain: Values, replay: Values) -> None:
    """Beyond the tolerance of its type, and for whole numbers at all, it is not the same."""
    with pytest.raises(GraphRefusedError, match="output 0 of a replay is off by"):
        agreed(plain, replay)


def test_other_shapes_and_values_are_refused() -> None:
    """A shape or a Python value that differs is named for what it is."""
    with pytest.raises(GraphRefusedError, match="has another shape on other inputs"):
        agreed(np.zeros(3), np.zeros(4))
    with pytest.raises(GraphRefusedError, match=r"a Python value that changes \(1, 2\)"):
        agreed(1, 2)
    with pytest.raises(GraphRefusedError, match="returns something else"):
        compare(NumpyArrays(), Agreement(), {"output 0": 1}, {})


def test_tolerance_goes_by_type() -> None:
    """Narrower types get more; whole numbers none."""
    names = ("int64", "float64", "float32", "float16", "bfloat16", "float8_e4m3fn")
    assert [tolerance(name) for name in names] == [0.0, 1e-9, 1e-3, 8e-3, 3.2e-2, 0.25]


def test_changed_arguments_are_told_by_their_values() -> None:
    """An argument that one of the calls has changed is written back at each replay."""
    given: list[list[object]] = [[np.zeros(2), np.ones(2), 3], [np.zeros(2), np.ones(2), 3]]
    seen: list[dict[str, object]] = [
        {"argument 0": np.zeros(2), "argument 1": np.ones(2)},
        {"argument 0": np.zeros(2), "argument 1": np.zeros(2)},
    ]
    assert changed_arguments(NumpyArrays(), given, seen) == (1,)


def test_fresh_leaves_leave_plain_values() -> None:
    """Only arrays get other values."""
    made = fresh_leaves(NumpyArrays(), [np.array([1.0, 2.0]), "word"], generator())
    assert made[1] == "word"
    assert not np.array_equal(made[0], [1.0, 2.0])  # type: ignore[arg-type]


def failing(message: str) -> RuntimeError:
    """Return an error as raised by a line of this file."""

    def fail(message: str) -> None:
        raise RuntimeError(message)

    try:
        fail(message)
    except RuntimeError as error:
        return error
    raise AssertionError


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("called a synchronizing CUDA operation", "waits for the GPU"),
        (
            (
                "Attempting CUDA graph capture of step() for an instance of Adam but "
                "param_groups' capturable is False."
            ),
            "capturable=True",
        ),
        (
            (
                "CUDA error: operation would make the legacy stream depend on a capturing "
                "blocking stream"
            ),
            "del loss",
        ),
        ("CUDA error: operation not permitted when stream is capturing", "cudaMalloc"),
        (
            "CUDA error: operation failed due to a previous error during capture",
            "what no capture allows",
        ),
        ("CUDA out of memory. Tried to allocate 2 GiB", "free some"),
        ("anything\nelse", r"RuntimeError: anything\)"),
    ],
)
def test_a_failure_is_said_with_its_cure(message: str, words: str) -> None:
    """Each of CUDA's and torch's messages has its sentence, with the line in this file."""
    with pytest.raises(GraphRefusedError, match=words) as caught:
        raise refusal(failing(message))
    if "free some" not in words:
        assert "test_graph_capture.py:" in str(caught.value)


def test_a_refusal_stays_as_it_is() -> None:
    """A sentence that was found is not wrapped in another."""
    error = GraphRefusedError("as found")
    assert refusal(error) is error


def test_a_failures_variables_are_let_go() -> None:
    """What the function held when it failed is not kept alive by its traceback."""
    error = failing("capturable")
    assert error.__traceback__ is not None
    assert error.__traceback__.tb_next is not None
    frame = error.__traceback__.tb_next.tb_frame
    assert frame.f_locals["message"] == "capturable"
    refusal(error)
    assert frame.f_locals == {}


def test_a_line_outside_of_any_file_is_none() -> None:
    """Code that was typed in has no file to name."""
    with pytest.raises(ZeroDivisionError) as caught:
        exec("1 / 0")  # noqa: S102 - code without a file
    assert caught.tb.tb_next is not None
    assert line_of(caught.value.with_traceback(caught.tb.tb_next)) == ""

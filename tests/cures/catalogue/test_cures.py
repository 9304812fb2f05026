"""What holds for every cure: its headings, its name, and that the rules' cures are all known."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path
from types import ModuleType

import pytest

from tailwave.cures.catalogue import CURES
from tailwave.cures.catalogue.base import ANYTHING, Change, Cure, Setting
from tailwave.cures.catalogue.choose import ADVICE
from tailwave.recordings.causes import RULES
from tests.cures.catalogue.cases import PLAIN

_HEADINGS = [
    "What it does:",
    "What it needs:",
    "How its mechanism is seen:",
    "How it is undone:",
    "Lines to keep it:",
]
# A parameter for those that guess none here.
_GIVEN = {"partition": "decoder=32", "sm-carveout": "16", "env": "A=1"}
_ROOM = Setting(environment={"CUDA_LAUNCH_BLOCKING": "1"}, cpus=16, streams=("decoder",))
each_cure = pytest.mark.parametrize("cure", CURES, ids=[one.NAME for one in CURES])


def parameter_of(cure: Cure) -> str:
    """A parameter that the cure can be tried with."""
    return (*cure.parameters(PLAIN), _GIVEN.get(cure.NAME, ""))[0]


@each_cure
def test_a_cure_explains_itself_under_fixed_headings(cure: ModuleType) -> None:
    """Each heading once, in order, with text under it."""
    blocks = inspect.cleandoc(cure.__doc__ or "").split("\n\n")[1:]
    assert [block.splitlines()[0] for block in blocks] == _HEADINGS
    assert all(len(block.splitlines()) > 1 for block in blocks)


@each_cure
def test_a_cure_can_be_tried_where_all_that_it_needs_is_there(cure: Cure) -> None:
    """It changes something, and says how to keep it."""
    parameter = parameter_of(cure)
    assert cure.why_not(parameter, _ROOM) == ""
    assert cure.change(parameter, _ROOM) != Change()
    assert cure.lines(parameter) != ()


@each_cure
def test_what_is_seen_of_a_run_without_a_report_is_never_a_success(cure: Cure) -> None:
    """Silence is not taken for work."""
    assert cure.seen(parameter_of(cure), []).works is not True


@each_cure
def test_an_action_is_one_that_the_hook_knows(cure: Cure) -> None:
    """Under the cure's own name."""
    known = importlib.import_module("tailwave.cures.hook.actions").ACTIONS
    for action in cure.change(parameter_of(cure), PLAIN).actions:
        assert action.name == cure.NAME
        assert action.name in known


def test_names_are_unique() -> None:
    """A name says which cure is meant."""
    assert len({cure.NAME for cure in CURES}) == len(CURES)


def cures_of_rules() -> set[str]:
    """The cures that the rules name: all words of their ``cures`` in the source."""
    found: set[str] = set()
    for rule in RULES:
        for node in ast.walk(ast.parse(Path(str(vars(rule)["__file__"])).read_text("utf-8"))):
            given = isinstance(node, ast.keyword) and node.arg == "cures"
            made = isinstance(node, ast.FunctionDef) and node.name == "_cures"
            if given or made:
                found |= {text for text in words(node) if " " not in text}
    return found


def words(node: ast.AST) -> set[str]:
    """Strings that stand in a tuple."""
    return {
        item.value
        for part in ast.walk(node)
        if isinstance(part, ast.Tuple)
        for item in part.elts
        if isinstance(item, ast.Constant) and isinstance(item.value, str)
    }


def test_each_cure_that_a_rule_names_can_be_tried_or_is_advice() -> None:
    """None is left out, and none is invented."""
    named = cures_of_rules()
    assert {"cuda-graph", "fused-optimizer", "partition", "persistent-kernel"} <= named
    brought = {name for cure in CURES for name in cure.ANSWERS} - {ANYTHING}
    assert named - brought - set(ADVICE) == set()
    assert (brought | set(ADVICE)) - named == set()

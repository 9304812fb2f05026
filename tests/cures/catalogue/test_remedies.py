"""What holds for every remedy: its headings, its name, and that the rules' cures are all known."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path
from types import ModuleType

import pytest

from tailwave.cures.catalogue import REMEDIES
from tailwave.cures.catalogue.base import ANYTHING, Change, Remedy, Setting
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
_GIVEN = {"sm-partition": "decoder=32", "sm-carveout": "16", "env": "A=1"}
_ROOM = Setting(environment={"CUDA_LAUNCH_BLOCKING": "1"}, cpus=16, streams=("decoder",))
each_remedy = pytest.mark.parametrize("remedy", REMEDIES, ids=[one.NAME for one in REMEDIES])


def parameter_of(remedy: Remedy) -> str:
    """A parameter that the remedy can be tried with."""
    return (*remedy.parameters(PLAIN), _GIVEN.get(remedy.NAME, ""))[0]


@each_remedy
def test_a_remedy_explains_itself_under_fixed_headings(remedy: ModuleType) -> None:
    """Each heading once, in order, with text under it."""
    blocks = inspect.cleandoc(remedy.__doc__ or "").split("\n\n")[1:]
    assert [block.splitlines()[0] for block in blocks] == _HEADINGS
    assert all(len(block.splitlines()) > 1 for block in blocks)


@each_remedy
def test_a_remedy_can_be_tried_where_all_that_it_needs_is_there(remedy: Remedy) -> None:
    """It changes something, and says how to keep it."""
    parameter = parameter_of(remedy)
    assert remedy.why_not(parameter, _ROOM) == ""
    assert remedy.change(parameter, _ROOM) != Change()
    assert remedy.lines(parameter) != ()


@each_remedy
def test_what_is_seen_of_a_run_without_a_report_is_never_a_success(remedy: Remedy) -> None:
    """Silence is not taken for work."""
    assert remedy.seen(parameter_of(remedy), []).works is not True


@each_remedy
def test_an_action_is_one_that_the_hook_knows(remedy: Remedy) -> None:
    """Under the remedy's own name."""
    known = importlib.import_module("tailwave.cures.hook.actions").ACTIONS
    for action in remedy.change(parameter_of(remedy), PLAIN).actions:
        assert action.name == remedy.NAME
        assert action.name in known


def test_names_are_unique() -> None:
    """A name says which remedy is meant."""
    assert len({remedy.NAME for remedy in REMEDIES}) == len(REMEDIES)


def cures_of_rules() -> set[str]:
    """The cures that the rules name: all words of their ``remedies`` in the source."""
    found: set[str] = set()
    for rule in RULES:
        for node in ast.walk(ast.parse(Path(str(rule.__file__)).read_text("utf-8"))):
            given = isinstance(node, ast.keyword) and node.arg == "remedies"
            made = isinstance(node, ast.FunctionDef) and node.name == "_remedies"
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


def test_each_cure_that_a_rule_names_has_a_remedy_or_advice() -> None:
    """None is left out, and none is invented."""
    named = cures_of_rules()
    assert {"cuda-graph", "fused-optimizer", "partition", "persistent-kernel"} <= named
    brought = {cure for remedy in REMEDIES for cure in remedy.CURES} - {ANYTHING}
    assert named - brought - set(ADVICE) == set()
    assert (brought | set(ADVICE)) - named == set()

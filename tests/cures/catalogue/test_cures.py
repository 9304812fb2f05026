"""What holds for every cure: its entry, its name, and that the rules' cures are all known."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tailwave.cures.catalogue import BY_NAME, CURES
from tailwave.cures.catalogue.advice import ADVICE
from tailwave.cures.catalogue.base import ANYTHING, Cure, Entry, Setting, Treatment
from tailwave.cures.hook.action import Action
from tests.places import ROOT

_ROOM = Setting(environment={"CUDA_LAUNCH_BLOCKING": "1"}, cpus=16, streams=("decoder",))
FILES = [
    path
    for folder in ("recordings/causes", "profiles/rules")
    for path in sorted((ROOT / "src" / "tailwave" / folder).glob("*.py"))
]
PAGE = (ROOT / "docs" / "cures.md").read_text("utf-8")
each_cure = pytest.mark.parametrize("cure", CURES, ids=[one.name for one in CURES])
each_entry = pytest.mark.parametrize("entry", BY_NAME.values(), ids=BY_NAME)


@each_entry
def test_an_entry_explains_a_cure(entry: Entry) -> None:
    """In words and sentences, with one to three lines of code."""
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", entry.name)
    assert entry.label
    assert not entry.label.endswith(".")
    for sentence in filter(None, (entry.does, entry.needs, entry.advice)):
        assert sentence[0].isupper()
        assert sentence[-1] in ".`)"
    assert entry.does
    assert entry.needs
    assert 1 <= len(entry.lines) <= 3


def test_names_are_unique() -> None:
    """A name says which cure is meant."""
    assert len(BY_NAME) == len(CURES) + len(ADVICE)


@each_cure
def test_a_cure_can_be_tried_where_all_that_it_needs_is_there(cure: Cure) -> None:
    """It changes something, and says how to keep it."""
    assert cure.why_not(cure.example, _ROOM) == ""
    assert cure.treatment(cure.example, _ROOM) != Treatment()
    assert cure.lines(cure.example) != ()


@each_cure
def test_what_is_seen_of_a_run_without_a_report_is_never_a_success(cure: Cure) -> None:
    """Silence is not taken for work."""
    assert cure.mechanism(cure.example, []).works is not True


@each_cure
def test_a_task_is_one_that_the_hook_can_do(cure: Cure) -> None:
    """It has the cure's own name, and leads to an action."""
    for task in cure.treatment(cure.example, _ROOM).tasks:
        module, _, name = task.action.partition(":")
        assert task.name == cure.name
        assert issubclass(getattr(importlib.import_module(module), name), Action)


def test_a_program_without_tailwaves_packages_can_load_every_action() -> None:
    """Inside it there are the standard library and the program's own torch alone."""
    source = str(ROOT / "src")
    program = (
        f"import sys; sys.path = [p for p in sys.path if 'site-packages' not in p] + [{source!r}]\n"
        "from tailwave.cures.catalogue import CURES\n"
        "import tailwave.cures.hook.start\n"
        "print([n for n in ('msgspec', 'numpy', 'click', 'rich') if n in sys.modules], len(CURES))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"[] {len(CURES)}\n"


def named_by(tree: ast.Module) -> set[str]:
    """The cures that a rule's source names.

    They are words in tuples: all that have a hyphen, and the others where cures are given.
    """
    given = [
        part
        for node in ast.walk(tree)
        for part in ([node.value] if isinstance(node, ast.keyword) and node.arg == "cures" else [])
        + (node.args[3:] if isinstance(node, ast.Call) and name_of(node) == "Cause" else [])
        + ([node] if isinstance(node, ast.FunctionDef) and node.name in ("cures", "_cures") else [])
    ]
    anywhere = {word for word in words(tree) if "-" in word}
    return anywhere | {word for node in given for word in words(node)}


def name_of(call: ast.Call) -> str:
    """The name of what is called, "" for anything but a plain name."""
    return call.func.id if isinstance(call.func, ast.Name) else ""


def words(node: ast.AST) -> set[str]:
    """Words that stand in a tuple."""
    return {
        item.value
        for part in ast.walk(node)
        if isinstance(part, ast.Tuple)
        for item in part.elts
        if isinstance(item, ast.Constant)
        and isinstance(item.value, str)
        and re.fullmatch(r"[a-z]+(-[a-z]+)*", item.value)
    }


def code_of(tree: ast.Module) -> str:
    """The code of a rule's finding, "" for a file that is no rule."""
    return next(
        (
            ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "CODE"
        ),
        "",
    )


TREES = {path: ast.parse(path.read_text("utf-8")) for path in FILES}
RULES = {path: tree for path, tree in TREES.items() if code_of(tree)}
CODES = {code_of(tree) for tree in RULES.values()}
NAMED = {path: named_by(tree) - CODES for path, tree in RULES.items()}


@pytest.mark.parametrize("path", RULES, ids=[path.stem for path in RULES])
def test_each_cure_that_a_rule_names_has_an_entry(path: Path) -> None:
    """Else the report names what nothing explains."""
    unknown = NAMED[path] - set(BY_NAME)
    assert not unknown, (
        f"{path.relative_to(ROOT)} names {', '.join(sorted(unknown))}: add a row to "
        "src/tailwave/cures/catalogue/advice.py, or a cure that can be tried"
    )


def test_each_cure_is_named_by_a_rule() -> None:
    """None is invented, be it advice or what a cure says that it answers."""
    named = set().union(*NAMED.values())
    idle = {row.name for row in ADVICE} - named
    assert not idle, f"no rule names {idle}: take it out of cures/catalogue/advice.py"
    answered = {name for cure in CURES for name in cure.answers} - {ANYTHING}
    assert answered - named == set()


def rows_under(heading: str) -> list[str]:
    """The names in the first column of the page's first table under a heading."""
    part = PAGE.partition(f"{heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `([a-z-]+)` \|", part, re.MULTILINE)


def test_the_page_lists_every_cure() -> None:
    """Those that can be tried in their order; those for the reader in the catalogue's words."""
    told = "mend the rows of docs/cures.md, in the order of the catalogue"
    tried = rows_under("## What can be tried on a program as it is")
    assert tried == [cure.name for cure in CURES], told
    assert rows_under("## For the program's source") == [row.name for row in ADVICE], told
    for row in ADVICE:
        assert f"| `{row.name}` | {row.label} | {row.needs.rstrip('.')} |" in PAGE

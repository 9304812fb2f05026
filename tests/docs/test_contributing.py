"""The recipes of CONTRIBUTING.md name files and lists that there are."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.architecture import registry_value
from tests.places import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
RECIPES = {
    title: dict(re.findall(r"^\| (file|list|test|copy) \| (.*) \|$", part, re.MULTILINE))
    for title, part in re.findall(r"^### (.*?)\n(.*?)(?=^##)", TEXT, re.MULTILINE | re.DOTALL)
}
each_recipe = pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)


def test_there_are_six() -> None:
    """Each with a file, a list, a test and something to copy."""
    assert [sorted(recipe) for recipe in RECIPES.values()] == [["copy", "file", "list", "test"]] * 6


@each_recipe
def test_a_list_names_what_is_to_be_copied(recipe: dict[str, str]) -> None:
    """The list is in the family's ``__init__``, and the neighbour is one of its members."""
    found = re.fullmatch(r"`(\w+)` in `(.*)`", recipe["list"])
    assert found is not None
    tree = ast.parse((ROOT / found[2]).read_text("utf-8"))
    members = ast.unparse(registry_value(tree, found[1])).lower().replace("_", "")
    assert Path(recipe["copy"].strip("`")).stem.replace("_", "") in members


@each_recipe
def test_files_go_where_the_neighbours_are(recipe: dict[str, str]) -> None:
    """The neighbour stands in the folder named, and has its test in the other."""
    neighbour = ROOT / recipe["copy"].strip("`")
    test = (ROOT / recipe["test"].strip("`")).with_name(f"test_{neighbour.stem}.py")
    assert neighbour.parent == (ROOT / recipe["file"].strip("`")).parent
    assert [path.is_file() for path in (neighbour, test)] == [True, True]


def test_every_other_path_exists() -> None:
    """Whatever else is named with its folder."""
    paths = re.findall(r"`((?:src|tests|docs|benchmarks)/[\w/.]+)`", TEXT)
    named = [path for path in paths if not re.search(r"NAME|QUESTION", path)]
    assert [path for path in named if not (ROOT / path).exists()] == []

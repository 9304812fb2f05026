"""The recipes: commands that tailwave takes, findings that it has, no invented switch."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from typing import NamedTuple

import click
import pytest

from tailwave.cli import diagnose, fix, try_
from tailwave.cures.catalogue import CURES
from tailwave.recordings.causes import RULES
from tests.places import ROOT

TEXT = (ROOT / "docs" / "recipes.md").read_text("utf-8")
COMMANDS = {"diagnose": diagnose.command, "fix": fix.command, "try": try_.command}
CURE_NAMES = {cure.name for cure in CURES}
FINDING_CODES = {rule.CODE for rule in RULES}
# What the article told people to type, and no program has.
INVENTED = (
    "--sm-count",
    "--no-sm-optimize",
    "--gpus",
    "sm_partitioning",
    "force_cooperative_launch",
    "CUDA_CTX_FLAGS",
)


class Recipe(NamedTuple):
    """One program's part of the page."""

    program: str
    text: str

    @property
    def commands(self) -> list[str]:
        """The lines of its blocks."""
        blocks = re.findall(r"^```\w*\n(.*?)^```", self.text, re.DOTALL | re.MULTILINE)
        return [line for block in blocks for line in block.splitlines() if line]


def parts() -> list[Recipe]:
    """Return the page's parts."""
    return [
        Recipe(*part.split("\n", 1)) for part in re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]
    ]


PARTS = parts()
RECIPES = [part for part in PARTS if part.program not in ("Prove any switch", "Dropped")]
OURS = [line for part in PARTS for line in part.commands if line.startswith("tailwave ")]
each_recipe = pytest.mark.parametrize("recipe", RECIPES, ids=[part.program for part in RECIPES])


@each_recipe
def test_a_recipe_answers_every_question(recipe: Recipe) -> None:
    """What was said, what is, which finding leads there, the command, the proof, the cost."""
    for row in ("| article |", "| really |", "| finding |", "**Prove.**", "**Costs.**"):
        assert row in recipe.text
    assert recipe.commands


@each_recipe
def test_what_exists_is_cited(recipe: Recipe) -> None:
    """The row of what exists names a source: an address, or a file of the program's."""
    (really,) = re.findall(r"^\| really \| (.*) \|$", recipe.text, re.MULTILINE)
    assert re.search(r"https://|`[\w/]+\.(py|cpp|cc)`", really)


@each_recipe
def test_no_invented_switch_is_in_a_command(recipe: Recipe) -> None:
    """They stand in the article's row only."""
    said = " ".join(recipe.commands)
    assert [switch for switch in INVENTED if re.search(rf"(?<!\S){switch}\b", said)] == []


@pytest.mark.parametrize("line", OURS)
def test_tailwave_takes_its_commands(line: str) -> None:
    """Every option of each line exists, and its metric has the one group that is read."""
    _, name, *words = shlex.split(line)
    command = COMMANDS[name]
    context = click.Context(command, info_name=name)
    left = list(words)
    command.make_parser(context).parse_args(left)
    for option, value in pairwise(words):
        if option == "--metric":
            assert re.compile(value).groups == 1
        if option == "--cure":
            assert value.partition(":")[0] in CURE_NAMES


def test_its_findings_are_tailwaves() -> None:
    """Each finding's row names codes that `diagnose` reports, or none."""
    for recipe in RECIPES:
        (row,) = re.findall(r"^\| finding \| (.*) \|$", recipe.text, re.MULTILINE)
        codes = set(re.findall(r"`([a-z]+-[a-z]+)`", row))
        assert codes <= FINDING_CODES


def test_its_links_into_the_repository_exist() -> None:
    """A relative link leads to a file, or to a part of the page."""
    titles = {part.program.lower().replace(" ", "-") for part in PARTS}
    for target in re.findall(r"\]\((?!https?://)([^)]+)\)", TEXT):
        if target.startswith("#"):
            assert target[1:] in titles
        else:
            assert (ROOT / "docs" / target).exists()

"""The pages as a whole: nothing in them is out of date, untested or hard to find."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tailwave.cli import COMMANDS
from tailwave.explanations.cures import EVERY_RULE
from tests.docs.pages import PAGES, blocks, name_of
from tests.examples.scripts import BENCHMARKS, load
from tests.places import ROOT

# Text that is no output: drawings, lists, and output of a program that needs a GPU.
DRAWN = {
    "docs/article.md": "the life of a launch",
    "docs/design.md": "the parts and the folders",
    "integrations/comfyui/README.md": "the nodes, and what they said on an H200",
}
# Output that stands in a page is kept in one of these.
KEPT = (ROOT / "benchmarks" / "results" / "check" / "independent.txt",)
LANGUAGES = {"console", "json", "python", "sh", "text"}
each_page = pytest.mark.parametrize("page", PAGES, ids=name_of)


def anchors(page: Path) -> set[str]:
    """Return the names of a page's headings, as sites make them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@each_page
def test_every_link_into_the_repository_leads_somewhere(page: Path) -> None:
    """To a file or a folder, and in a page to a heading of it."""
    lost = []
    for link in re.findall(r"\]\(((?!https?://)[^)]+)\)", page.read_text("utf-8")):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            lost.append(link)
    assert lost == []


def test_every_block_says_what_it_is() -> None:
    """So that it is run, compared, or known to be neither."""
    assert {block.where for block in blocks() if block.language not in LANGUAGES} == set()


def test_what_is_shown_was_printed() -> None:
    """A text that is output is an excerpt of what is kept, line by line and in its order."""
    kept = [path.read_text("utf-8").splitlines() for path in KEPT]
    shown = [block for block in blocks("text") if block.page not in DRAWN]
    invented = []
    for block in shown:
        sources = [iter(lines) for lines in kept]
        if not any(all(line in source for line in block.text.splitlines()) for source in sources):
            invented.append(block.where)
    assert shown
    assert invented == []


def test_the_readme_is_short() -> None:
    """What is longer than this has a page of its own."""
    lines = len((ROOT / "README.md").read_text("utf-8").splitlines())
    assert lines <= 150, f"README.md has {lines} lines: move something into docs/"


def test_the_readme_lists_every_command_with_its_page() -> None:
    """A new command gets a row."""
    text = (ROOT / "README.md").read_text("utf-8")
    row = r"^\| `tailwave (\w+)[^|]*\|[^|]+\| \[\w+\]\(docs/\w+\.md\) \|$"
    rows = re.findall(row, text, re.MULTILINE)
    unlike = set(rows) ^ set(COMMANDS)
    assert unlike == set(), f"mend the rows of README.md's table of commands: {unlike}"


def test_the_page_of_diagnose_has_every_code() -> None:
    """A new rule gets a row, or a word beside the others of its kind."""
    text = (ROOT / "docs" / "diagnose.md").read_text("utf-8")
    codes = {rule.CODE for rule in EVERY_RULE}
    lacking = {code for code in codes if f"`{code}`" not in text}
    assert lacking == set(), f"add to docs/diagnose.md: {lacking}"


def test_the_site_has_every_page() -> None:
    """A new page is named where it is found."""
    listed = re.findall(r": (\w+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(page.name for page in (ROOT / "docs").glob("*.md"))


def test_the_picture_is_what_the_replay_says() -> None:
    """`python benchmarks/draw_step.py` draws it anew."""
    drawn = load(BENCHMARKS, "draw_step").picture()
    assert (ROOT / "docs" / "assets" / "step.svg").read_text("utf-8") == drawn

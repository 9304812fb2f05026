"""The design's import rules, held by reading the source.

The tree has three storeys. Below stand the nouns and what everything uses (``model``, ``stats``,
``figures``, ``files``, ``errors``). Above them stand four *wings*, one a journey of a user, and on
top the reports and the command line. A wing sees of another only its *door*, the names in its
``__init__``, and only downwards (``DOORS``).

A *family* is a module or a package of one wing, or of none. Each has one line in ``FAMILIES``. In a
family that keeps a list, every file is a *member* (one reader, one rule, one command) unless its
line names it as *support*; members use support, and never each other. The *engine*, where there is
one, runs the members and may use them all.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "tailwave"


class Family(NamedTuple):
    """What a family may import of tailwave besides itself, and the list of its members."""

    name: str
    imports: tuple[str, ...] | None = ()  # None for anything
    registry: str = ""  # the list in the family's __init__ that names every member
    support: tuple[str, ...] = ()  # files that members may use, and are none themselves
    engine: str = ""  # the file that runs the members


WINGS = ("recordings", "profiles", "gpu", "cures")

# The doors through which one wing sees another. CUDA has one of its own, for the library that
# users' programs import: behind it is only what works inside a program, without the probes.
DOORS = {
    "recordings": (),
    "profiles": ("recordings",),
    "gpu": (),
    "cures": ("recordings", "gpu", "gpu.devices.cuda"),
}

FAMILIES = (
    Family("__init__", imports=None),
    Family("__main__", imports=("cli",)),
    Family("errors"),
    Family("files", imports=("errors",)),
    Family("model"),
    Family("stats"),
    Family("figures"),
    Family("session", imports=("model", "errors")),
    Family("recordings", imports=("recordings",)),
    Family("recordings.activity", imports=("model",)),
    Family(
        "recordings.readers",
        imports=("recordings.activity", "model", "files", "errors"),
        registry="READERS",
        support=(
            "byte_source",
            "json_stream",
            "reader",
            "trace_columns",
            "trace_events",
            "trace_timeline",
        ),
    ),
    Family("recordings.timeline", imports=("model", "stats", "errors")),
    Family("recordings.replay", imports=("model", "stats", "recordings.timeline")),
    Family(
        "recordings.causes",
        imports=("model", "stats", "figures", "recordings.timeline", "recordings.replay"),
        registry="RULES",
        support=("build",),
        engine="diagnose",
    ),
    Family("profiles", imports=("profiles",)),
    Family("profiles.ncu", imports=("model", "files", "errors")),
    Family("profiles.counters", imports=("errors",)),
    Family(
        "profiles.rules",
        imports=("model", "figures"),
        registry="KERNEL_RULES",
        support=("bounds", "cause", "join", "joining", "notes", "sectors", "theirs", "view"),
        engine="diagnose",
    ),
    Family("gpu", imports=("gpu",)),
    Family("gpu.kernels"),
    Family(
        "gpu.devices",
        imports=("model", "gpu.kernels", "errors"),
        registry="BACKENDS",
        support=("base",),
    ),
    Family(
        "gpu.probes",
        imports=("gpu.devices.base", "stats", "model", "errors"),
        registry="PROBES",
        support=("die", "groups", "lab", "measure", "parts", "traffic"),
    ),
    Family("gpu.headlines"),
    Family("gpu.references", imports=("model", "gpu.headlines", "errors")),
    Family(
        "gpu.verdicts",
        imports=("model", "gpu.headlines", "figures"),
        registry="VERDICTS",
        support=("against_reference", "criteria", "figures", "health", "repeatability", "words"),
        engine="judge",
    ),
    Family("gpu.compare", imports=("model", "gpu.headlines")),
    Family("cures"),
    Family("cures.library", imports=("model", "errors")),
    Family("cures.hook", imports=("cures.library", "errors")),
    Family("cures.recorder", imports=("model", "errors")),
    Family(
        "cures.catalogue",
        imports=("model", "figures", "errors"),
        registry="CURES",
        support=("base", "choose"),
    ),
    Family(
        "cures.trials",
        imports=("cures.catalogue", "stats", "figures", "model", "errors", "__version__"),
    ),
    Family("reports", imports=("model", "errors", "figures", "__version__")),
    Family(
        "cli",
        imports=None,
        registry="COMMANDS",
        support=(
            "bar",
            "check_progress",
            "checking",
            "console",
            "judging",
            "printing",
            "reading",
            "referencing",
            "trial_options",
            "trial_progress",
            "trying",
        ),
    ),
)
BY_NAME = {family.name: family for family in FAMILIES}
LISTED = [family for family in FAMILIES if family.registry]


class Module(NamedTuple):
    """One source file: its family, the file or folder of the family that it belongs to."""

    path: Path
    family: str
    member: str  # "" for the family's own __init__, and for a family of one file
    tree: ast.Module

    @property
    def wing(self) -> str:
        """The wing that it stands in, or the family where that stands in none."""
        return self.family.partition(".")[0]

    @property
    def imports(self) -> set[str]:
        """Dotted names of all that the file imports, at its top or later."""
        return set(imported(self.tree))


def read_module(path: Path) -> Module:
    """Parse a source file and place it."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    levels = 2 if parts[0] in WINGS and parts[1] != "__init__" else 1
    inner = [part for part in parts[levels:] if part != "__init__"]
    family = ".".join(parts[:levels])
    return Module(path, family, inner[0] if inner else "", ast.parse(path.read_text("utf-8")))


def folder_of(family: Family) -> Path:
    """Return the folder of a family that is a package."""
    return PACKAGE.joinpath(*family.name.split("."))


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the dotted name of each thing that a piece of source imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def within(name: str, prefixes: tuple[str, ...]) -> bool:
    """Tell whether a dotted name is one of the prefixes or something in it."""
    return any(f"{name}.".startswith(f"{prefix}.") for prefix in prefixes)


MODULES = [read_module(path) for path in sorted(PACKAGE.rglob("*.py"))]
each_module = pytest.mark.parametrize(
    "module", MODULES, ids=[str(module.path.relative_to(PACKAGE)) for module in MODULES]
)
each_listed_family = pytest.mark.parametrize("family", LISTED, ids=[f.name for f in LISTED])


@each_module
def test_a_file_belongs_to_a_family(module: Module) -> None:
    """What stands directly under tailwave, or under a wing, has its line in the table."""
    assert module.family in BY_NAME


@each_module
def test_a_family_imports_what_the_design_allows(module: Module) -> None:
    """A file imports of its wing, and of what is below, only what its family's line names."""
    allowed = BY_NAME[module.family].imports
    if allowed is None:
        return
    near = {name for name in ours(module) if door_of(name, module.wing) is None}
    assert {name for name in near if not within(name, (module.family, *allowed))} == set()


@each_module
def test_a_wing_sees_another_through_its_door(module: Module) -> None:
    """What a wing imports of another is a name in a door's ``__init__``, and that wing is below."""
    if module.wing not in WINGS:
        return
    doors = {name: door_of(name, module.wing) for name in ours(module)}
    through = {name: door for name, door in doors.items() if door is not None}
    assert {name for name, door in through.items() if name.rpartition(".")[0] != door} == set()
    assert set(through.values()) <= set(DOORS[module.wing])


def ours(module: Module) -> set[str]:
    """Return what a file imports of tailwave, by its dotted name within it."""
    return {name.partition(".")[2] for name in module.imports if within(name, ("tailwave",))}


def door_of(name: str, wing: str) -> str | None:
    """Return the door that stands before something of another wing; None for all else."""
    home = name.partition(".")[0]
    if home not in WINGS or home == wing:
        return None
    doors = [door for of_one in DOORS.values() for door in of_one if within(name, (door,))]
    return max(doors, key=len, default=home)


@each_module
def test_members_do_not_import_each_other(module: Module) -> None:
    """In a family that keeps a list, a file imports of it only support, or parts of itself."""
    family = BY_NAME[module.family]
    if not family.registry or module.member in ("", family.engine):
        return
    siblings = {name for name in module.imports if within(name, (f"tailwave.{family.name}",))}
    allowed = tuple(f"tailwave.{family.name}.{part}" for part in (module.member, *family.support))
    assert {name for name in siblings if not within(name, allowed)} == set()


@each_listed_family
def test_every_file_has_its_part_in_the_family(family: Family) -> None:
    """A file is support, the engine or in the family's list: else nobody would ever run it."""
    members = {m.member for m in MODULES if m.family == family.name and m.member}
    assert listed(family) | {*family.support, family.engine} - {""} == members


def listed(family: Family) -> set[str]:
    """Return the members that a family's list names, by import or by dotted text."""
    tree = read_module(folder_of(family) / "__init__.py").tree
    homes = {name.rpartition(".")[2]: name for name in imported(tree)}
    names: set[str] = set()
    for node in ast.walk(registry_value(tree, family.registry)):
        if isinstance(node, ast.Name):
            names.add(homes.get(node.id, ""))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value.replace(":", "."))
    inside = f"tailwave.{family.name}."
    return {n.removeprefix(inside).partition(".")[0] for n in names if n.startswith(inside)}


def registry_value(tree: ast.Module, name: str) -> ast.expr:
    """Return the expression that a module-level name is set to."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(t, ast.Name) and t.id == name for t in targets):
            assert isinstance(node, ast.Assign | ast.AnnAssign)
            assert node.value is not None
            return node.value
    raise AssertionError(f"the family keeps no list {name}")


@each_module
def test_only_declared_packages_are_imported(module: Module) -> None:
    """Nothing needs a package that installing tailwave does not bring, be it imported late."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = {requirement.partition(">=")[0] for requirement in project["dependencies"]}
    extras = set(EXTRAS.get(f"{module.family}.{module.member}", ()))
    roots = {name.partition(".")[0] for name in module.imports}
    assert roots - set(sys.stdlib_module_names) - declared - extras - {"tailwave"} == set()


# Packages that only an extra brings, by the one place that may import them, late.
EXTRAS = {"reports.pictures": ("matplotlib",)}

HEAVY = ("click", "msgspec", "numpy", "rich")


def loaded_after(code: str) -> set[str]:
    """Return the heavy packages that a fresh interpreter has loaded after running the code."""
    report = f"import sys; print(*[m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
    program = f"try:\n    {code}\nfinally:\n    {report}"
    command = [sys.executable, "-c", program, "--help"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stderr.split())


def test_importing_tailwave_loads_nothing() -> None:
    """`import tailwave` costs nothing until a public name is used."""
    assert loaded_after("import tailwave") == set()


def test_a_public_name_is_imported_when_used() -> None:
    """Each public name is there, from its home, once asked for."""
    assert "numpy" in loaded_after("import tailwave; [getattr(tailwave, n) for n in dir(tailwave)]")


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A name that tailwave does not have fails as on any module."""
    assert loaded_after("import tailwave; assert not hasattr(tailwave, 'nothing')") == set()


def test_help_loads_only_click() -> None:
    """`tailwave --help` answers before the packages that do the work are loaded."""
    assert loaded_after("import tailwave.cli; tailwave.cli.main()") == {"click"}

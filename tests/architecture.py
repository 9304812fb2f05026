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
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
    # The one step upwards: a noun that is printed asks the reports, when it is printed.
    Family("model", imports=("reports",)),
    Family("stats"),
    Family("figures"),
    Family("kernel_names"),
    Family("kernel_kinds", imports=("kernel_names",)),
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
    Family("recordings.timeline", imports=("model", "figures", "kernel_kinds", "stats", "errors")),
    Family(
        "recordings.replay",
        imports=("model", "kernel_kinds", "stats", "errors", "recordings.timeline"),
    ),
    Family(
        "recordings.causes",
        imports=(
            "model",
            "stats",
            "figures",
            "kernel_kinds",
            "kernel_names",
            "recordings.timeline",
            "recordings.replay",
        ),
        registry="RULES",
        support=("build", "costliest", "stretches"),
        engine="diagnose",
    ),
    Family(
        "recordings.comparison",
        imports=(
            "model",
            "stats",
            "figures",
            "kernel_names",
            "errors",
            "recordings.timeline",
            "recordings.replay",
            "recordings.causes",
        ),
    ),
    Family("profiles", imports=("profiles",)),
    Family("profiles.ncu", imports=("model", "files", "errors")),
    Family("profiles.counters", imports=("profiles.rules", "errors")),
    Family(
        "profiles.rules",
        imports=("model", "figures", "kernel_names"),
        registry="KERNEL_RULES",
        support=("base", "bounds", "kernel", "notes", "sectors", "theirs"),
        engine="diagnose",
    ),
    Family("profiles.join", imports=("model", "figures", "kernel_names")),
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
        support=("bench", "die", "groups", "lab", "measure", "parts", "traffic"),
    ),
    Family("gpu.headlines", imports=("gpu.probes",)),
    Family("gpu.references", imports=("model", "gpu.headlines", "errors")),
    Family(
        "gpu.verdicts",
        imports=("model", "gpu.headlines", "gpu.probes.parts", "stats", "figures"),
        registry="LINKS",
        support=("against_reference", "criteria", "link", "measurements"),
        engine="judge",
    ),
    Family(
        "gpu.check",
        imports=(
            "gpu.devices",
            "gpu.probes",
            "gpu.references",
            "gpu.verdicts",
            "model",
            "session",
            "errors",
            "__version__",
        ),
    ),
    Family("gpu.compare", imports=("model", "gpu.headlines", "gpu.probes.parts")),
    Family("cures"),
    Family("cures.hami"),
    Family("cures.library", imports=("cures.hami", "model", "errors")),
    Family("cures.hook", imports=("cures.library", "errors")),
    Family("cures.recorder", imports=("cures.hook", "cures.library", "model", "errors")),
    Family(
        "cures.catalogue",
        imports=("cures.hook", "model", "figures", "errors"),
        registry="CURES",
        support=("advice", "base"),
        engine="choose",
    ),
    Family(
        "cures.trials",
        imports=(
            "cures.catalogue",
            "cures.hook",
            "cures.hami",
            "stats",
            "figures",
            "model",
            "errors",
        ),
    ),
    Family("reports", imports=("model", "errors", "figures", "kernel_names", "__version__")),
    Family("explanations", imports=("model", "errors")),
    Family("next_commands", imports=("model", "recordings", "cures")),
    Family("api", imports=None),
    Family(
        "cli",
        imports=None,
        registry="COMMANDS",
        support=(
            "bar",
            "console",
            "reading",
            "step_time",
            "trial_options",
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
    imports: frozenset[str]  # dotted names of all that it imports, at its top or later

    @property
    def wing(self) -> str:
        """The wing that it stands in, or the family where that stands in none."""
        return self.family.partition(".")[0]


def read_module(path: Path) -> Module:
    """Parse a source file and place it."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    levels = 2 if parts[0] in WINGS and parts[1] != "__init__" else 1
    inner = [part for part in parts[levels:] if part != "__init__"]
    family = ".".join(parts[:levels])
    tree = ast.parse(path.read_text("utf-8"))
    return Module(path, family, inner[0] if inner else "", tree, frozenset(imported(tree)))


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


@cache
def modules() -> list[Module]:
    """Read every source file, when the first test asks for them."""
    return [read_module(path) for path in sorted(PACKAGE.rglob("*.py"))]


def breaches(breach: Callable[[Module], set[str]]) -> dict[str, set[str]]:
    """Return what breaks a rule, by the file in which it does."""
    found = {str(module.path.relative_to(PACKAGE)): breach(module) for module in modules()}
    return {path: names for path, names in found.items() if names}


def test_a_file_belongs_to_a_family() -> None:
    """What stands directly under tailwave, or under a wing, has its line in the table."""
    assert {module.family for module in modules()} - BY_NAME.keys() == set()


def test_a_family_imports_what_the_design_allows() -> None:
    """A file imports of its wing, and of what is below, only what its family's line names."""

    def breach(module: Module) -> set[str]:
        allowed = BY_NAME[module.family].imports
        if allowed is None:
            return set()
        near = {name for name in ours(module) if door_of(name, module.wing) is None}
        return {name for name in near if not within(name, (module.family, *allowed))}

    assert breaches(breach) == {}


def test_a_wing_sees_another_through_its_door() -> None:
    """What a wing imports of another is a name in a door's ``__init__``, and that wing is below."""

    def breach(module: Module) -> set[str]:
        if module.wing not in WINGS:
            return set()
        doors = {name: door_of(name, module.wing) for name in ours(module)}
        allowed = (None, *DOORS[module.wing])
        return {
            name
            for name, door in doors.items()
            if door not in allowed or door not in (None, name.rpartition(".")[0])
        }

    assert breaches(breach) == {}


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


def test_members_do_not_import_each_other() -> None:
    """In a family that keeps a list, a file imports of it only support, or parts of itself."""

    def breach(module: Module) -> set[str]:
        family = BY_NAME[module.family]
        if not family.registry or module.member in ("", family.engine):
            return set()
        allowed = tuple(f"{family.name}.{part}" for part in (module.member, *family.support))
        siblings = {name for name in ours(module) if within(name, (family.name,))}
        return {name for name in siblings if not within(name, allowed)}

    assert breaches(breach) == {}


@pytest.mark.parametrize("family", LISTED, ids=[family.name for family in LISTED])
def test_every_file_has_its_part_in_the_family(family: Family) -> None:
    """A file is support, the engine or in the family's list: else nobody would ever run it."""
    members = {m.member for m in modules() if m.family == family.name and m.member}
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


def test_only_declared_packages_are_imported() -> None:
    """Nothing needs a package that installing tailwave does not bring, be it imported late."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = {requirement.partition(">=")[0] for requirement in project["dependencies"]}
    known = {*sys.stdlib_module_names, *declared, "tailwave"}

    def breach(module: Module) -> set[str]:
        extras = EXTRAS.get(f"{module.family}.{module.member}", ())
        return {name.partition(".")[0] for name in module.imports} - known - {*extras}

    assert breaches(breach) == {}


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

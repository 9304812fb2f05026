"""Which profile a recording's kernel belongs to: by its name, whole or in part, and its shape.

NVIDIA's tools write ``k<(int)4, (bool)1, <unnamed>::F, [lambda(float) (instance 1)]>(T1)`` where
PyTorch's profiler has ``k<4, true, (anonymous namespace)::F, {lambda(float)#1}>(int const*)``.
Others leave out template arguments and parameters, or mangle the name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import msgspec

from tailwave.kernel_names import own_name
from tailwave.model import KernelDiagnosis, Shape

_SPACES = re.compile(r"\s+")
_LAMBDA = re.compile(r"\[lambda\(([^()]*)\) ?\(instance (\d+)\)\]|\{lambda\(([^()]*)\)#(\d+)\}")
_LITERAL = re.compile(r"(?<![\w.])(\d+)(?:ull|ul|ll|u|l)\b")
_QUALIFIERS = re.compile(r"\b(?:void|const)\b")
_WORDS = {"true": "1", "false": "0"}
_TRUTH = re.compile(r"\b(?:true|false)\b")


class Match(msgspec.Struct, frozen=True):
    """The profile found (its index), how in words, and whether it is of the same grid and block."""

    profile: int
    how: str
    same_shape: bool


class Index:
    """Profiled kernels by their names."""

    def __init__(self, kernels: Sequence[KernelDiagnosis]) -> None:
        """Index kernels by every spelling of their names, and by their base names."""
        self._kernels = kernels
        self._whole: dict[str, list[int]] = {}
        self._instance: dict[str, list[int]] = {}
        self._base: dict[str, list[int]] = {}
        for number, kernel in enumerate(kernels):
            base = own_name(kernel.name)
            for text in _whole_names(kernel, base):
                self._whole.setdefault(text, []).append(number)
            self._instance.setdefault(instance(kernel.name), []).append(number)
            self._base.setdefault(base, []).append(number)

    def find(self, name: str, grid: int, block: int) -> Match | str:
        """Return the profile of a kernel of the recording, or why there is none.

        ``grid`` and ``block`` are counts of CTAs and of threads, -1 where they are not known.
        """
        whole = self._whole.get(plain(name)) or self._instance.get(instance(name))
        if whole:
            return self._by_shape(whole, grid, block)
        base = [n for n in self._base.get(own_name(name), []) if not self._differ(n, name)]
        alike = [number for number in base if self._is_shape(number, grid, block)]
        if len(alike) == 1:
            return Match(alike[0], "by its base name, grid and block", same_shape=True)
        if alike:
            return f"{len(alike)} profiles have its base name, grid and block"
        return "a profile of the same base name has another grid or block" if base else ""

    def _by_shape(self, numbers: list[int], grid: int, block: int) -> Match:
        """Choose among profiles of one name: of the same shape, else of the nearest."""
        alike = [number for number in numbers if self._is_shape(number, grid, block)]
        if len(alike) > 1:
            most = max(alike, key=lambda number: self._kernels[number].launches)
            how = f"by name, grid and block; of {len(alike)} such profiles the one launched most"
            return Match(most, how, same_shape=True)
        if alike:
            return Match(alike[0], "by name, grid and block", same_shape=True)
        nearest = min(numbers, key=lambda number: self._distance(number, grid, block))
        ctas = size(self._kernels[nearest].grid)
        how = f"by name alone: the counters are of a grid of {ctas:,}" if ctas else "by name alone"
        return Match(nearest, how, same_shape=False)

    def _is_shape(self, number: int, grid: int, block: int) -> bool:
        kernel = self._kernels[number]
        return (size(kernel.grid), size(kernel.block)) == (grid, block)

    def _differ(self, number: int, name: str) -> bool:
        """Tell two instances of a template: both names have arguments, and not the same."""
        return _has_arguments(self._kernels[number].name) and _has_arguments(name)

    def _distance(self, number: int, grid: int, block: int) -> float:
        kernel = self._kernels[number]
        pairs = ((size(kernel.grid), grid), (size(kernel.block), block))
        return sum(abs(math.log(max(a, 1) / max(b, 1))) for a, b in pairs)


def size(shape: Shape | None) -> int:
    """Return how many a shape holds; -1 for an unknown one."""
    return -1 if shape is None else math.prod(shape)


def _whole_names(kernel: KernelDiagnosis, base: str) -> dict[str, None]:
    """Return the spellings of a kernel's whole name.

    Its base name is one only of a kernel that is no instance of a template: instances share it.
    """
    names = dict.fromkeys(plain(name) for name in (kernel.name, *kernel.names))
    if _has_arguments(kernel.name):
        names.pop(base, None)
    return names


def _has_arguments(name: str) -> bool:
    return instance(name).endswith(">")


def plain(name: str) -> str:
    """Return a name without spaces and without its return type."""
    return _SPACES.sub("", name.strip().removeprefix("void "))


def instance(name: str) -> str:
    """Return a name with its template arguments and without parameters, casts and qualifiers."""
    text = name.replace("(anonymous namespace)", "<unnamed>")
    text = _LAMBDA.sub(_lambda, text)
    text = _QUALIFIERS.sub("", _without_brackets(text))
    text = _TRUTH.sub(lambda word: _WORDS[word[0]], _LITERAL.sub(r"\1", text))
    return _SPACES.sub("", text)


def _lambda(found: re.Match[str]) -> str:
    return f"{{lambda:{found[1] or found[3] or ''}#{found[2] or found[4]}}}"


def _without_brackets(text: str) -> str:
    """Drop what stands between round brackets: parameters, and the types of casts."""
    kept: list[str] = []
    depth = 0
    for letter in text:
        if letter == "(":
            depth += 1
        elif letter == ")":
            depth = max(depth - 1, 0)
        elif depth == 0:
            kept.append(letter)
    return "".join(kept)

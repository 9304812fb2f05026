"""A kernel's name in one spelling, from any of those that demanglers give it.

NVIDIA's tools write ``k<(int)4, (bool)1, <unnamed>::F, [lambda(float) (instance 1)]>(T1)`` where
PyTorch's profiler has ``k<4, true, (anonymous namespace)::F, {lambda(float)#1}>(int const*)``.
"""

from __future__ import annotations

import re

_SPACES = re.compile(r"\s+")
_LAMBDA = re.compile(r"\[lambda\(([^()]*)\) ?\(instance (\d+)\)\]|\{lambda\(([^()]*)\)#(\d+)\}")
_LITERAL = re.compile(r"(?<![\w.])(\d+)(?:ull|ul|ll|u|l)\b")
_QUALIFIERS = re.compile(r"\b(?:void|const)\b")
_WORDS = {"true": "1", "false": "0"}
_TRUTH = re.compile(r"\b(?:true|false)\b")


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

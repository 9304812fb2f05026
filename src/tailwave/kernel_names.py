"""Kernels' names as people read them.

Profilers write a kernel as its whole C++ signature, of up to some thousand letters. What tells one
from another is its own name, and the functors and types that its template was made for.
"""

from __future__ import annotations

import functools
import re

_LONGEST = 64
_DEEPEST = 2  # template arguments of template arguments
_GAP = "..."

_MANGLED = re.compile(r"_Z(?:N[VK]*)?(?P<parts>(?:\d+\w+)+)")
# The first template argument of a mangled name that has a name itself.
_MANGLED_ARGUMENT = re.compile(r"I(?:L[a-z]+\d+E|DF16_?b?|[a-z])*N?(?:S[0-9A-Z]*_)?(?=\d)")
# What recorders call copies and memsets: no names of C++.
_RECORDERS_OWN = ("Memcpy ", "Memset ")
_NAMELESS = re.compile(r"(?:\(anonymous namespace\)|<unnamed>)(?:::)?")
_QUALIFIERS = re.compile(r"\b(?:const|volatile)\b")
_LITERAL = re.compile(r"(?:\([^()]*\))?-?(?:\d[\w.]*|true|false)")
# Functions without a name of their own: the one that they stand in tells what they do.
_INNER = ("{lambda", "[lambda", "operator")
# What PyTorch puts around what an elementwise kernel computes.
_WRAPPERS = frozenset({"gpu_kernel_impl", "gpu_kernel_impl_nocast"})
# Types of indices and of memory: they are in every instance, and tell none from another.
_EVERYWHERE = frozenset(
    f"{sign}{size}"
    for sign in ("", "unsigned ", "signed ")
    for size in ("char", "short", "int", "long", "long long", "bool", "void")
)
_OPEN, _CLOSE = "<([{", ">)]}"


@functools.lru_cache(maxsize=1 << 16)
def short(name: str, longest: int = _LONGEST) -> str:
    """Return a kernel's name without namespaces, parameters and what a template does not need.

    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>,
    std::array<char*, 1ul>>(int, ...)" is "vectorized_elementwise_kernel<FillFunctor<float>>". One
    longer than ``longest`` loses its middle.
    """
    if name.startswith(_RECORDERS_OWN):
        return name
    text = _demangled(name) or _readable(_signature(name), depth=0) or name
    if len(text) <= longest:
        return text
    tail = (longest - len(_GAP)) // 3
    return f"{text[: longest - len(_GAP) - tail]}{_GAP}{text[len(text) - tail :]}"


def own_name(name: str) -> str:
    """Return a kernel's name alone: no namespaces, return type, template arguments or parameters.

    "void at::native::(anonymous namespace)::fill<float>(float*, int)" and "_Z4fillPf" are "fill".
    """
    return _mangled(name)[0] or _last_name(_signature(name))[0] or name


def _demangled(name: str) -> str:
    """Return the last name of a mangled one, and that of what its template was made for."""
    own, rest = _mangled(name)
    argument = _MANGLED_ARGUMENT.match(rest)
    made_for = _identifier(rest[argument.end() :])[0] if argument else ""
    return f"{own}<{made_for}>" if made_for else own


def _mangled(name: str) -> tuple[str, str]:
    """Return the last name of a mangled one, and what follows it: "fill" of "_ZN2at4fillEPf"."""
    match = _MANGLED.match(name)
    return _identifier(match["parts"]) if match else ("", "")


def _identifier(text: str) -> tuple[str, str]:
    """Return the last of the names, each after its length, that a text begins with, and the rest.

    "2at4fillEPf" is "fill" and "EPf"; "" and the text where it begins with none.
    """
    found = ""
    while (number := re.match(r"\d+", text)) is not None:
        end = number.end() + int(number[0])
        if end > len(text):
            break
        found, text = text[number.end() : end], text[end:]
    return found, text


def _signature(name: str) -> str:
    """Return a name without what stands before and after it: return type and parameters."""
    text = _QUALIFIERS.sub("", _NAMELESS.sub("", name)).strip()
    words = [word for word in _split(text, " ") if word and word[0] not in _OPEN]
    # Only a return type stands before a name; spaces inside a name are between its brackets.
    parameters = next((n for n, word in enumerate(words) if word.endswith(")")), len(words) - 1)
    return words[parameters] if words else ""


def _readable(text: str, depth: int) -> str:
    """Return a name or type with those of its template arguments that tell what it does."""
    name, arguments = _last_name(text)
    if not arguments or depth > _DEEPEST:
        return name
    types = [one for one in arguments if not _LITERAL.fullmatch(one)]
    telling = [read for one in types if (read := _telling(one, depth + 1))]
    if not telling and depth == 0:  # an instance for numbers alone
        telling = [_readable(one, depth + 1) or one for one in arguments]
    if telling and name in _WRAPPERS:
        return telling[0]
    return f"{name}<{', '.join(dict.fromkeys(telling))}>" if telling else name


def _telling(argument: str, depth: int) -> str:
    """Return a template argument's readable name; "" for one that every instance has."""
    plain = argument.rstrip("*& ")
    if plain in _EVERYWHERE:
        return ""
    read = _readable(plain, depth)
    was_for_types = plain.endswith(">") and depth <= _DEEPEST
    return "" if was_for_types and not read.endswith(">") else read


def _last_name(text: str) -> tuple[str, list[str]]:
    """Return the last name of a path that has one, and its template arguments."""
    parts = [part.strip() for part in _split(text, "::")]
    named = [part for part in parts if part and not part.startswith(_INNER)]
    if not named:
        return "", []
    name = re.match(r"[^<(\[{]*", named[-1])
    end = name.end() if name else 0
    rest = named[-1][end:]
    inside = _split(rest[1:], ">")[0] if rest.startswith("<") else ""
    return named[-1][:end].strip(), [one.strip() for one in _split(inside, ",") if one.strip()]


def _split(text: str, mark: str) -> list[str]:
    """Split a text at those marks that do not stand between brackets."""
    parts, depth, begin = [], 0, 0
    for place, letter in enumerate(text):
        if depth == 0 and text.startswith(mark, place) and place >= begin:
            parts.append(text[begin:place])
            begin = place + len(mark)
        elif letter in _OPEN:
            depth += 1
        elif letter in _CLOSE:
            depth = max(depth - 1, 0)
    return [*parts, text[begin:]]

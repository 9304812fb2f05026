"""What tailwave's findings, links, probes, figures and counters say of themselves.

All of it comes from the members of their families, most from their docstrings, so that a new member
is explained as soon as it is there.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from tailwave.explanations.cures import EVERY_RULE, named_cures
from tailwave.explanations.docstrings import from_docstring
from tailwave.gpu.headlines import HEADLINES
from tailwave.gpu.probes import PROBES
from tailwave.gpu.verdicts import LINKS
from tailwave.model import Meaning, MeaningKind, Section
from tailwave.profiles.counters.meanings import MADE_UP
from tailwave.profiles.counters.names import base
from tailwave.profiles.rules import KERNEL_RULES

_WAYS = {
    "less": "Less is better.",
    "more": "More is better.",
    "neither": "No value of it is a fault.",
}


def findings() -> Iterator[Meaning]:
    """Yield the causes of recordings, then those of kernels.

    What both show is explained once, by the recording's rule.
    """
    questions = {rule.CODE: rule.QUESTION for rule in KERNEL_RULES}
    docstrings = {rule.CODE: rule.__doc__ for rule in reversed(EVERY_RULE)}
    for code in dict.fromkeys(rule.CODE for rule in EVERY_RULE):
        claim, sections = from_docstring(docstrings[code])
        question = (questions[code],) if code in questions else ()
        metrics = (f"tailwave metrics {code}",) if question else ()
        yield Meaning(
            MeaningKind.FINDING,
            code,
            claim,
            aliases=question,
            sections=sections,
            commands=("tailwave diagnose FILE", *metrics),
            see=tuple(named_cures(sections)),
        )


def links() -> Iterator[Meaning]:
    """Yield the links of the scheduling chain, as verdicts judge them."""
    for link in LINKS:
        claim, sections = from_docstring(link.__doc__)
        probes = link.PROBES
        commands = (f"tailwave check {' '.join(f'--only {probe}' for probe in probes)}",)
        yield Meaning(
            MeaningKind.LINK, link.LINK, claim, sections=sections, commands=commands, see=probes
        )


def probes() -> Iterator[Meaning]:
    """Yield the probes, each with the question that it asks."""
    for name, (claim, sections) in _probe_docs().items():
        commands = (f"tailwave check --only {name}",)
        yield Meaning(MeaningKind.PROBE, name, claim, sections=sections, commands=commands)


def figures() -> Iterator[Meaning]:
    """Yield what the probes measure; a headline figure also says what it decides."""
    docs = _probe_docs()
    for probe in PROBES:
        claim, sections = docs[probe.name]
        for name in dict.fromkeys(name for part in probe.parts for name in part.names):
            yield Meaning(
                MeaningKind.FIGURE,
                name,
                _decides(name) if name in HEADLINES else claim,
                sections=tuple(_told(name, sections)),
                commands=(f"tailwave check --only {probe.name}",),
                see=(probe.name,),
            )


def _decides(name: str) -> str:
    words = HEADLINES[name]
    return f"{words.phrase}. {_WAYS[words.better.value]} It decides {words.decides}."


def _told(name: str, sections: tuple[Section, ...]) -> Iterator[Section]:
    """Yield the items of a probe's docstring that name a figure, be it by its last part only."""
    endings = {name, name[name.rfind("_") :], name[name.rfind(".") :]}
    for section in sections:
        for item in section.text:
            if endings & {word.strip(",;:()") for word in item.split()}:
                yield Section("", (item.removeprefix("- "),))


def counters() -> Iterator[Meaning]:
    """Yield the counters that answer questions, and the names that no chip has."""
    asking: dict[str, dict[str, str]] = {}
    for rule in KERNEL_RULES:
        for metric in rule.METRICS:
            asking.setdefault(base(metric), {})[rule.CODE] = rule.QUESTION.rstrip("?")
    for name, questions in asking.items():
        yield Meaning(
            MeaningKind.COUNTER,
            name,
            f"a counter that helps to answer: {'; '.join(questions.values())}?",
            commands=(f"tailwave metrics {name}",),
            see=tuple(questions),
        )
    for name, meaning in MADE_UP.items():
        recorded = Section("To record instead", meaning.counters, code=True)
        yield Meaning(
            MeaningKind.COUNTER,
            name,
            f"exists on no chip: {meaning.says}.",
            sections=(recorded,),
            commands=(f'tailwave metrics "{name}"' if " " in name else f"tailwave metrics {name}",),
        )


def _probe_docs() -> dict[str, tuple[str, tuple[Section, ...]]]:
    """Return the docstrings of the probes' modules, which bear the probes' names."""
    modules = {p.name: importlib.import_module(f"tailwave.gpu.probes.{p.name}") for p in PROBES}
    return {name: from_docstring(module.__doc__) for name, module in modules.items()}

"""Probes: one file a question to a device, all through one timing loop.

``run_probes`` yields each figure as soon as it has been taken, so that a device lost in mid-run
costs only what had not been measured yet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches

from tailwave.errors import UnknownNameError
from tailwave.gpu.devices.base import Device, DeviceLostError
from tailwave.gpu.probes import (
    banks,
    context,
    copy,
    dispatch,
    fabric,
    interference,
    issue,
    l2,
    launch,
    managed,
    topology,
)
from tailwave.gpu.probes.lab import Lab
from tailwave.gpu.probes.measure import REFUSALS, Figure
from tailwave.gpu.probes.parts import Part, Probe
from tailwave.model import Measurement, Table

# In running order: what others need first (the map of the die), what disturbs most last.
PROBES = (
    launch.PROBE,
    dispatch.PROBE,
    issue.PROBE,
    banks.PROBE,
    topology.PROBE,
    fabric.PROBE,
    l2.PROBE,
    copy.PROBE,
    context.PROBE,
    managed.PROBE,
    interference.PROBE,
)

# After so long the figures that remain are taken with the fewest samples.
_FULL_NS = 45_000_000_000
_QUICK_NS = 10_000_000_000


def run_probes(
    device: Device,
    *,
    quick: bool = False,
    only: Sequence[str] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> Iterator[Measurement | Table]:
    """Run the probes (those named in ``only``, or all) and yield what they find as they find it.

    ``progress`` is called with a probe's name before it runs. A probe that fails leaves its
    figures with a status and a reason, and the next one runs. Raises UsageError as `probes_called`
    does, and DeviceLostError, after which there is nothing more to measure.
    """
    wanted = probes_called(only)
    allowed = _QUICK_NS if quick else _FULL_NS
    lab = Lab(device, quick=quick, deadline_ns=device.clock_ns() + allowed)
    for probe in wanted:
        progress(probe.name)
        for part in probe.parts:
            yield from _guarded(lab, part)


def probes_called(words: Sequence[str]) -> tuple[Probe, ...]:
    """Return the probes called so, in running order; all for no words.

    A probe answers to its name in any case, and to the names of its figures. Raises UsageError for
    what is neither, with the probes that may have been meant.
    """
    called = {_probe_called(word) for word in words}
    return tuple(probe for probe in PROBES if not called or probe.name in called)


def _probe_called(word: str) -> str:
    names = [probe.name for probe in PROBES]
    name = re.sub(r"[^a-z0-9]", "", word.lower().partition(".")[0])
    if name in names:
        return name
    taking = [
        probe.name
        for probe in PROBES
        if name and any(name in figure for part in probe.parts for figure in part.names)
    ]
    near = taking or get_close_matches(name, names, n=1)
    meant = f" Did you mean {' or '.join(near)}?" if near else ""
    sentence = f"there is no probe {word}.{meant} The probes are {', '.join(names)}."
    raise UnknownNameError(sentence, word, names)


def _guarded(lab: Lab, part: Part) -> Iterator[Measurement | Table]:
    """Run a part; what it did not get to becomes figures with a reason."""
    seen = set()
    try:
        for result in part.run(lab):
            seen.add(result.name)
            yield result
    except DeviceLostError:
        raise
    except REFUSALS as error:
        for name in part.names:
            if name not in seen:
                yield lab.refused(Figure(name, ""), error)

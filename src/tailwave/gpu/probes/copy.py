"""What do copies between host and device cost, and is the link as wide as it could be?

Published: PCIe 5.0 with 16 lanes carries 63 GB/s each way, before its protocol.

The article blames a narrow PCIe link for a starved scheduler. A link narrows copies and nothing
else, and an idle one runs at a lower generation, so it is read while a copy runs.

- ``copy.h2d_pinned``, ``copy.d2h_pinned``, ``copy.h2d_pageable``, ``copy.d2h_pageable``: bandwidth
  (GB/s). Pageable memory goes through the driver's own buffer and holds the host meanwhile.
- ``copy.both_pinned``: both ways at once, added up (GB/s); twice one way when they are independent.
- ``copy.small``: a copy of 8 bytes to the device, and waiting for it (us).
- ``copy.link_width`` (lanes), ``copy.link_generation``: under load; ``most`` is what
  both ends could do, more where the slot, the riser or a switch between is smaller.
"""

from __future__ import annotations

from functools import partial

from tailwave.gpu.devices.base import Feature, NotSupportedError
from tailwave.gpu.probes.lab import Lab
from tailwave.gpu.probes.measure import Figure
from tailwave.gpu.probes.parts import Better, Headline, Part, Probe, Results

_BYTES = 64 << 20
_SMALL = 8
_LOAD_COPIES = 8
_BANDWIDTHS = (
    ("copy.h2d_pinned", True, True),
    ("copy.d2h_pinned", False, True),
    ("copy.h2d_pageable", True, False),
    ("copy.d2h_pageable", False, False),
)


def _bandwidths(lab: Lab) -> Results:
    lab.need(Feature.COPY)
    for name, to_device, pinned in _BANDWIDTHS:
        yield lab.measure(
            name,
            "GB/s",
            partial(_rate, lab, to_device=to_device, pinned=pinned),
            headline=pinned,
        )


def _rate(lab: Lab, *, to_device: bool, pinned: bool) -> float:
    def copy() -> None:
        lab.device.copy(lab.stream, _BYTES, to_device=to_device, pinned=pinned)

    return _BYTES / lab.finished_us(copy) / 1000


def _both(lab: Lab) -> Results:
    lab.need(Feature.COPY)
    other = lab.device.stream()

    def work() -> None:
        lab.device.copy(lab.stream, _BYTES, to_device=True, pinned=True)
        lab.device.copy(other, _BYTES, to_device=False, pinned=True)
        lab.device.synchronize(lab.stream)
        lab.device.synchronize(other)

    yield lab.measure(
        "copy.both_pinned", "GB/s", lambda: 2 * _BYTES / lab.timed_us(work) / 1000, headline=True
    )


def _small(lab: Lab) -> Results:
    lab.need(Feature.COPY)

    def taken_us() -> float:
        return lab.finished_us(
            lambda: lab.device.copy(lab.stream, _SMALL, to_device=True, pinned=True)
        )

    yield lab.measure("copy.small", "us", lambda: lab.typical(taken_us), headline=True)


def _link(lab: Lab) -> Results:
    lab.need(Feature.LINK)
    lab.need(Feature.COPY)
    for _ in range(_LOAD_COPIES):
        lab.device.copy(lab.stream, _BYTES, to_device=True, pinned=True)
    state = lab.device.link()
    lab.device.synchronize(lab.stream)
    for name, unit, value, most in (
        ("copy.link_width", "lanes", state.width, state.width_max),
        ("copy.link_generation", "generation", state.generation, state.generation_max),
    ):
        figure = Figure(name, unit, {"most": most}, headline=True)
        if value == 0:
            yield lab.refused(figure, NotSupportedError("The driver does not tell."))
        else:
            yield lab.summed_up(figure, [value])


HEADLINES = {
    "copy.h2d_pinned": Headline(
        "copies to the GPU, pinned", Better.MORE, "how long the GPU waits for its inputs"
    ),
    "copy.d2h_pinned": Headline(
        "copies from the GPU, pinned", Better.MORE, "how long the host waits for results"
    ),
    "copy.both_pinned": Headline(
        "copies both ways at once",
        Better.MORE,
        "whether feeding the GPU and fetching results hold each other up",
    ),
    "copy.small": Headline(
        "a copy of a few bytes",
        Better.LESS,
        "what reading one number back costs, such as a loss or a token",
        host=True,
    ),
    "copy.link_width": Headline(
        "the lanes of the host link", Better.MORE, "how fast copies can be at most"
    ),
    "copy.link_generation": Headline(
        "the generation of the host link", Better.MORE, "how fast copies can be at most"
    ),
}
PROBE = Probe(
    "copy",
    (
        Part(tuple(name for name, _, _ in _BANDWIDTHS), _bandwidths),
        Part(("copy.both_pinned",), _both),
        Part(("copy.small",), _small),
        Part(("copy.link_width", "copy.link_generation"), _link),
    ),
    HEADLINES,
)

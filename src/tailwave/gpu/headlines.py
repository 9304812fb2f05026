"""What each headline figure is in words, which way is better, and what it decides for work.

``RESOLUTION`` is what repeated checks of one healthy GPU agree within, relative: a check stops
sampling at a spread well below it, and what is smaller is no difference between two checks.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final, NamedTuple

RESOLUTION: Final = 0.03
# No headline: how fast the host is by itself, which tells a slow host from a slow launch.
HOST_SPEED: Final = "launch.host_loop"


class Better(enum.Enum):
    """Which way a figure is better."""

    LESS = "less"
    MORE = "more"
    NEITHER = "neither"  # it tells GPUs apart, and no value of it is a fault


class Headline(NamedTuple):
    """A figure in words: ``phrase`` names it, ``decides`` ends the sentence "It decides ...".

    ``host``: the host's processor has its part in it. Such a figure scatters with what else the
    host does, and is slower on a slower host.
    """

    phrase: str
    better: Better
    decides: str
    host: bool = False


HEADLINES: Final = {
    "launch.enqueue": Headline(
        "a launch call",
        Better.LESS,
        "how many kernels a second one host thread can issue",
        host=True,
    ),
    "launch.sync": Headline(
        "a launch and waiting for it",
        Better.LESS,
        "what a step costs whose result the host reads, such as a token that is sampled",
        host=True,
    ),
    "launch.back_to_back": Headline(
        "a launch in a full stream",
        Better.LESS,
        "how short kernels may be before the GPU waits for launches",
        host=True,
    ),
    "launch.graph_node": Headline(
        "a node of a CUDA graph",
        Better.LESS,
        "how long a chain of small kernels takes as a graph",
    ),
    "launch.graph_launch_host": Headline(
        "launching a CUDA graph",
        Better.LESS,
        "how long the host is held by a step that is a graph",
        host=True,
    ),
    "dispatch.ns_per_cta": Headline(
        "handing a CTA to an SM",
        Better.LESS,
        "what grids of very many small CTAs cost before any work",
    ),
    "dispatch.linearity": Headline(
        "the straightness of dispatch",
        Better.MORE,
        "whether large grids pay more for each CTA than small ones",
    ),
    "dispatch.refill_gap": Headline(
        "the gap between two CTAs of an SM",
        Better.LESS,
        "how short a CTA may be before an SM waits more than it works",
    ),
    "dispatch.fairness": Headline(
        "the slowest SM's share of CTAs",
        Better.MORE,
        "how long the whole grid waits for one SM",
    ),
    "issue.slots": Headline(
        "the issue slots used",
        Better.MORE,
        "how much arithmetic an SM does in a cycle",
    ),
    "issue.gap": Headline(
        "the cycles between two instructions of a scheduler",
        Better.LESS,
        "how many warps hide the latency of arithmetic",
    ),
    "issue.barrier": Headline(
        "a barrier",
        Better.LESS,
        "what kernels pay that synchronise their CTAs often, such as reductions",
    ),
    "banks.cycles_per_way": Headline(
        "a way of a bank conflict",
        Better.LESS,
        "what a badly laid out shared-memory tile costs",
    ),
    "topology.gpcs": Headline(
        "the number of GPCs",
        Better.NEITHER,
        "how large a cluster of CTAs can be, and which SMs share ports to L2",
    ),
    "fabric.single_sm": Headline(
        "the L2 bandwidth of an SM alone",
        Better.MORE,
        "how fast a kernel on few SMs is fed",
    ),
    "fabric.speedup_tpc": Headline(
        "the bandwidth of a TPC, in SMs",
        Better.MORE,
        "whether two CTAs on neighbouring SMs hold each other up",
    ),
    "fabric.speedup_gpc": Headline(
        "the bandwidth of a GPC, in SMs",
        Better.MORE,
        "what work that is kept in one GPC is fed",
    ),
    "fabric.speedup_spread": Headline(
        "the bandwidth of SMs spread over GPCs, in SMs",
        Better.MORE,
        "what small grids are fed when the dispatcher spreads them",
    ),
    "fabric.speedup_chip": Headline(
        "the bandwidth of all SMs, in SMs",
        Better.MORE,
        "how far work bound by L2 gains from more SMs",
    ),
    "fabric.fairness": Headline(
        "the slowest SM's share of bandwidth",
        Better.MORE,
        "how long a grid bound by L2 waits for its last CTA",
    ),
    "fabric.loaded_latency": Headline(
        "the latency of L2 beside other SMs' reads",
        Better.LESS,
        "how much slower a kernel that waits for memory runs beside a busy one",
    ),
    "fabric.same_line_atomics": Headline(
        "atomic additions to one word",
        Better.MORE,
        "how fast counters, histograms and work queues shared by all SMs are",
    ),
    "l2.latency_mean": Headline(
        "the latency of L2",
        Better.LESS,
        "how long a kernel with little parallelism waits for each read",
    ),
    "l2.partitions": Headline(
        "the number of L2 partitions",
        Better.NEITHER,
        "whether it matters which SM reads which line",
    ),
    "l2.bandwidth": Headline(
        "the bandwidth of L2",
        Better.MORE,
        "how fast kernels run whose data fit L2",
    ),
    "l2.share": Headline(
        "a flag between two SMs and back",
        Better.LESS,
        "what CTAs pay that wait for each other inside a kernel",
    ),
    "l2.poll": Headline(
        "a write until all SMs have seen it",
        Better.LESS,
        "what a barrier over the whole grid costs",
    ),
    "copy.h2d_pinned": Headline(
        "copies to the GPU, pinned",
        Better.MORE,
        "how long the GPU waits for its inputs",
    ),
    "copy.d2h_pinned": Headline(
        "copies from the GPU, pinned",
        Better.MORE,
        "how long the host waits for results",
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
        "the lanes of the host link",
        Better.MORE,
        "how fast copies can be at most",
    ),
    "copy.link_generation": Headline(
        "the generation of the host link",
        Better.MORE,
        "how fast copies can be at most",
    ),
    "context.switch": Headline(
        "a switch between two contexts",
        Better.LESS,
        "what processes that share a GPU by turns pay",
    ),
    "interference.alone": Headline(
        "small work alone",
        Better.LESS,
        "what a request costs on an idle GPU",
        host=True,
    ),
    "interference.shared": Headline(
        "small work beside a tenant",
        Better.LESS,
        "what a request costs when somebody else fills the GPU",
        host=True,
    ),
    "interference.partition": Headline(
        "small work beside a tenant, with SMs of its own",
        Better.LESS,
        "what a request costs when SMs are set apart for it",
        host=True,
    ),
    "interference.tenant_pays": Headline(
        "the tenant's time on the SMs left to it",
        Better.LESS,
        "what setting SMs apart costs the work that loses them",
    ),
}


def headline(name: str) -> Headline:
    """Return a figure's words; one that a newer tailwave measured keeps its bare name."""
    return HEADLINES.get(name) or Headline(name, Better.NEITHER, "something this version lacks")


def named(name: str, parameters: Mapping[str, object]) -> str:
    """Name a figure in words, with the parameters that tell it from others of its name."""
    at = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in parameters.items())
    return f"{headline(name).phrase} ({at})" if at else headline(name).phrase

"""Words as people type them, and what is found."""

from __future__ import annotations

import pytest

from tailwave.explanations.lookup import find, meanings, nearest, suggest, xid_number
from tailwave.gpu.probes import PROBES
from tailwave.model import MeaningKind
from tailwave.profiles.rules import KERNEL_RULES

# From the article and the web: the word, and the meanings that answer it.
WORDS = {
    "WSP": ["warp scheduling stress"],
    "wsp test": ["warp scheduling stress"],
    "ARB": ["arbiter"],
    "仲裁器": ["arbiter"],
    "GPC仲裁器": ["arbiter"],
    "SM diary": ["SM diary"],
    "SM日记": ["SM diary"],
    "\uff33\uff2d\u3000日记": ["SM diary"],  # as Chinese keyboards have Latin letters
    "die scaling": ["die scaling"],
    "Die-Scaling": ["die scaling"],
    "stall rate": ["stall rate"],
    "调度失效": ["stall rate"],
    "issue gap": ["issue.gap", "issue gap"],
    "snoop": ["snoop traffic"],
    "MESI": ["snoop traffic"],
    "cross-GPC": ["cross-GPC traffic"],
    "L2 hit rate": ["L2 hit rate"],
    "GPU utilisation": ["GPU utilisation"],
    "gpu utilization": ["GPU utilisation"],
    "GPU利用率": ["GPU utilisation"],
    "bank conflict": ["bank-conflict", "bank conflict"],
    "warp scheduler": ["warp scheduler"],
    "occupancy": ["occupancy"],
    "tail wave": ["wave quantisation"],
    "wave quantization": ["wave quantisation"],
    "launch overhead": ["launch overhead"],
    "CUDA graph": ["cuda-graph"],
    "SM partition": ["SM partition"],
    "green context": ["green context"],
    "mps": ["MPS"],
    "MIG": ["MIG"],
    "gpc": ["GPC"],
    "TPC": ["TPC"],
    "SM carveout": ["sm-carveout"],
    "persistent kernel": ["persistent-kernel"],
    "launch": ["launch", "launch"],
    "probe launch": ["launch"],
    "launch.graph_node": ["launch.graph_node"],
    "sms__warps_launched": ["sms__warps_launched"],
    "do warps wait at barriers?": ["barrier-stall"],
    "CUDA_CTX_FLAGS": ["CUDA_CTX_FLAGS"],
    "CUDA_LAUNCH_BLOCKING=1": ["CUDA_LAUNCH_BLOCKING"],
    "PYTORCH_CUDA_ALLOC_CONF": ["PYTORCH_ALLOC_CONF"],
    "partition:decoder=32": ["partition"],
    "--no-wave-tail": ["whole-waves"],
    "--sm-count": ["SM partition"],
    "--sm-count 48": [],
    "XID": ["XID"],
    "XID 79": ["XID 79"],
    "xid-79": ["XID 79"],
    "xid79": ["XID 79"],
    "79": ["XID 79"],
    "NVRM: Xid (PCI:0000:10:1c): 63, pid=1896": ["XID 63"],
    "GPU掉线": ["XID 79"],
    "sms__warps_launched.sum": [],
    "lanch-bound": [],
    "gremlins": [],
    "XID 999": [],
    "🚀": [],
    "\x1b[31m\x00": [],
    "a" * 100_000: [],
    "": [],
    " -_. ": [],
}

NEAR = {
    "sms__warps_launched.sum": ["sms__warps_launched"],
    "lanch-bound": ["launch-bound"],
    "cuda-grahp": ["cuda-graph"],
    "NCCL_DEBUG": ["NCCL_*"],
    "--sm-count 48": ["SM partition"],
    "how does the warp scheduler work?": ["warp scheduler"],
    "什么是GPU利用率": ["GPU utilisation"],
    "small grids": ["small-grid"],
    "torch.compile": ["compile"],
    "GIL": ["free-the-gil"],
    "fairness": [],  # two figures have it
    "stream": [],
    "GPU": [],
    "调度": [],
    "gremlins": [],
    "XID 999": ["XID"],  # another number would be another fault
    "": [],
}


@pytest.mark.parametrize("word", WORDS, ids=lambda word: ascii(word[:40]))
def test_a_word_is_found_as_it_is_typed(word: str) -> None:
    """Case, spaces, hyphens, underscores, dots and a setting's value make no difference."""
    assert [meaning.name for meaning in find(word)] == WORDS[word]


@pytest.mark.parametrize("word", NEAR, ids=ascii)
def test_a_word_that_is_not_found_has_a_nearest(word: str) -> None:
    """The longest name in it, else one spelled like it, else the only one with its parts."""
    assert [meaning.name for meaning in nearest(word)] == NEAR[word]


def test_every_name_is_found() -> None:
    """All that is listed can be asked for by its name, alone and with its kind."""
    missing = [meaning for meaning in meanings() if meaning not in find(meaning.name)]
    assert missing == []
    ambiguous = [e for e in meanings() if find(f"{e.kind.value} {e.name}") != (e,)]
    assert ambiguous == []


@pytest.mark.parametrize(
    ("word", "probes"),
    [
        ("lanch", ("launch",)),
        ("ARB", ("fabric",)),
        ("仲裁器", ("fabric",)),
        ("WSP", ("issue", "banks")),
        ("bank conflict", ("banks",)),
        ("zebra", ()),
    ],
)
def test_names_of_probes_are_suggested(word: str, probes: tuple[str, ...]) -> None:
    """Of the names given those come first that the word means, then those that it is near."""
    assert suggest(word, [probe.name for probe in PROBES]) == probes


@pytest.mark.parametrize(
    ("word", "codes"),
    [
        ("stall rate", ("memory-latency", "barrier-stall", "low-occupancy", "spin-wait")),
        ("utilisation", ("small-grid", "sm-imbalance")),
        ("divergance", ("divergence",)),
        ("", ()),
    ],
)
def test_questions_of_counters_are_suggested(word: str, codes: tuple[str, ...]) -> None:
    """A word from elsewhere leads to the findings whose counters answer it."""
    assert suggest(word, [rule.CODE for rule in KERNEL_RULES]) == codes


def test_all_is_suggested_without_a_list() -> None:
    """Names of any kind that hold the word's parts, five at most."""
    assert suggest("fairness") == ("fabric.fairness", "dispatch.fairness")
    assert len(suggest("l2")) == 5


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("XID 79", 79),
        ("Xid (PCI:0000:10:1c): 119, Timeout", 119),
        (" 48 ", 48),
        ("79", 79),
        ("132 SMs", None),
        ("xid", None),
        ("fluxid 3", None),
        ("12345", None),
    ],
)
def test_an_xid_is_read_from_a_line_of_the_log(text: str, number: int | None) -> None:
    """A number is an XID's where it stands alone or after the word."""
    assert xid_number(text) == number


def test_kinds_are_all_used() -> None:
    """Each kind has meanings."""
    assert {meaning.kind for meaning in meanings()} == set(MeaningKind)

"""Small recordings on which wrong things were said once, and what is right of each.

Those of Kineto were made from recordings of an H200, those of nsys are trimmed from public ones.
"""

from __future__ import annotations

import pytest

from tailwave.errors import UnreadableInputError
from tailwave.model import Diagnosis
from tailwave.recordings.readers import read
from tailwave.recordings.replay.division import Cause, divide
from tailwave.recordings.timeline.prepare import prepare
from tests.places import DATA
from tests.recordings import right as known
from tests.recordings.right import Right, judged

NAMES = "the names of host work are those of the runtime call beside it"


def kineto(*names: str) -> tuple[str, ...]:
    """Name files of Kineto's."""
    return tuple(f"cases/kineto/{name}.json.gz" for name in names)


def nsys(name: str) -> tuple[str, ...]:
    """Name a file of nsys'."""
    return (f"cases/nsys/{name}.sqlite",)


def eager(name: str, says: str, **other: object) -> Right:
    """Describe a copy of one eager decoding: three steps of 132 launches, of which all wait."""
    fields: dict[str, object] = {
        "steps": 3,
        "step_us": 7600,
        "busy_us": 405,
        "shares": {"launch-bound": 7140},
        "first": ("launch-bound",),
        "part": (0.85, 0.92),
        "withheld": False,
    }
    return Right(files=kineto(name), says=says, **(fields | other))  # type: ignore[arg-type]


STARVED = "host-starved 71%: five times 100 ms of preprocessing in a step of 703 ms"
LEAD_IN = "the first 100 ms of the step, before its first GPU work, are left out: 400 of 602 ms"
ROWS = (
    Right(
        files=kineto("starved_then_small_copy_prefix60"),
        says=STARVED,
        steps=1,
        step_us=703_220,
        shares={"host-starved": 500_000},
        first=("host-starved",),
        part=(0.69, 0.73),
        innocent=("launch-bound",),
        missed={"steps": LEAD_IN, "division": LEAD_IN, "findings": LEAD_IN},
    ),
    Right(
        files=kineto("starved_then_small_copy_prefix10"),
        says=STARVED,
        steps=1,
        step_us=703_000,
        shares={"host-starved": 500_000},
        first=("host-starved",),
        part=(0.69, 0.73),
        missed={"steps": LEAD_IN, "division": LEAD_IN, "findings": LEAD_IN},
    ),
    Right(
        files=kineto("loader_stalls_7_of_15"),
        says="65% of the recording idles in DataLoader.__next__, in 7 of 15 steps",
        steps=15,
        step_us=43_229,
        shares={"host-starved": 28_000, "kernels": 15_000},
        first=("host-starved",),
        part=(0.63, 0.67),
        words=("DataLoader", "7 of 15 steps"),
        missed={"words": NAMES},
    ),
    Right(
        files=kineto("sync_debt_then_one_stall"),
        says="starved 60 ms, in the last of 15 steps",
        steps=15,
        step_us=19_269,
        shares={"host-starved": 60_000 / 15},
        first=("host-starved",),
        words=("DataLoader",),
        missed={"words": NAMES},
    ),
    Right(
        files=kineto("queued_behind_unseen_work"),
        says="launches were issued 14.5 ms before the kernels began: queued behind unseen work",
        steps=1,
        shares={"queued": 14_946},
        found={"queued": (0.80, 0.90)},
        innocent=("launch-bound", "host-sync", "host-starved"),
    ),
    Right(
        files=kineto("window_cut_host_ahead"),
        says="the step begins with the first recorded GPU work: 10.1 ms, 99.6% busy",
        steps=1,
        step_us=10_080,
        busy_us=10_040,
        first=(),
        words=("come before its steps",),
    ),
    eager(
        "empty_last_step_1real",
        "7.5 ms, launch-bound 88%; the empty step is none",
        steps=1,
        step_us=7_390,
        shares={"launch-bound": 6_938},
    ),
    eager("empty_last_step_3real", "three real steps; the empty one is none"),
    eager(
        "tl669_overlong_dur",
        "three kernels end with the start of the next in the stream",
        busy_us=425,
        words=("ended after the work that follows",),
    ),
    Right(
        files=kineto("tl972_one_giant_event"),
        says="not sound",
        first=(),
        words=("the recorder dropped events",),
        withheld=True,
    ),
    Right(
        files=kineto("hl1121_one_of_three_replays"),
        says="two of three graph replays are not recorded: not sound; the whole replay is the step",
        steps=1,
        step_us=481,
        busy_us=418,
        first=(),
        words=("the recorder dropped events",),
        withheld=True,
        missed={"steps": "1,329 us: the two replays without GPU work are in the step"},
    ),
    Right(
        files=kineto("tl728_graph_middle_lost"),
        says="long holes within one graph launch: 122 nodes before the steps, 53 in them",
        steps=3,
        step_us=486,
        shares={"graph-holes": 286},
        found={"graph-holes": (0.55, 0.60)},
        innocent=("launch-bound", "host-sync"),
        words=("53", "122"),
        missed={"words": "the launch before the steps is not recorded, so not compared: no note"},
    ),
    Right(
        files=kineto("straggler_rank0", "straggler_rank1"),
        says="rank 1 is 5 ms late in each step and rank 0 waits for it",
        steps=4,
        first=("host-starved", "straggler"),
        found={"straggler": (0.4, 0.5)},
        words=("shown is rank 1", "Rank 1 begins 4 of 4 collectives last, by 5 ms"),
    ),
    Right(
        files=kineto("straggler_rank0", "straggler_rank1"),
        says="rank 1 is 5 ms late in each of four steps of 12 ms, the first among them",
        step_us=11_865,
        shares={"host-starved": 5_000},
        missed={
            "steps": "10,615 us: rank 1's first begins with its first GPU work",
            "division": "4,155 us: the first step's 5 ms are left out",
        },
    ),
    eager(
        "hta238_no_profilerstep",
        "no annotation: 3 steps of 7.5 ms of 132 launches, by the period",
        step_us=7_548,
    ),
    Right(
        files=kineto("hta238_train_no_profilerstep"),
        says="steps of a training by its optimizer's annotation",
        step_us=23_000,
        first=("launch-bound",),
        part=(0.75, 0.9),
    ),
    Right(
        files=kineto("cuda_context_creation"),
        says="a first call of 3 s is start-up and no step",
        step_us=4_401,
        busy_us=3_000,
        shares={"launch-bound": 1_401},
        innocent=("host-sync", "host-starved", "host-contention"),
        words=("start-up",),
    ),
    eager(
        "cold_start_context",
        "a first call of 5 s within a step is start-up",
        step_us=7_548,
        shares={"launch-bound": 7_090},
        innocent=("host-sync", "host-starved", "host-contention"),
        words=("start-up",),
    ),
    Right(
        files=kineto("amd_device_index"),
        says="the only GPU described is the one that kernels call device 2",
        device="NVIDIA H200, 132 SMs",
        steps=3,
        step_us=486,
        shares={"small-grid": 133},
        found={"small-grid": (0.26, 0.30)},
        unsaid=("does not describe its GPU",),
    ),
    eager("profilerstep_overlong", "a ProfilerStep of 13.3 s is clipped to the trace of 0.36 s"),
    eager(
        "kineto109_ts0_20pct",
        "a fifth of the kernels has no time: CUPTI could not take it",
        busy_us=335,
        shares={},
        words=("no time",),
        unsaid=("clocks",),
    ),
    eager(
        "kineto109_ts0_one",
        "one kernel has no time: CUPTI could not take it",
        words=("1 GPU event left out: no time",),
        unsaid=("clocks",),
    ),
    eager(
        "clock_skew_-40us",
        "a GPU clock that is early is set right by the least shift, and said",
        words=("The GPU's clock was",),
    ),
    eager("clock_skew_-3000us", "also one of 3 ms", words=("The GPU's clock was",)),
    eager("events_twice", "two exports merged: each event counts once", words=("there twice",)),
    Right(
        files=kineto("truncated"),
        says="a cut file: GPU busy is the time in which kernels run",
        steps=1,
        step_us=7_483,
        busy_us=330,
        first=("launch-bound",),
        words=("ends in mid-event",),
    ),
    Right(
        files=("onnxruntime/ort47.json.gz",),
        says="ONNX Runtime's profile: model_run is the step, launch-bound",
        steps=5,
        shares={"launch-bound": 14_080},
        first=("launch-bound",),
        part=(0.85, 0.95),
    ),
    Right(
        files=("onnxruntime/ort.json",),
        says="one kernel of 50 us in a model_run of 1,000 us",
        steps=1,
        step_us=1_000,
        busy_us=50,
        missed={"steps": "100 us: from the first node to the end of it"},
    ),
    eager("hta325_dur_236_years", "one absurd duration is left out", words=("enormous time",)),
    Right(
        files=kineto("hta325_host_dur_236_years"),
        says="one absurd duration of the host is left out",
        steps=3,
        step_us=22_721,
        first=("launch-bound",),
        part=(0.75, 0.9),
        words=("enormous time",),
    ),
    Right(
        files=kineto("pt192021_first_step_dropped"),
        says="two of three steps have GPU events: refused with the reason",
        steps=2,
        first=(),
        words=("132 launches of 396 have no GPU event",),
        withheld=True,
    ),
    Right(
        files=kineto("pt192021_gemm_first_step_dropped"),
        says="of steps of 7.67 ms, GPU-bound, the first has no GPU events",
        words=("5 launches of 15 have no GPU event",),
        first=(),
    ),
    Right(
        files=kineto("pt192021_gemm_half_first"),
        says="of steps of 7.67 ms, GPU-bound, the first has half of its GPU events",
        steps=2,
        step_us=7_667,
        busy_us=7_652,
        first=(),
        words=("2 launches of 15 have no GPU event",),
    ),
    eager("ascend133_ts_strings", "times that are strings"),
    eager("pt130622_control_chars", "control characters in names"),
    eager("bad_escape", "an escape that JSON does not know"),
    eager("old_categories", "categories as old releases write them"),
    eager("xpu_like", "another vendor's GPU", device="Intel(R) Data Center GPU Max 1550"),
    eager(
        "top_level_list", "a list of events without a head", words=("does not describe its GPU",)
    ),
    eager("vllm_annotations", "the program's own annotations are the steps"),
    eager(
        "two_gpus_one_process",
        "two GPUs: the busier one is shown",
        busy_us=250,
        shares={"launch-bound": 7_314},
        part=(0.88, 0.96),
        words=("holds 2 GPUs",),
    ),
    Right(
        files=kineto("pf35_overlap_30"),
        says="kernels that begin while the one before drains are sound",
        steps=3,
        step_us=486,
        busy_us=476,
        innocent=("launch-bound", "host-sync", "host-starved"),
        withheld=False,
    ),
    Right(
        files=kineto("pf35_overlap_80"),
        says="also by four fifths of their length",
        steps=3,
        step_us=486,
        busy_us=483,
        innocent=("launch-bound", "host-sync", "host-starved"),
        withheld=False,
    ),
    Right(
        files=nsys("context_creation"),
        says="299.6 ms are the first cudaMalloc, context creation; the GPU's span is 0.26 ms",
        device="Tesla T4",
        steps=1,
        step_us=292,
        innocent=("host-sync", "host-contention"),
        words=("start-up",),
    ),
    Right(
        files=nsys("context_creation_cudafree0"),
        says="cudaFree(0) is context creation; one memset in all: nothing to diagnose",
        device="RTX 4060",
        first=(),
    ),
    Right(
        files=nsys("tail_after_last_copy"),
        says="1.67 s come after the last GPU work; of 293 ms 97% are copies from pageable memory",
        steps=1,
        step_us=293_209,
        shares={"copies": 283_468},
        first=("blocking-copy",),
        innocent=("launch-bound", "host-starved"),
        words=("pageable", "1.67 s of the recording come after its steps"),
    ),
    Right(
        files=nsys("cpp_startup_called_gil"),
        says="a C++ program: 375 ms of start-up and no interpreter lock",
        innocent=("host-contention", "launch-bound"),
        words=("start-up",),
        missed={"findings": "host-contention 83%: 372 ms of start-up are called stretched"},
    ),
    Right(
        files=nsys("managed_small"),
        says="copies of kind 11 and 12 are page migrations, without a call by design",
        steps=1,
        shares={"page-migration": 349},
        unsaid=("no recorded launch", "dropped"),
        withheld=False,
    ),
    Right(
        files=nsys("managed_4gpus_one_thread"),
        says="grid 1, block 1 on 108 SMs: small-grid; cuDevice is [3,0,1,2]",
        device="A100-SXM4-80GB, 108 SMs",
        first=("small-grid",),
        part=(0.9, 1.0),
        withheld=False,
    ),
    Right(
        files=nsys("managed_prefetch"),
        says="host work first; 12,288 migrations take 0.10 s, page migration is 1.4 s at most",
        shares={"kernels": 3_959},
        first=("host-starved",),
        found={"page-migration": (0.005, 0.26)},
        innocent=("launch-bound",),
        words=("12288",),
    ),
    Right(
        files=nsys("block_of_4_threads"),
        says="72% of the time is one kernel of 4,194,304 blocks of 4 threads",
        device="GTX 1660 SUPER, 22 SMs",
        shares={"kernels": 1_370_346},
        first=("partial-warp",),
        part=(0.55, 0.72),
        missed={"findings": "host-starved 23% comes first; blocks of 4 threads are no finding"},
    ),
    Right(
        files=nsys("nvtx_io_range"),
        says="14.58 ms of each step are the program's own NVTX range IO",
        steps=43,
        step_us=41_189,
        shares={"host-starved": 14_580},
        first=("host-starved",),
        part=(0.33, 0.37),
        words=("IO",),
        missed={"words": NAMES},
    ),
    Right(
        files=nsys("h2d_window"),
        says="95% of the time is 25.5 GB of copies at 27.7 GB/s; the window closed on the queue",
        shares={"copies": 920_877},
        first=("blocking-copy", "link-bound"),
        unsaid=("dropped",),
        withheld=False,
    ),
    Right(
        files=nsys("first_step_stands_for_all"),
        says="in 14 of 15 steps launches cost nothing, and waits 1.9 to 5.7 ms",
        steps=15,
        shares={"host-sync": 2_640, "launch-bound": 216},
        first=("host-sync",),
        missed={"findings": "launch-bound 17.0% stands before host-sync 16.5%"},
    ),
    Right(
        files=nsys("fuse_not_in_diagnose"),
        says="elementwise kernels fused bring 3.20 ms, 19%",
        steps=16,
        found={"unfused": (0.16, 0.20)},
        missed={"findings": "no finding speaks of elementwise kernels"},
    ),
)


def diagnosed(right: Right) -> Diagnosis:
    """Diagnose a case."""
    return known.of(right, DATA)


@judged(ROWS, "steps", "steps", "step_us", "busy_us", "device")
def test_steps(right: Right) -> None:
    """The steps are as many and as long as they are."""
    known.steps_are_right(diagnosed(right), right)


@judged(ROWS, "division", "shares")
def test_division(right: Right) -> None:
    """The step's time goes where it goes."""
    known.division_is_right(diagnosed(right), right)


@judged(ROWS, "findings", "first", "found", "innocent")
def test_findings(right: Right) -> None:
    """The cause comes first, with what it is worth; nobody else is blamed."""
    known.findings_are_right(diagnosed(right), right)


@judged(ROWS, "words", "words", "unsaid")
def test_words(right: Right) -> None:
    """Notes and evidence say what was found, repaired or left out."""
    known.words_are_right(diagnosed(right), right)


@judged(ROWS, "withheld", "withheld")
def test_withheld(right: Right) -> None:
    """Findings are withheld where the recording cannot carry them, and only there."""
    known.soundness_is_right(diagnosed(right), right)


def test_no_kernel_table() -> None:
    """GPU rows that nsys did not record: that is said, and what nsys itself says of it."""
    diagnosis = known.diagnosed(DATA, nsys("no_kernel_table_nvtx"))
    assert diagnosis is not None
    assert (diagnosis.steps, diagnosis.findings) == (None, ())
    notes = "\n".join(diagnosis.notes)
    assert "no GPU activity, though 4 calls issued some" in notes
    assert "45 CUPTI events produced, 12 CUDA events collected" in notes
    assert "nsys profile" in notes


def test_jax_perfetto() -> None:
    """Another profiler's trace is refused, or blames nobody for what it does not hold."""
    try:
        read(DATA / kineto("jax_perfetto")[0])
    except UnreadableInputError as refused:
        assert "JAX" in str(refused)  # noqa: PT017 - either is right
    diagnosis = known.diagnosed(DATA, kineto("jax_perfetto"))
    assert diagnosis is None or diagnosis.findings == ()


def step_by_step(files: tuple[str, ...], cause: Cause) -> list[float]:
    """Give the time (us) of a cause in each step of the first rank."""
    division = divide(prepare(read(DATA / files[0])[0]).case)
    return [float(ns) / 1e3 for ns in division.ns[:, cause]]


def test_sync_debt_is_paid_once() -> None:
    """After steps that wait for the GPU, the last one's stall of 60 ms is the loader's."""
    files = kineto("sync_debt_then_one_stall")
    starved = step_by_step(files, Cause.STARVED)
    assert starved[-1] == pytest.approx(60_000, rel=0.05)
    assert max(starved[:-1]) < 200
    assert max(step_by_step(files, Cause.SYNC)) < 1_000


def test_first_step_does_not_stand_for_all() -> None:
    """Launches cost the first step alone; a wait costs each of the others 1.9 ms and more."""
    launch, sync = (
        step_by_step(nsys("first_step_stands_for_all"), cause)
        for cause in (Cause.LAUNCH, Cause.SYNC)
    )
    assert max(launch[1:]) < 100
    assert min(sync[1:]) > 1_900

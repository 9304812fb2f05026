"""`tailwave.graph` on a real GPU: what it captures, what it refuses, and life after a refusal."""

from __future__ import annotations

import ctypes
import threading
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from tailwave.cures.library.graph import graph
from tailwave.errors import GraphRefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.gpu

torch: Any = pytest.importorskip("torch")
Tensor: TypeAlias = Any
Module: TypeAlias = Any
Thing: TypeAlias = Any  # of CuPy or cuda-core


def noise(*shape: int) -> Tensor:
    """Return noise on the GPU."""
    return torch.randn(*shape, device="cuda")


def network(width: int = 64) -> Module:
    """Return a small network on the GPU."""
    return torch.nn.Sequential(
        torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, width)
    ).cuda()


@pytest.fixture(autouse=True)
def _fresh_torch() -> Iterator[None]:
    """Start each test from the same seed, and see that torch is well after it."""
    torch.manual_seed(0)
    before = torch.cuda.get_sync_debug_mode()
    yield
    assert torch.cuda.get_sync_debug_mode() == before
    assert not torch.cuda.is_current_stream_capturing()
    live_on()


def live_on() -> None:
    """Allocate, compute, draw, wait, and capture another graph, as a program would go on."""
    x = noise(32, 32)
    assert torch.allclose((x @ x).cpu(), x.cpu() @ x.cpu(), atol=1e-3)
    assert torch.randn(4, device="cuda").std().item() > 0
    torch.cuda.empty_cache()
    with graph(torch.square, x) as fast:
        assert torch.equal(fast(x), x * x)


def test_a_module_replays_bitwise() -> None:
    """A module's replay gives the plain call's bits, on inputs it has not seen."""
    model = network().eval()
    with torch.no_grad(), graph(model, noise(8, 64)) as fast:
        for _ in range(3):
            x = noise(8, 64)
            assert torch.equal(fast(x), model(x))
        assert (fast.agreement, fast.replays, fast.plain_calls) == ("bitwise", 3, 0)


def test_outputs_are_copies_unless_reused() -> None:
    """The outputs of two calls are two tensors; with reuse_outputs they are one."""
    with graph(torch.neg, noise(4)) as fast:
        one, other = fast(torch.ones(4, device="cuda")), fast(torch.zeros(4, device="cuda"))
        assert one.tolist() == [-1] * 4
        assert other.data_ptr() != one.data_ptr()
    with graph(torch.neg, noise(4), reuse_outputs=True) as fast:
        assert fast(noise(4)).data_ptr() == fast(noise(4)).data_ptr()


def test_nested_arguments_and_results_keep_their_structure() -> None:
    """Tuples, lists and dicts go in and come out as they are; plain values are part of the key."""

    def mix(pair: tuple[Tensor, list[Tensor]], *, scale: float) -> dict[str, Any]:
        return {"sum": pair[0] + pair[1][0] * scale, "rest": (pair[1][1] * 2, "word", 3)}

    given = (noise(4), [noise(4), noise(4)])
    with graph(mix, given, scale=2.0) as fast:
        got, expected = fast(given, scale=2.0), mix(given, scale=2.0)
        assert torch.equal(got["sum"], expected["sum"])
        assert torch.equal(got["rest"][0], expected["rest"][0])
        assert got["rest"][1:] == ("word", 3)
        assert fast.replays == 1
        assert torch.equal(fast(given, scale=3.0)["sum"], mix(given, scale=3.0)["sum"])
        assert (fast.replays, fast.plain_calls) == (1, 1)
        assert "has another shape, type or value" in fast.why_plain


def test_a_shape_seen_twice_gets_a_graph_up_to_the_limit() -> None:
    """New shapes run plainly once, then replay; past the limit they stay plain, with the reason."""
    with graph(torch.square, noise(4), buckets=2) as fast:
        for size in (5, 5, 6, 6, 6):
            x = noise(size)
            assert torch.equal(fast(x), x * x)
        assert (len(fast.graphs), fast.replays, fast.plain_calls) == (2, 1, 4)
        assert "all 2 buckets are in use" in fast.why_plain


def test_a_bucket_that_cannot_be_captured_stays_plain() -> None:
    """A branch that syncs on a larger shape never raises in mid-run, and is tried once."""

    def step(x: Tensor) -> Tensor:
        return x * x.sum().item() if x.numel() > 4 else x + 1

    with graph(step, noise(4)) as fast:
        x = noise(8)
        for _ in range(3):
            assert torch.equal(fast(x), step(x))
        assert (len(fast.graphs), fast.plain_calls) == (1, 3)
        assert "waits for the GPU" in fast.why_plain


def train_step(
    model: Module, optimizer: Thing, *, to_none: bool | None
) -> Callable[..., torch.Tensor]:
    """Return a whole training step."""

    def step(x: Tensor, y: Tensor) -> Tensor:
        if to_none is not None:
            optimizer.zero_grad(set_to_none=to_none)
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


OPTIMIZERS = {
    "adam": lambda p: torch.optim.Adam(p, lr=1e-2, capturable=True),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-2, capturable=True),
    "sgd": lambda p: torch.optim.SGD(p, lr=1e-2),
    "momentum": lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9),
}


@pytest.mark.parametrize("to_none", [True, False, None])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_follows_the_plain_course(name: str, to_none: bool | None) -> None:  # noqa: FBT001
    """Five steps by a graph leave the parameters where five plain steps leave them."""
    losses, ends = [], []
    batches = [(noise(8, 64), noise(8, 64)) for _ in range(5)]
    for graphed in (False, True):
        torch.manual_seed(1)
        model = network()
        optimizer = OPTIMIZERS[name](model.parameters())
        step = train_step(model, optimizer, to_none=to_none)
        before = [p.detach().clone() for p in model.parameters()]
        run: Any = graph(step, *batches[0]) if graphed else step
        assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
        losses.append([run(*batch).item() for batch in batches])
        ends.append([p.detach().clone() for p in model.parameters()])
        if graphed:
            assert (run.replays, run.plain_calls) == (5, 0)
            run.close()
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    assert all(torch.allclose(a, b, rtol=1e-3, atol=1e-4) for a, b in zip(*ends, strict=True))


@pytest.mark.parametrize("to_none", [True, False])
def test_training_goes_on_between_graphs(to_none: bool) -> None:  # noqa: FBT001
    """Batches of two sizes, each with its graph and gradients, train one model as plainly."""
    ends = []
    batches = [(noise(size, 64), noise(size, 64)) for size in (8, 16, 16, 8, 16, 8, 8)]
    for graphed in (False, True):
        torch.manual_seed(1)
        model = network()
        optimizer = OPTIMIZERS["adam"](model.parameters())
        step = train_step(model, optimizer, to_none=to_none)
        run: Any = graph(step, *batches[0]) if graphed else step
        for batch in batches:
            run(*batch)
        ends.append([p.detach().clone() for p in model.parameters()])
        ends[-1] += [p.grad.clone() for p in model.parameters()]
        if graphed:
            assert (len(run.graphs), run.replays, run.plain_calls) == (2, 6, 1)
            run.close()
    assert all(torch.allclose(a, b, rtol=1e-3, atol=1e-4) for a, b in zip(*ends, strict=True))


@pytest.mark.parametrize("to_none", [True, False])
def test_gradients_may_be_cleared_between_calls(to_none: bool) -> None:  # noqa: FBT001
    """zero_grad outside of the function works, also when it drops the gradients."""
    ends = []
    batches = [(noise(8, 64), noise(8, 64)) for _ in range(4)]
    for graphed in (False, True):
        torch.manual_seed(1)
        model = network()
        optimizer = OPTIMIZERS["sgd"](model.parameters())
        step = train_step(model, optimizer, to_none=None)
        run: Any = graph(step, *batches[0]) if graphed else step
        for batch in batches:
            optimizer.zero_grad(set_to_none=to_none)
            run(*batch)
        ends.append([p.grad.clone() for p in model.parameters()])
    assert all(torch.allclose(a, b, rtol=1e-3, atol=1e-5) for a, b in zip(*ends, strict=True))


def test_a_changed_learning_rate_is_not_ignored() -> None:
    """A new learning rate is another bucket, so that no replay uses the old one."""
    model = network()
    optimizer = OPTIMIZERS["sgd"](model.parameters())
    x, y = noise(8, 64), noise(8, 64)
    with graph(train_step(model, optimizer, to_none=True), x, y) as fast:
        optimizer.param_groups[0]["lr"] = 0.0
        before = [p.detach().clone() for p in model.parameters()]
        fast(x, y)
        assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
        assert fast.plain_calls == 1
        assert "an optimizer's setting" in fast.why_plain
        fast(x, y)
        fast(x, y)
        assert fast.replays == 2
        assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


def test_train_and_eval_are_two_buckets() -> None:
    """Dropout is on in training mode and off in eval mode, whatever was captured."""
    model = torch.nn.Dropout(0.5)
    x = torch.ones(1000, device="cuda")
    with torch.no_grad(), graph(model, x) as fast:
        assert (fast(x) == 0).any()
        model.eval()
        assert torch.equal(fast(x), x)
        assert "train/eval" in fast.why_plain


def test_random_numbers_go_on_as_plainly() -> None:
    """Capturing draws nothing, and replays draw what plain calls would have drawn."""

    def step(x: Tensor) -> Tensor:
        return x + torch.rand_like(x)

    x = noise(100)
    torch.manual_seed(3)
    plain = [step(x) for _ in range(3)]
    torch.manual_seed(3)
    with graph(step, x) as fast:
        assert all(torch.equal(fast(x), expected) for expected in plain)


class Cached:
    """A step with a cache that it writes in place."""

    def __init__(self) -> None:
        """Make an empty cache."""
        self.cache = torch.zeros(16, 4, device="cuda")
        self.position = torch.zeros(1, device="cuda", dtype=torch.long)

    def step(self, row: Tensor) -> Tensor:
        """Append a row; return the sum of all."""
        self.cache.index_copy_(0, self.position, row)
        self.position.add_(1)
        return self.cache.sum(0)


def test_a_cache_written_in_place_is_restored_and_carried_on() -> None:
    """State behind a bound method is as before after the capture, and replays go on with it."""
    cached, plain = Cached(), Cached()
    with graph(cached.step, noise(1, 4)) as fast:
        assert cached.position.item() == 0
        assert not cached.cache.any()
        for _ in range(3):
            row = noise(1, 4)
            assert torch.equal(fast(row), plain.step(row))
        assert torch.equal(cached.cache, plain.cache)


def test_an_argument_changed_in_place_is_changed_for_the_caller() -> None:
    """In-place changes of an argument reach the caller's tensor."""
    with graph(lambda x: x.add_(1), noise(4)) as fast:
        x = torch.zeros(4, device="cuda")
        fast(x)
        assert x.tolist() == [1] * 4
        assert fast.replays == 1


def test_batch_norm_statistics_are_restored() -> None:
    """Running statistics are as before after the capture."""
    norm = torch.nn.BatchNorm1d(4).cuda()
    with torch.no_grad(), graph(norm, noise(8, 4)) as fast:
        assert norm.num_batches_tracked.item() == 0
        assert norm.running_mean.tolist() == [0] * 4
        fast(noise(8, 4))
        assert norm.num_batches_tracked.item() == 1


def refused(function: Callable[..., object], *args: object, **kwargs: Thing) -> str:
    """Return the sentence that a capture is refused with."""
    with pytest.raises(GraphRefusedError) as caught:
        graph(function, *args, **kwargs)
    live_on()
    return str(caught.value)


def test_a_wait_is_refused_with_its_line() -> None:
    """`.item()` names this file and the line."""
    sentence = refused(lambda x: x * x.sum().item(), noise(4))
    assert "waits for the GPU" in sentence
    assert "test_graph_gpu.py:" in sentence


def test_an_explicit_synchronize_is_refused() -> None:
    """torch.cuda.synchronize, which torch's own check lets pass, is found in the capture."""

    def step(x: Tensor) -> Tensor:
        y = x * 2
        torch.cuda.synchronize()
        return y

    assert "what no capture allows" in refused(step, noise(4))


@pytest.mark.parametrize("name", ["nonzero", "index"])
def test_shapes_that_depend_on_data_are_refused(name: str) -> None:
    """Nonzero and boolean masks are refused for the shape that they make."""
    step = {"nonzero": torch.nonzero, "index": lambda x: x[x > 0]}[name]
    assert "shape depends on the data" in refused(step, noise(64))


def test_a_tensor_in_cpu_memory_is_refused() -> None:
    """As an argument, and as something that the function copies."""
    assert "is in CPU memory" in refused(torch.square, torch.ones(3))
    table = torch.ones(4)
    assert "CPU memory" in refused(lambda x: x + table.to("cuda", non_blocking=True), noise(4))
    scalar = torch.tensor(2.0)
    assert "CPU memory" in refused(lambda x: x * scalar, noise(4))


def test_memory_past_the_allocator_is_refused() -> None:
    """CudaMalloc by hand breaks the capture, and nothing after it."""
    runtime = cuda_runtime()

    def step(x: Tensor) -> Tensor:
        pointer = ctypes.c_void_p()
        runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(1024))
        return x * 2

    assert "cudaMalloc" in refused(step, noise(4))


def cuda_runtime() -> ctypes.CDLL:
    """Return the CUDA runtime that torch has loaded."""
    with open("/proc/self/maps", encoding="utf-8") as maps:  # noqa: PTH123
        path = next(line.split()[-1] for line in maps if "libcudart" in line)
    return ctypes.CDLL(path)


def test_python_state_is_refused() -> None:
    """A count kept in Python shows in the comparison, and is put back."""

    class Counter:
        count = 0

        def step(self, x: Tensor) -> Tensor:
            self.count += 1
            return x * self.count

    counter = Counter()
    counter.count = 5
    assert "off by" in refused(counter.step, noise(4))
    assert counter.count == 5


def test_a_tensor_bound_anew_is_refused() -> None:
    """A hidden state that is rebound at each call shows in the second compared call."""

    class Recurrent:
        def __init__(self) -> None:
            self.hidden = torch.zeros(4, device="cuda")

        def step(self, x: Tensor) -> Tensor:
            self.hidden = self.hidden * 0.5 + x
            return self.hidden

    recurrent = Recurrent()
    hidden = recurrent.hidden
    assert "bound anew" in refused(recurrent.step, noise(4))
    assert recurrent.hidden is hidden
    assert not hidden.any()


def test_nothing_launched_is_refused() -> None:
    """A function that leaves the GPU alone has nothing to capture."""
    assert "launches nothing" in refused(lambda x: x, noise(4))


def test_gradients_through_a_graph_are_refused() -> None:
    """Arguments or outputs that need gradients ask for the whole step."""
    assert "whole training step" in refused(torch.square, noise(4).requires_grad_())
    assert "whole training step" in refused(network(), noise(4, 64))


def test_an_optimizer_that_cannot_be_captured_is_refused() -> None:
    """Adam without capturable=True is refused with the words to add; nothing has moved."""
    model = network()
    optimizer = torch.optim.Adam(model.parameters())
    before = [p.detach().clone() for p in model.parameters()]
    step = train_step(model, optimizer, to_none=True)
    sentence = refused(step, noise(8, 64), noise(8, 64))
    assert "capturable=True" in sentence
    assert "test_graph_gpu.py:" in sentence
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    assert not optimizer.state
    assert all(p.grad is None for p in model.parameters())
    assert step(noise(8, 64), noise(8, 64)).item() > 0


def test_an_opaque_result_is_refused() -> None:
    """A result in which tensors cannot be found would alias the graph's buffers."""

    class Box:
        def __init__(self, value: Tensor) -> None:
            self.value = value

    assert "returns a Box" in refused(lambda x: Box(x * 2), noise(4))


def test_the_functions_own_error_passes() -> None:
    """What the function raises by itself is not dressed up."""

    def step(_: Tensor) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        graph(step, noise(4))


def test_random_state_survives_a_refusal() -> None:
    """After a refused capture the generators go on where they were."""
    torch.manual_seed(5)
    expected = torch.rand(4, device="cuda")
    torch.manual_seed(5)
    with pytest.raises(GraphRefusedError):
        graph(lambda x: x * torch.rand_like(x).sum().item(), torch.ones(4, device="cuda"))
    assert torch.equal(torch.rand(4, device="cuda"), expected)


def test_it_works_on_the_callers_stream() -> None:
    """A replay on a side stream is ordered after that stream's work, and between streams."""
    with graph(torch.square, noise(1 << 20)) as fast:
        stream = torch.cuda.Stream()
        x = torch.zeros(1 << 20, device="cuda")
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            torch.cuda._sleep(20_000_000)  # noqa: SLF001 - keeps the stream busy
            x.fill_(3)
            on_side = fast(x)
        on_default = fast(torch.full((1 << 20,), 2.0, device="cuda"))
        torch.cuda.synchronize()
        assert (on_side == 9).all()
        assert (on_default == 4).all()
        assert fast.replays == 2


def test_it_works_in_a_worker_thread() -> None:
    """Threads share the graph; each gets its own results."""
    results: dict[int, bool] = {}
    with graph(torch.square, noise(4096)) as fast:

        def work(number: int) -> None:
            with torch.cuda.stream(torch.cuda.Stream()):
                x = torch.full((4096,), float(number), device="cuda")
                results[number] = all(bool((fast(x) == number**2).all()) for _ in range(50))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == dict.fromkeys(range(4), True)


def test_it_can_be_made_in_a_worker_thread() -> None:
    """Capturing works outside of the main thread, also a training step."""
    model = network()
    step = train_step(model, OPTIMIZERS["adam"](model.parameters()), to_none=True)
    done: list[object] = []

    def work() -> None:
        with graph(step, noise(8, 64), noise(8, 64)) as fast:
            fast(noise(8, 64), noise(8, 64))
            done.append(fast.replays)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [1]


def test_autocast_weights_outlive_the_block() -> None:
    """A graph captured under autocast holds its own cast weights."""
    model = network()
    with torch.no_grad():
        with torch.autocast("cuda", dtype=torch.bfloat16):
            fast = graph(model, noise(8, 64))
        junk = [noise(64, 64) for _ in range(100)]
        with torch.autocast("cuda", dtype=torch.bfloat16):
            x = noise(8, 64)
            assert torch.equal(fast(x), model(x))
    assert (fast.replays, len(junk)) == (1, 100)
    fast.close()


def test_cleared_workspaces_do_not_reach_the_graph() -> None:
    """A graph's matrix products go on when torch's workspaces are freed, as torch.compile does."""
    a, b = noise(512, 512).bfloat16(), noise(512, 512).bfloat16()
    with graph(torch.matmul, a, b) as fast:
        torch._C._cuda_clearCublasWorkspaces()  # noqa: SLF001 - what torch.compile calls
        torch.cuda.empty_cache()
        assert torch.equal(fast(a, b), a @ b)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch.compile's own imports
def test_a_compiled_function_is_captured() -> None:
    """A function that torch.compile has compiled is captured as it is."""
    compiled = torch.compile(lambda x: (x * 2).sin() + 1)
    with torch.no_grad(), graph(compiled, noise(64)) as fast:
        x = noise(64)
        assert torch.equal(fast(x), compiled(x))
        assert fast.replays == 1


def test_inference_mode_is_a_mode_of_its_own() -> None:
    """A graph captured in inference mode replays there, and is not used outside."""
    model = network()
    x = noise(8, 64)
    with torch.inference_mode():
        fast = graph(model, x)
        assert torch.equal(fast(x), model(x))
    assert fast(x).requires_grad
    assert (fast.replays, fast.plain_calls) == (1, 1)
    fast.close()


def test_closing_frees_the_memory() -> None:
    """After close the pool's memory is given back, and calls are plain."""
    x = noise(1 << 22)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    before = torch.cuda.memory_reserved()
    fast = graph(lambda x: (x * 2).cos().sin(), x)
    assert torch.cuda.memory_reserved() > before
    fast.close()
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == before
    assert torch.equal(fast(x), (x * 2).cos().sin())
    assert fast.why_plain == "the graphs are closed"


def test_a_reloaded_parameter_is_noticed() -> None:
    """A parameter whose memory is swapped is not read from the old place."""
    model = network()
    x = noise(8, 64)
    with torch.no_grad(), graph(model, x) as fast:
        model[0].weight.data = noise(64, 64)
        assert torch.equal(fast(x), model(x))
        assert "a parameter's memory" in fast.why_plain


SMID = """
extern "C" __global__ void note(int* seen) {
    unsigned id; asm volatile("mov.u32 %0, %%smid;" : "=r"(id)); atomicExch(&seen[id], 1);
    for (long long t = clock64(); clock64() - t < 200000;) {}
}
"""


def test_a_graph_made_in_a_partition_stays_on_its_sms() -> None:
    """Captured and replayed in a green context's stream, the kernels run on its SMs alone."""
    cupy = pytest.importorskip("cupy")
    partition = pytest.importorskip("tailwave.cures.library.partition").partition
    note = cupy.RawKernel(SMID, "note")

    def step(seen: Tensor) -> Tensor:
        with cupy.cuda.Stream.from_external(torch.cuda.current_stream()):
            note((264,), (1024,), (cupy.from_dlpack(seen),))
        return seen + 0

    seen = torch.zeros(256, device="cuda", dtype=torch.int32)
    with graph(step, seen) as fast:
        assert len(fast(seen).nonzero()) > 32
        with partition(sms=32) as group:
            with torch.cuda.stream(group.torch()):
                inside = [fast(torch.zeros_like(seen)) for _ in range(3)]
            torch.cuda.synchronize()
            assert fast.replays == 3
            ids = {int(i) for i in inside[-1].nonzero().flatten().tolist()}
            assert ids <= set(group.prove())
            fast.close()


def test_cupy_arrays() -> None:
    """A CuPy function replays on new arrays with the plain call's bits, on the current stream."""
    cupy = pytest.importorskip("cupy")

    def step(x: Thing, y: Thing) -> Thing:
        return {"z": cupy.sqrt(x * x + y), "w": x.sum(axis=0)}

    x, y = cupy.random.rand(64, 8), cupy.random.rand(64, 8)
    with graph(step, x, y) as fast:
        for stream in (cupy.cuda.Stream.null, cupy.cuda.Stream(non_blocking=True)):
            with stream:
                x, y = cupy.random.rand(64, 8), cupy.random.rand(64, 8)
                got, expected = fast(x, y), step(x, y)
                assert cupy.array_equal(got["z"], expected["z"])
                assert cupy.array_equal(got["w"], expected["w"])
        assert (fast.agreement, fast.replays) == ("bitwise", 2)


def test_cupy_state_and_refusal() -> None:
    """A CuPy array that the function changes is restored; a wait is refused, and CuPy goes on."""
    cupy = pytest.importorskip("cupy")
    total = cupy.zeros(4)

    def step(x: Thing) -> Thing:
        total[...] += x
        return total * 2

    ones = cupy.ones(4)
    with graph(step, ones) as fast:
        assert total.tolist() == [0] * 4
        assert fast(ones).tolist() == [2] * 4
        assert fast(ones).tolist() == [4] * 4
    with pytest.raises(GraphRefusedError, match=r"test_graph_gpu.py:\d+ what no capture allows"):
        graph(lambda x: x * float(x.sum()), ones)
    assert float((ones + 1).sum()) == 8
    with graph(cupy.square, ones * 3) as fast:
        assert fast(ones * 3).tolist() == [9] * 4


ADD = 'extern "C" __global__ void add(float* x, float y) { x[threadIdx.x] += y; }'


def test_cuda_core_launches() -> None:
    """A function of a cuda-core stream is captured; its buffer is restored and then counts on."""
    core = pytest.importorskip("cuda.core")
    device = core.Device()
    device.set_current()
    stream = device.create_stream()
    options = core.ProgramOptions(arch=f"sm_{device.arch}")
    program = core.Program(ADD, code_type="c++", options=options)
    kernel = program.compile("cubin").get_kernel("add")
    buffer = device.allocate(128, stream=stream)
    buffer.copy_from(pinned(core, bytes(128)), stream=stream)
    stream.sync()
    config = core.LaunchConfig(grid=1, block=32)

    def step(target: Thing) -> None:
        for _ in range(5):
            core.launch(target, config, kernel, buffer, ctypes.c_float(1.0))

    def value() -> float:
        host = core.LegacyPinnedMemoryResource().allocate(128)
        buffer.copy_to(host, stream=stream)
        stream.sync()
        return ctypes.c_float.from_address(int(host.handle)).value

    with graph(step, stream=stream) as fast:
        assert value() == 0
        fast()
        fast(stream)
        assert value() == 10
        assert (fast.agreement, fast.replays) == ("bitwise", 2)

    def waits(target: Thing) -> None:
        step(target)
        target.sync()

    with pytest.raises(GraphRefusedError, match="what no capture allows"):
        graph(waits, stream=stream)
    step(stream)
    assert value() == 15


def pinned(core: Thing, values: bytes) -> Thing:
    """Return host memory with these bytes."""
    buffer = core.LegacyPinnedMemoryResource().allocate(len(values))
    ctypes.memmove(int(buffer.handle), values, len(values))
    return buffer

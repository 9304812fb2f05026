"""The torch parts of a capture on the CPU: state kept and put back, tensors copied and compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest

from tailwave.cures.library.capture.torch_state import State, TorchArrays
from tailwave.cures.library.capture.torch_watch import watch
from tailwave.cures.library.graph import graph
from tailwave.errors import GraphRefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

torch: Any = pytest.importorskip("torch")
Tensor: TypeAlias = Any


def trainer(optimizer_of: Callable[[Any], Any]) -> tuple[Any, Any, Callable[[], Tensor]]:
    """Return a module, its optimizer, and a training step that reaches both."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3))
    optimizer = optimizer_of(model.parameters())

    def step() -> Tensor:
        loss = model(torch.rand(4, 3)).square().sum()
        loss.backward()
        optimizer.step()
        return loss

    return model, optimizer, step


def state_of(step: Callable[[], Tensor]) -> State:
    """Keep a step's state."""
    return State(TorchArrays(torch), {"step": step}, torch.device("cpu"))


def test_a_training_step_is_undone() -> None:
    """Parameters, running statistics, gradients, moments and random numbers are as before."""
    model, optimizer, step = trainer(torch.optim.Adam)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    drawn = torch.get_rng_state()
    state = state_of(step)
    step()
    assert state.has_stepped()
    state.back()
    after = model.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not optimizer.state
    assert torch.equal(drawn, torch.get_rng_state())


def test_the_graphs_moments_and_gradients_start_from_nothing() -> None:
    """What the first runs made stays bound for the graph, at zero."""
    model, optimizer, step = trainer(torch.optim.Adam)
    state = state_of(step)
    step()
    made = optimizer.state[model[0].weight]["exp_avg"]
    gradient = model[0].weight.grad
    state.settle()
    state.back()
    state.ready()
    assert optimizer.state[model[0].weight]["exp_avg"] is made
    assert model[0].weight.grad is gradient
    assert not made.any()
    assert not gradient.any()
    assert [pair[1] is not None for pair in state.bound_gradients()] == [True] * 4


def test_gradients_from_before_keep_their_values() -> None:
    """A gradient that was there is bound again with its values."""
    model, _, step = trainer(lambda p: torch.optim.SGD(p, 0.1))
    step()
    gradient = model[0].weight.grad
    values = gradient.clone()
    state = state_of(step)
    model.zero_grad(set_to_none=True)
    step()
    state.back()
    assert model[0].weight.grad is gradient
    assert torch.equal(gradient, values)


def test_changes_are_told_by_label() -> None:
    """What differs from before is told by where it is; gradients too."""
    _, _, step = trainer(lambda p: torch.optim.SGD(p, 0.1))
    state = state_of(step)
    assert state.changed() == {}
    step()
    labels = state.changed().keys()
    assert "model.1.running_mean" in labels
    assert any(label.endswith(".grad") for label in labels)


def test_inference_changes_no_parameter() -> None:
    """Without a backward pass nothing has stepped, and no gradient is bound."""
    model = torch.nn.Linear(2, 2)

    def step() -> Tensor:
        return model(torch.ones(1, 2))

    state = state_of(step)
    with torch.no_grad():
        step()
    state.settle()
    assert not state.has_stepped()
    assert state.bound_gradients() == []


def test_an_expanded_buffer_is_left_alone() -> None:
    """A buffer whose elements share memory cannot be written, and is no obstacle."""
    positions = torch.arange(4).expand(3, 4)
    state = state_of(lambda: positions + 1)
    state.back()
    assert positions.tolist() == [[0, 1, 2, 3]] * 3


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16", "int64", "bool", "complex64"])
def test_tensors_are_copied_and_compared_by_bits(name: str) -> None:
    """A copy has the same bits and layout; another value has not."""
    arrays = TorchArrays(torch)
    tensor = torch.ones(4, 3, dtype=getattr(torch, name)).t()
    copy = arrays.copy(tensor)
    assert copy.stride() == tensor.stride()
    assert arrays.same_bits(tensor, copy)
    copy[0, 0] = 0
    assert not arrays.same_bits(tensor, copy)
    assert arrays.type_name(tensor) == name


def test_other_values_keep_type_and_layout() -> None:
    """Values from the host go into a tensor like the given one, bfloat16 too."""
    arrays = TorchArrays(torch)
    tensor = torch.zeros(2, 3, dtype=torch.bfloat16).t()
    made = arrays.like(tensor, np.arange(6, dtype=np.float32).reshape(3, 2))
    assert made.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert (made.dtype, made.stride()) == (torch.bfloat16, tensor.stride())


def test_inference_tensors_are_copied_to_tensors_that_autograd_knows() -> None:
    """A static input made in inference mode may be saved for backward."""
    with torch.inference_mode():
        assert not TorchArrays(torch).copy(torch.ones(2)).is_inference()


def test_watching_lets_work_on_one_memory_pass() -> None:
    """Work on the CPU alone, with plain numbers, is none of a graph's business."""
    with watch(torch, set()):
        x = torch.where(torch.ones(3) > 0, torch.ones(3), 0.0) * 2
    assert x.tolist() == [2] * 3


def test_without_a_gpu_a_graph_is_refused() -> None:
    """Torch without CUDA says so, and the function goes on working."""
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(GraphRefusedError, match="no CUDA GPU"):
        graph(torch.square, torch.ones(2))

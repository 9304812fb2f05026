"""Keeps what a function changes in a torch program, and puts it back in place."""

from __future__ import annotations

from types import ModuleType

import numpy as np

from tailwave.cures.library.capture.captor import Array, Foreign, Values
from tailwave.cures.library.capture.survey import Survey, survey


class TorchArrays:
    """Copies and compares torch tensors."""

    def __init__(self, torch: ModuleType) -> None:
        """Keep torch, which the program has imported."""
        self.torch = torch

    def is_array(self, item: object) -> bool:
        """Tell whether something is a tensor."""
        return isinstance(item, self.torch.Tensor)

    def type_name(self, array: Array) -> str:
        """Return the type of the elements, as "float32"."""
        return str(array.dtype).removeprefix("torch.")

    def same_bits(self, one: Array, other: Array) -> bool:
        """Tell whether two tensors hold the same bytes, NaN included; one may be on the CPU."""
        if one.shape != other.shape or one.dtype != other.dtype:
            return False
        return bool(self.torch.equal(self._bytes(one), self._bytes(other.to(one.device))))

    def on_host(self, array: Array) -> Values:
        """Return the values; as float32 where numpy has no such type (bfloat16, 8-bit floats)."""
        plain = array.detach().cpu()
        known = {self.torch.float16, self.torch.float32, self.torch.float64}
        if plain.dtype.is_floating_point and plain.dtype not in known:
            plain = plain.float()
        values: Values = plain.resolve_conj().resolve_neg().numpy()
        return values

    def copy(self, array: Array) -> Array:
        """Return a copy that autograd knows, in inference mode too."""
        with self.torch.inference_mode(mode=False), self.torch.no_grad():
            return self.torch.empty_like(array, requires_grad=False).copy_(array)

    def like(self, array: Array, values: Values) -> Array:
        """Return a tensor laid out as another, with values of its own."""
        made = self.copy(array)
        with self.torch.no_grad():
            return made.copy_(self.torch.from_numpy(np.ascontiguousarray(values)).view(array.shape))

    def _bytes(self, array: Array) -> Array:
        """Return a tensor's bytes in one row."""
        return array.detach().contiguous().reshape(-1).view(self.torch.uint8)


class State:
    """A torch program's state before a graph was made, and how the graph needs it bound."""

    def __init__(self, arrays: TorchArrays, roots: dict[str, object], device: Foreign) -> None:
        """Find the state that the roots lead to, and copy it."""
        self._arrays, self._torch = arrays, arrays.torch
        self._roots, self._device = roots, device
        self.found = self._survey()
        self._bindings = [(holder, holder.read()) for holder in self.found.holders]
        self._saved = [(t, self._copy(t)) for t in self.found.arrays.values() if _is_kept(t)]
        self._parameters = [
            (label, t) for label, t in self.found.arrays.items() if t.is_leaf and t.requires_grad
        ]
        self._gradients = [_Gradient(t, self._copy) for _, t in self._parameters]
        self.generators = [
            g for g in self.found.of(self._torch.Generator) if g.device.type == "cuda"
        ]
        on_gpu = device.type == "cuda"
        self._random = self._torch.get_rng_state()
        self._random_gpu = self._torch.cuda.get_rng_state(device) if on_gpu else None
        self._drawn = [generator.get_state() for generator in self.generators]
        self._steady: list[tuple[Foreign, dict[object, object]]] = []
        self._made: list[Array] = []
        self._kept: list[Array] = []

    def back(self) -> None:
        """Put everything back as it was before."""
        for holder, bindings in self._bindings:
            holder.write(bindings)
        with self._torch.inference_mode():
            for tensor, saved in self._saved:
                _writable(tensor).copy_(saved)
        for gradient in self._gradients:
            gradient.back(self._torch)
        self._torch.set_rng_state(self._random)
        if self._random_gpu is not None:
            self._torch.cuda.set_rng_state(self._random_gpu, self._device)
        for generator, drawn in zip(self.generators, self._drawn, strict=True):
            generator.set_state(drawn)

    def settle(self) -> None:
        """Note what the graph works on beyond the state from before.

        Those are the gradients and the optimizers' tensors that its first runs made.
        """
        optimizers = {
            label: item.state
            for label, item in self.found.objects.items()
            if isinstance(item, self._torch.optim.Optimizer)
        }
        after = survey(optimizers, self._arrays.is_array)
        known = {id(tensor) for tensor in self.found.arrays.values()}
        self._steady = [(holder, holder.read()) for holder in after.holders]
        self._made = [t for t in after.arrays.values() if id(t) not in known]
        self._kept = [tensor.grad for _, tensor in self._parameters]

    def ready(self) -> None:
        """Give the graph its bindings, and them the values from before; zero is nothing yet.

        An optimizer's moments start from zero; where one starts from anything else, the first
        replay disagrees with the first plain call, and the graph is refused for that.
        """
        self.back()
        for holder, bindings in self._steady:
            holder.write(bindings)
        with self._torch.inference_mode():
            for tensor in self._made:
                _writable(tensor).zero_()
        for gradient, kept in zip(self._gradients, self._kept, strict=True):
            gradient.rebind(self._torch, kept)

    def bound_gradients(self) -> list[tuple[Array, Array]]:
        """Return each trained parameter with the gradient tensor that the graph writes, or None."""
        return [
            (gradient.parameter, kept)
            for gradient, kept in zip(self._gradients, self._kept, strict=True)
            if gradient.is_touched(kept)
        ]

    def has_stepped(self) -> bool:
        """Tell whether runs of the function changed a parameter or a gradient since."""
        return any(gradient.is_touched(gradient.parameter.grad) for gradient in self._gradients)

    def changed(self) -> dict[str, Array]:
        """Return copies of the tensors that are not as they were before, by label."""
        before = {id(tensor): saved for tensor, saved in self._saved}
        changed = {}
        for label, tensor in self._survey().arrays.items():
            saved = before.get(id(tensor))
            if _is_kept(tensor) and (saved is None or not self._arrays.same_bits(tensor, saved)):
                changed[label] = self._copy(tensor)
        for label, tensor in self._parameters:
            if tensor.grad is not None:
                changed[f"{label}.grad"] = self._copy(tensor.grad)
        return changed

    def paired(
        self, plain: dict[str, Array], replay: dict[str, Array]
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return what plain calls and replays changed, each with the other's labels.

        What only one of them changed is paired with its value from before; what had none (a
        gradient that only one leaves bound) has no counterpart.
        """
        saved = {id(tensor): values for tensor, values in self._saved}
        before = {
            label: saved[id(tensor)]
            for label, tensor in self.found.arrays.items()
            if id(tensor) in saved
        }
        both = plain.keys() & replay.keys() | (plain.keys() ^ replay.keys()) & before.keys()
        return (
            {label: plain.get(label, before.get(label)) for label in both},
            {label: replay.get(label, before.get(label)) for label in both},
        )

    def _survey(self) -> Survey:
        """Look through the roots as they are now."""
        return survey(self._roots, self._arrays.is_array)

    def _copy(self, tensor: Array) -> Array:
        """Return a copy; in CPU memory where the GPU's has no room."""
        with self._torch.inference_mode():
            try:
                return tensor.detach().clone()
            except self._torch.OutOfMemoryError:
                return tensor.detach().cpu()


class _Gradient:
    """A parameter's gradient from before."""

    def __init__(self, parameter: Array, copy: Foreign) -> None:
        """Note the tensor and copy its values."""
        self.parameter, self.before = parameter, parameter.grad
        self.values = None if self.before is None else copy(self.before)
        self._versions = _version(parameter), _version(self.before)

    def is_touched(self, gradient: Array) -> bool:
        """Tell whether runs since made, changed or dropped the gradient, or the parameter."""
        if gradient is None:
            return self._versions[0] != _version(self.parameter)
        return gradient is not self.before or self._versions[1] != _version(gradient)

    def back(self, torch: ModuleType) -> None:
        """Bind the tensor from before, with its values."""
        self.rebind(torch, self.before)

    def rebind(self, torch: ModuleType, gradient: Array) -> None:
        """Bind a tensor as the gradient, with the values from before, or zero for none."""
        self.parameter.grad = gradient
        if gradient is None:
            return
        with torch.inference_mode():
            if self.values is None:
                _writable(gradient).zero_()
            else:
                _writable(gradient).copy_(self.values)


def _version(tensor: Array) -> int:
    """Return torch's count of changes; inference tensors have none."""
    return 0 if tensor is None or tensor.is_inference() else tensor._version  # noqa: SLF001


def _writable(tensor: Array) -> Array:
    """Return a tensor to write through without autograd taking it for a change by the user."""
    return tensor if tensor.is_inference() else tensor.data


def _is_kept(tensor: Array) -> bool:
    """Tell whether a tensor has memory of its own to copy; an expanded one cannot be written."""
    if str(tensor.layout) != "torch.strided" or tensor.device.type not in {"cpu", "cuda"}:
        return False
    return all(step or size == 1 for size, step in zip(tensor.shape, tensor.stride(), strict=True))

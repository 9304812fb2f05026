"""One token at a time from a small decoder: the host launches slower than the GPU computes.

    python examples/launch_bound.py [--json]

Before: the decoder's step as it is, kernel by kernel. After: the same through ``tailwave.graph``,
which launches all of them at once, and has compared its outputs with the plain step's on inputs
that it was not captured with. Needs PyTorch, tailwave[cuda] and a GPU.
"""

from __future__ import annotations

from typing import NamedTuple

import showing
from showing import Tensor, Torch

import tailwave

LAYERS, WIDTH, HEADS, CONTEXT, WORDS = 12, 512, 8, 256, 8192
ROUNDS, RUNS = 3, 120
BEFORE, AFTER = "eager", "tailwave.graph"


class Layer(NamedTuple):
    """The weights of one layer, and the keys and values of the tokens before."""

    attention: Tensor
    out: Tensor
    up: Tensor
    down: Tensor
    keys: Tensor
    values: Tensor


class Decoder:
    """A decoder's step for one new token; its context stays as it is, so that runs are alike."""

    def __init__(self, torch: Torch, device: str) -> None:
        """Make random weights."""
        self._torch = torch
        self._functional = torch.nn.functional
        torch.manual_seed(0)
        dtype = torch.bfloat16

        def noise(*shape: int) -> Tensor:
            return torch.randn(shape, device=device, dtype=dtype) * shape[-1] ** -0.5

        past = (1, HEADS, CONTEXT, WIDTH // HEADS)
        self._layers = [
            Layer(
                noise(3 * WIDTH, WIDTH),
                noise(WIDTH, WIDTH),
                noise(4 * WIDTH, WIDTH),
                noise(WIDTH, 4 * WIDTH),
                noise(*past),
                noise(*past),
            )
            for _ in range(LAYERS)
        ]
        self._words = noise(WORDS, WIDTH)

    def step(self, token: Tensor) -> Tensor:
        """Return the scores of the next token."""
        x = self._functional.embedding(token, self._words)
        for layer in self._layers:
            x = x + self._attend(layer, self._norm(x))
            x = x + self._think(layer, self._norm(x))
        return self._norm(x) @ self._words.T

    def _norm(self, x: Tensor) -> Tensor:
        return self._functional.layer_norm(x, (WIDTH,))

    def _attend(self, layer: Layer, x: Tensor) -> Tensor:
        linear = self._functional.linear
        split = linear(x, layer.attention).view(1, 3, HEADS, 1, WIDTH // HEADS)
        query, key, value = split.unbind(1)
        keys = self._torch.cat((layer.keys, key), dim=2)
        values = self._torch.cat((layer.values, value), dim=2)
        seen = self._functional.scaled_dot_product_attention(query, keys, values)
        return linear(seen.reshape(1, WIDTH), layer.out)

    def _think(self, layer: Layer, x: Tensor) -> Tensor:
        linear = self._functional.linear
        return linear(self._functional.gelu(linear(x, layer.up)), layer.down)


def show() -> showing.Shown:
    """Measure both in turns."""
    torch = showing.torch_on_gpu()
    step = Decoder(torch, "cuda").step
    token = torch.zeros(1, device="cuda", dtype=torch.long)
    with tailwave.graph(step, token) as fast:
        steps = {BEFORE: lambda: step(token), AFTER: lambda: fast(token)}
        taken = showing.in_turns(torch, steps, ROUNDS, RUNS)
        agreement = fast.agreement
    before = showing.Row(f"before: {BEFORE}", tuple(taken[BEFORE]))
    after = showing.Row(f"after: {AFTER}", tuple(taken[AFTER]), f"outputs agree: {agreement}")
    sentence = (
        f"A token takes {showing.times_better(before.p50, after.p50)} less, as one launch instead "
        f"of one a kernel (p99 {showing.times_better(before.p99, after.p99)}); the outputs agree "
        f"with the plain step's on new inputs: {agreement}."
    )
    return showing.Shown(torch.cuda.get_device_name(0), (before, after), sentence)


if __name__ == "__main__":
    raise SystemExit(showing.run(__doc__, show))

"""Models with random weights, large enough to be realistic and small enough to record."""

from __future__ import annotations

import itertools
from typing import cast

import torch
import torch.nn.functional as F  # noqa: N812 - the name every PyTorch script uses
from torch import Tensor, nn

from benchmarks.workloads.cases import DEVICE, Step


class Tower(nn.Module):
    """Square linear layers with ReLU between them: ``2 * depth`` kernels a pass."""

    def __init__(self, depth: int, width: int, inputs: int = 0) -> None:
        """Stack ``depth`` layers of ``width``; the first takes ``inputs`` features, if given."""
        super().__init__()
        widths = [inputs or width] + [width] * depth
        self.layers = nn.ModuleList(
            nn.Linear(before, after, bias=False) for before, after in itertools.pairwise(widths)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Run every layer."""
        for layer in self.layers:
            x = F.relu(layer(x))
        return x


class PatchTower(nn.Module):
    """A tower over the patches of a batch of images."""

    def __init__(self, depth: int, width: int, patch: int = 16) -> None:
        """Embed patches of ``patch`` x ``patch`` pixels, then stack ``depth`` layers."""
        super().__init__()
        self.embed = nn.Conv2d(3, width, patch, patch)
        self.tower = Tower(depth, width)

    def forward(self, images: Tensor) -> Tensor:
        """Run the tower over all patches of all images."""
        patches = self.embed(images.to(self.embed.weight.dtype)).flatten(2).transpose(1, 2)
        return cast("Tensor", self.tower(patches))


class RecurrentLoop(nn.Module):
    """Two layers of GRU cells, stepped through a sequence in Python."""

    def __init__(self, width: int) -> None:
        """Make two cells of ``width``."""
        super().__init__()
        self.lower = nn.GRUCell(width, width)
        self.upper = nn.GRUCell(width, width)

    def forward(self, sequence: Tensor) -> Tensor:
        """Run the cells over ``sequence`` (time, batch, width)."""
        low = high = torch.zeros_like(sequence[0])
        for x in sequence:
            low = self.lower(x, low)
            high = self.upper(low, high)
        return high


class Norm(nn.Module):
    """Root-mean-square norm in single precision, written out as the model zoos do."""

    def __init__(self, width: int) -> None:
        """Make the scale."""
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """Normalise the last dimension."""
        single = x.float()
        single = single * torch.rsqrt(single.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.scale * single.to(x.dtype)


class Layer(nn.Module):
    """One decoder layer: attention with rotary positions, then a gated feed-forward net."""

    def __init__(self, width: int, heads: int) -> None:
        """Make the layer's projections and norms."""
        super().__init__()
        inner = 8 * width // 3 // 64 * 64
        self.heads = heads
        self.norm_attention, self.norm_feed = Norm(width), Norm(width)
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, inner, bias=False)
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def attend(self, x: Tensor, turn: tuple[Tensor, Tensor], cache: Cache | None) -> Tensor:
        """Attend causally within ``x``, or to everything in the cache."""
        batch, length, width = x.shape
        split = (batch, length, self.heads, width // self.heads)
        query = rotate(self.query(x).view(split).transpose(1, 2), turn)
        key = rotate(self.key(x).view(split).transpose(1, 2), turn)
        value = self.value(x).view(split).transpose(1, 2)
        if cache is None:
            mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        else:
            keys, values = cache.extend(key, value)
            mixed = F.scaled_dot_product_attention(query, keys, values, attn_mask=cache.visible)
        return cast("Tensor", self.out(mixed.transpose(1, 2).reshape(batch, length, width)))

    def forward(self, x: Tensor, turn: tuple[Tensor, Tensor], cache: Cache | None) -> Tensor:
        """Run the layer."""
        x = x + self.attend(self.norm_attention(x), turn, cache)
        y = self.norm_feed(x)
        return x + cast("Tensor", self.down(F.silu(self.gate(y)) * self.up(y)))


class Cache:
    """Keys and values of one layer in buffers of fixed size, so that a step can be captured."""

    def __init__(self, shape: tuple[int, int, int, int], position: Tensor) -> None:
        """Allocate for ``shape`` (batch, heads, length, head width)."""
        self.keys = torch.zeros(shape, device=DEVICE, dtype=torch.bfloat16)
        self.values = torch.zeros_like(self.keys)
        self.position = position
        self.visible = torch.ones((1, 1, 1, shape[2]), device=DEVICE, dtype=torch.bool)

    def extend(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Write the newest key and value at the current position; return all of them."""
        self.keys.index_copy_(2, self.position, key)
        self.values.index_copy_(2, self.position, value)
        return self.keys, self.values


class Decoder(nn.Module):
    """A Llama-like language model."""

    def __init__(self, layers: int, width: int, heads: int, vocabulary: int = 32000) -> None:
        """Make the embedding, the layers and the head."""
        super().__init__()
        self.width, self.heads = width, heads
        self.embed = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm = Norm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(
        self, tokens: Tensor, turn: tuple[Tensor, Tensor], caches: list[Cache] | None = None
    ) -> Tensor:
        """Return the logits of the last position."""
        x = self.embed(tokens)
        for index, layer in enumerate(self.layers):
            x = layer(x, turn, caches[index] if caches else None)
        return cast("Tensor", self.head(self.norm(x[:, -1])))


def rotate(x: Tensor, turn: tuple[Tensor, Tensor]) -> Tensor:
    """Apply rotary positions."""
    cosine, sine = turn
    low, high = x.chunk(2, dim=-1)
    return x * cosine + torch.cat((-high, low), dim=-1) * sine


def rotary(length: int, head: int) -> tuple[Tensor, Tensor]:
    """Return the cosines and sines of ``length`` positions."""
    rates = 10000.0 ** (-torch.arange(0, head, 2, device=DEVICE).float() / head)
    angles = torch.outer(torch.arange(length, device=DEVICE).float(), rates)
    both = torch.cat((angles, angles), dim=-1)
    return both.cos().to(torch.bfloat16), both.sin().to(torch.bfloat16)


class Decoding:
    """Token-by-token decoding on fixed buffers; ``logits`` runs the model once."""

    def __init__(self, model: Decoder, batch: int, length: int = 512) -> None:
        """Allocate caches for ``length`` positions."""
        head = model.width // model.heads
        self.model, self.length = model, length
        self.tokens = torch.zeros((batch, 1), device=DEVICE, dtype=torch.long)
        self.position = torch.zeros(1, device=DEVICE, dtype=torch.long)
        self.cosine, self.sine = rotary(length, head)
        shape = (batch, model.heads, length, head)
        self.caches = [Cache(shape, self.position) for _ in model.layers]

    def logits(self) -> Tensor:
        """Run the model on the current token and move to the next position."""
        turn = self.cosine[self.position], self.sine[self.position]
        out = cast("Tensor", self.model(self.tokens, turn, self.caches))
        self.position.add_(1).remainder_(self.length)
        return out


def half(module: nn.Module) -> nn.Module:
    """Put a module on the GPU in bfloat16, for inference."""
    return module.to(device=DEVICE, dtype=torch.bfloat16).eval().requires_grad_(requires_grad=False)


def decoder(layers: int, width: int, heads: int) -> Decoder:
    """Make a decoder on the GPU in bfloat16."""
    with torch.device(DEVICE):
        return cast("Decoder", half(Decoder(layers, width, heads)))


def tower(depth: int, width: int, inputs: int = 0) -> nn.Module:
    """Make a tower on the GPU in bfloat16."""
    with torch.device(DEVICE):
        return half(Tower(depth, width, inputs))


def noise(*shape: int) -> Tensor:
    """Return bfloat16 noise on the GPU."""
    return torch.randn(shape, device=DEVICE, dtype=torch.bfloat16)


def inference(model: nn.Module, *inputs: object) -> Step:
    """Return a step that runs the model once on fixed inputs."""

    def step() -> None:
        with torch.inference_mode():
            model(*inputs)

    return step

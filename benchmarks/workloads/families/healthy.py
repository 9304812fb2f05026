"""Steps that keep the GPU busy by themselves."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from benchmarks.workloads.cases import DEVICE, HOST_CAUSES, Case, Graph, Group, Workload
from benchmarks.workloads.models import decoder, inference, noise, rotary


def training() -> Workload:
    """ResNet-50 on 256 images a step, mixed precision, channels last."""
    from torchvision.models import resnet50  # noqa: PLC0415 - slow to import, needed here only

    with torch.device(DEVICE):
        model = resnet50().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images = torch.randn((256, 3, 224, 224), device=DEVICE)
    images = images.to(memory_format=torch.channels_last)
    labels = torch.randint(1000, (256,), device=DEVICE)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()

    return Workload(step)


def products() -> Workload:
    """Six large matrix products with a GELU after each."""
    weights = [noise(6144, 6144) / 6144**0.5 for _ in range(6)]
    start = noise(6144, 6144)

    def step() -> Tensor:
        x = start
        with torch.inference_mode():
            for weight in weights:
                x = F.gelu(x @ weight)
        return x

    return Workload(step)


def prefill() -> Workload:
    """The prompt of a Llama-like model: 8192 tokens at once."""
    model = decoder(layers=6, width=2048, heads=16)
    tokens = torch.randint(32000, (1, 8192), device=DEVICE)
    return Workload(inference(model, tokens, rotary(8192, 128)))


_SUSTAINED = (
    "A long loop runs slower than the three steps recorded, presumably at lower clocks: the time"
    " that the kernels do not account for is no waiting."
)

GROUPS = (
    Group("gemm_gelu", (Case("gemm_gelu", products, not_top=HOST_CAUSES, remark=_SUSTAINED),)),
    Group(
        "llama_prefill",
        (Case("llama_prefill", prefill, not_top=HOST_CAUSES, graph=Graph.RECORDED),),
    ),
    Group("resnet50_train", (Case("resnet50_train_b256", training, not_top=HOST_CAUSES),)),
)

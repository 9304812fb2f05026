"""The nodes as ComfyUI loads them: by either interface, and in the example workflow."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from integrations.comfyui import v1
from integrations.comfyui.tests.fake_comfy import FakeModel, FakePatcher, sample
from integrations.comfyui.tests.fake_gpu import FakeGpu
from tailwave.errors import UsageError

PACK = Path(__file__).parents[1]
NODES: dict[str, Any] = dict(v1.NODE_CLASS_MAPPINGS)
# What ComfyUI's own nodes in the example take and give (nodes.py and
# comfy_extras/nodes_custom_sampler.py at c079b69c).
COMFYUIS = {
    "CheckpointLoaderSimple": ({"ckpt_name": "COMBO"}, ["MODEL", "CLIP", "VAE"]),
    "CLIPTextEncode": ({"clip": "CLIP", "text": "STRING"}, ["CONDITIONING"]),
    "EmptyLatentImage": ({"width": "INT", "height": "INT", "batch_size": "INT"}, ["LATENT"]),
    "KSamplerSelect": ({"sampler_name": "COMBO"}, ["SAMPLER"]),
    "BasicScheduler": (
        {"model": "MODEL", "scheduler": "COMBO", "steps": "INT", "denoise": "FLOAT"},
        ["SIGMAS"],
    ),
    "SamplerCustom": (
        {
            "model": "MODEL",
            "add_noise": "BOOLEAN",
            "noise_seed": "INT",
            "cfg": "FLOAT",
            "positive": "CONDITIONING",
            "negative": "CONDITIONING",
            "sampler": "SAMPLER",
            "sigmas": "SIGMAS",
            "latent_image": "LATENT",
        },
        ["LATENT", "LATENT"],
    ),
    "VAEDecode": ({"samples": "LATENT", "vae": "VAE"}, ["IMAGE"]),
    "SaveImage": ({"images": "IMAGE", "filename_prefix": "STRING"}, []),
}
PLAIN = {"INT": int, "FLOAT": float | int, "BOOLEAN": bool, "STRING": str, "COMBO": str}


@dataclass
class Part:
    """An input or output of the current interface."""

    io_type: str
    id: str = ""
    options: dict[str, object] = field(default_factory=dict)


def kind(io_type: str) -> SimpleNamespace:
    """Return ``io.Int`` and the like: a kind of value with its Input and Output."""

    def put(id: str = "", **options: object) -> Part:  # noqa: A002  ComfyUI's own name
        return Part(io_type, id, options)

    return SimpleNamespace(Input=put, Output=put)


@dataclass
class NodeOutput:
    """``io.NodeOutput``."""

    args: tuple[object, ...]
    ui: object = None

    def __init__(self, *args: object, ui: object = None) -> None:
        """Take the results, and what to show."""
        self.args, self.ui = args, ui


def current_interface() -> ModuleType:
    """Return ``comfy_api.latest`` in small."""
    api: Any = ModuleType("comfy_api.latest")
    api.io = SimpleNamespace(
        ComfyNode=type("ComfyNode", (), {}),
        Schema=SimpleNamespace,
        NodeOutput=NodeOutput,
        Model=kind("MODEL"),
        Int=kind("INT"),
        Boolean=kind("BOOLEAN"),
        Latent=kind("LATENT"),
        String=kind("STRING"),
    )
    api.ui = SimpleNamespace(PreviewText=lambda text: {"text": (text,)})
    api.ComfyExtension = type("ComfyExtension", (), {})
    api.__spec__ = importlib.util.spec_from_loader("comfy_api.latest", loader=None)
    module: ModuleType = api
    return module


def load(name: str) -> ModuleType:
    """Import the folder by its path, as ``nodes.load_custom_node`` does."""
    spec = importlib.util.spec_from_file_location(name, PACK / "__init__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def v3(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Return the nodes that ComfyUI gets by the current interface, by their ids."""
    package = ModuleType("comfy_api")
    package.__path__ = []
    monkeypatch.setitem(sys.modules, "comfy_api", package)
    monkeypatch.setitem(sys.modules, "comfy_api.latest", current_interface())
    module = load("/custom_nodes/tailwave_x_3")
    assert not hasattr(module, "NODE_CLASS_MAPPINGS")
    nodes = asyncio.run(asyncio.run(module.comfy_entrypoint()).get_node_list())
    return {node.define_schema().node_id: node for node in nodes}


def test_an_older_comfyui_gets_the_plain_nodes() -> None:
    """Without ``comfy_api.latest`` the mappings are there, and no entry point."""
    module = load("/custom_nodes/tailwave_x_1")
    assert sorted(module.NODE_CLASS_MAPPINGS) == ["TailwaveReport", "TailwaveSMPartition"]
    assert module.NODE_DISPLAY_NAME_MAPPINGS["TailwaveReport"] == "Tailwave: report"
    assert not hasattr(module, "comfy_entrypoint")


def test_both_interfaces_define_the_same(v3: dict[str, Any]) -> None:
    """Ids, names, inputs with their bounds, outputs: a workflow works on either ComfyUI."""
    assert sorted(v3) == sorted(NODES)
    for node_id, node in v3.items():
        schema, plain = node.define_schema(), NODES[node_id]
        required = plain.INPUT_TYPES()["required"]
        assert {part.id: part.io_type for part in schema.inputs} == {
            name: spec[0] for name, spec in required.items()
        }
        assert [part.options for part in schema.inputs] == [
            spec[1] if len(spec) > 1 else {} for spec in required.values()
        ]
        assert tuple(part.io_type for part in schema.outputs) == plain.RETURN_TYPES
        assert schema.display_name == v1.NODE_DISPLAY_NAME_MAPPINGS[node_id]
        assert getattr(schema, "is_output_node", False) == getattr(plain, "OUTPUT_NODE", False)


def network_of(gpu: FakeGpu) -> FakePatcher:
    """Return a MODEL."""
    return FakePatcher(FakeModel(lambda _: gpu.work(2.0)))


def test_the_current_nodes_confine_and_report(gpu: FakeGpu, v3: dict[str, Any]) -> None:
    """The text is the node's result and is shown on it."""
    made = v3["TailwaveSMPartition"].execute(network_of(gpu), 32, count_launches=False)
    (model,) = made.args
    sample(model, 2)
    shown = v3["TailwaveReport"].execute(model, {"samples": None})
    (text,) = shown.args
    assert gpu.log == ["32 SMs"] * 2
    assert "p50 2.00 ms" in text
    assert shown.ui == {"text": (text,)}


def test_the_plain_nodes_confine_and_report(gpu: FakeGpu) -> None:
    """As the current ones do."""
    (model,) = v1.PartitionNode().execute(network_of(gpu), sms=32, count_launches=False)
    assert isinstance(model, FakePatcher)
    sample(model, 2)
    shown: Any = v1.ReportNode().execute(model, {"samples": None})
    assert "p50 2.00 ms" in shown["result"][0]
    assert shown["ui"] == {"text": shown["result"]}


def test_a_report_of_an_unconfined_model_says_what_to_connect(gpu: FakeGpu) -> None:
    """ComfyUI shows an error's own text in the node."""
    with pytest.raises(UsageError, match="This MODEL is in no partition"):
        v1.ReportNode().execute(network_of(gpu), {"samples": None})


def definition(class_type: str) -> tuple[dict[str, str], list[str]]:
    """Return what a node of ours or ComfyUI's takes and gives."""
    if class_type in COMFYUIS:
        return COMFYUIS[class_type]
    node = NODES[class_type]
    required = node.INPUT_TYPES()["required"]
    return {name: spec[0] for name, spec in required.items()}, list(node.RETURN_TYPES)


def test_the_example_workflow_is_valid() -> None:
    """Each node is known, and given all its inputs and each of its type, as ComfyUI checks."""
    prompt = json.loads((PACK / "examples" / "partition.api.json").read_text("utf-8"))
    assert {node["class_type"] for node in prompt.values()} >= set(NODES)
    for node in prompt.values():
        takes, _ = definition(node["class_type"])
        assert node["inputs"].keys() == takes.keys()
        for name, wanted in takes.items():
            value = node["inputs"][name]
            if isinstance(value, list):
                source, output = value
                assert definition(prompt[source]["class_type"])[1][output] == wanted
            else:
                assert isinstance(value, PLAIN[wanted])


def test_the_example_samples_and_reports_on_the_partition() -> None:
    """Sampler, scheduler and report are all given the confined MODEL."""
    prompt = json.loads((PACK / "examples" / "partition.api.json").read_text("utf-8"))
    (confined,) = (k for k, node in prompt.items() if node["class_type"] == "TailwaveSMPartition")
    users = {n["class_type"] for n in prompt.values() if n["inputs"].get("model") == [confined, 0]}
    assert users == {"SamplerCustom", "BasicScheduler", "TailwaveReport"}


def test_the_registry_gets_what_it_asks_for() -> None:
    """Name, version of three numbers, publisher; one list of requirements."""
    described = tomllib.loads((PACK / "pyproject.toml").read_text("utf-8"))
    project, comfy = described["project"], described["tool"]["comfy"]
    assert len(project["version"].split(".")) == 3
    assert project["name"] == "tailwave-nodes"
    assert {"PublisherId", "DisplayName"} <= comfy.keys()
    requirements = (PACK / "requirements.txt").read_text("utf-8").split("\n")
    assert [line for line in requirements if line] == project["dependencies"]

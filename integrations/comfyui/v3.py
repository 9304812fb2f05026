"""The nodes for ComfyUI's current interface (``comfy_api.latest``)."""

from __future__ import annotations

import importlib
from typing import Any

from . import definitions as names
from .confining import confine, confined_of
from .foreign import Patcher
from .report import report

_api: Any = importlib.import_module("comfy_api.latest")
io: Any = _api.io
ui: Any = _api.ui


class PartitionNode(io.ComfyNode):  # type: ignore[misc]  # ComfyUI has no types
    """Confines a MODEL's denoising calls to some of the SMs."""

    @classmethod
    def define_schema(cls) -> Any:  # noqa: ANN401  ComfyUI's io.Schema
        """Name the node's inputs and outputs."""
        return io.Schema(
            node_id=names.PARTITION_ID,
            display_name=names.PARTITION_NAME,
            category=names.CATEGORY,
            description=names.PARTITION_TEXT,
            inputs=[
                io.Model.Input("model"),
                io.Int.Input(
                    "sms",
                    default=names.SMS_DEFAULT,
                    min=names.SMS_LEAST,
                    max=names.SMS_MOST,
                    tooltip=names.SMS_TEXT,
                ),
                io.Boolean.Input("count_launches", default=False, tooltip=names.COUNT_TEXT),
            ],
            outputs=[io.Model.Output()],
        )

    @classmethod
    def execute(cls, model: Patcher, sms: int, count_launches: bool) -> Any:  # noqa: ANN401, FBT001  ComfyUI's own
        """Return the confined MODEL."""
        return io.NodeOutput(confine(model, sms, count_launches=count_launches))


class ReportNode(io.ComfyNode):  # type: ignore[misc]  # ComfyUI has no types
    """Shows the figures of a confined MODEL's last run."""

    @classmethod
    def define_schema(cls) -> Any:  # noqa: ANN401  ComfyUI's io.Schema
        """Name the node's inputs and outputs."""
        return io.Schema(
            node_id=names.REPORT_ID,
            display_name=names.REPORT_NAME,
            category=names.CATEGORY,
            description=names.REPORT_TEXT,
            inputs=[
                io.Model.Input("model"),
                io.Latent.Input("latent", tooltip=names.LATENT_TEXT),
            ],
            outputs=[io.String.Output(display_name="report")],
            is_output_node=True,
        )

    @classmethod
    def execute(cls, model: Patcher, latent: object) -> Any:  # noqa: ANN401, ARG003  it only orders the nodes
        """Return the report, and show it."""
        text = report(confined_of(model))
        return io.NodeOutput(text, ui=ui.PreviewText(text))


class Extension(_api.ComfyExtension):  # type: ignore[misc]  # as above
    """What ComfyUI asks for the nodes."""

    async def get_node_list(self) -> list[type]:
        """Return the nodes."""
        return [PartitionNode, ReportNode]

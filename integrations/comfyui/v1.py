"""The nodes for a ComfyUI from before ``comfy_api.latest``: plain classes in a dict."""

from __future__ import annotations

from . import definitions as names
from .confining import confine, confined_of
from .foreign import Patcher
from .report import report

Inputs = dict[str, dict[str, tuple[object, ...]]]


class PartitionNode:
    """Confines a MODEL's denoising calls to some of the SMs."""

    CATEGORY = names.CATEGORY
    DESCRIPTION = names.PARTITION_TEXT
    RETURN_TYPES = ("MODEL",)
    FUNCTION = "execute"

    @classmethod
    def INPUT_TYPES(cls) -> Inputs:  # noqa: N802  ComfyUI's own name
        """Name the node's inputs."""
        sms = {"default": names.SMS_DEFAULT, "min": names.SMS_LEAST, "max": names.SMS_MOST}
        return {
            "required": {
                "model": ("MODEL",),
                "sms": ("INT", {**sms, "tooltip": names.SMS_TEXT}),
                "count_launches": ("BOOLEAN", {"default": False, "tooltip": names.COUNT_TEXT}),
            }
        }

    def execute(self, model: Patcher, sms: int, count_launches: bool) -> tuple[Patcher]:  # noqa: FBT001  ComfyUI's
        """Return the confined MODEL."""
        return (confine(model, sms, count_launches=count_launches),)


class ReportNode:
    """Shows the figures of a confined MODEL's last run."""

    CATEGORY = names.CATEGORY
    DESCRIPTION = names.REPORT_TEXT
    RETURN_TYPES = ("STRING",)
    RETURN_NAMES = ("report",)
    OUTPUT_NODE = True
    FUNCTION = "execute"

    @classmethod
    def INPUT_TYPES(cls) -> Inputs:  # noqa: N802  ComfyUI's own name
        """Name the node's inputs."""
        latent = ("LATENT", {"tooltip": names.LATENT_TEXT})
        return {"required": {"model": ("MODEL",), "latent": latent}}

    def execute(self, model: Patcher, latent: object) -> dict[str, object]:  # noqa: ARG002  it only orders the nodes
        """Return the report, and show it."""
        text = report(confined_of(model))
        return {"ui": {"text": (text,)}, "result": (text,)}


NODE_CLASS_MAPPINGS = {names.PARTITION_ID: PartitionNode, names.REPORT_ID: ReportNode}
NODE_DISPLAY_NAME_MAPPINGS = {
    names.PARTITION_ID: names.PARTITION_NAME,
    names.REPORT_ID: names.REPORT_NAME,
}

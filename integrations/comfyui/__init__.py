"""tailwave's nodes for ComfyUI: a sampler on a part of the GPU's SMs, and what it took.

ComfyUI imports this folder out of ``custom_nodes`` and looks for ``NODE_CLASS_MAPPINGS`` first,
then for ``comfy_entrypoint``: only the one that it can use is defined.
"""

from __future__ import annotations

import importlib
import importlib.util


def _current_interface() -> bool:
    """Tell whether this ComfyUI has ``comfy_api.latest``."""
    try:
        return importlib.util.find_spec("comfy_api.latest") is not None
    except ModuleNotFoundError:  # not even comfy_api
        return False


if _current_interface():

    async def comfy_entrypoint() -> object:
        """Return the extension that names the nodes."""
        return importlib.import_module(f"{__name__}.v3").Extension()

else:
    from .v1 import NODE_CLASS_MAPPINGS, NODE_DISPLAY_NAME_MAPPINGS

    __all__ = ["NODE_CLASS_MAPPINGS", "NODE_DISPLAY_NAME_MAPPINGS"]

"""Finds, reads and writes references: the user's own first, then the shipped ones."""

from __future__ import annotations

import os
import re
from importlib.resources import files
from pathlib import Path

import msgspec

from tailwave.errors import UnreadableInputError, UsageError
from tailwave.model import DeviceFacts, Reference


def find_reference(device: DeviceFacts) -> tuple[Reference | None, str]:
    """Return the reference for a device, and in words which it is or why there is none.

    A part of a GPU (MIG) has fewer SMs than its model, and is not compared with the whole.
    """
    file = file_name(device.name, simulated=device.simulated)
    own, shipped = _own_folder() / file, files("tailwave.gpu.references") / file
    for path, whose in ((own, str(own)), (shipped, "shipped with tailwave")):
        if path.is_file():
            return _fitting(_decode(path.read_bytes(), whose), device, whose)
    return None, f"there is no reference for {device.name} (--save-reference makes one)"


def _fitting(reference: Reference, device: DeviceFacts, whose: str) -> tuple[Reference | None, str]:
    if reference.sm_count != device.sm_count:
        return None, (
            f"the reference ({whose}) is of {reference.sm_count} SMs, and this device has "
            f"{device.sm_count}"
        )
    return reference, f"{reference.device}, {reference.runs} runs, {whose}"


def save_reference(reference: Reference, path: Path | None = None) -> Path:
    """Write a reference, without a path to where the user's own are found; return where that is.

    Raises UsageError when the file cannot be written.
    """
    path = path or _own_folder() / file_name(reference.device, simulated=reference.simulated)
    document = msgspec.json.format(msgspec.json.encode(reference), indent=1)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(document + b"\n")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}.") from error
    return path


def _own_folder() -> Path:
    """Return where the user's own references lie, by the XDG base directories."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "tailwave" / "references"


def file_name(device: str, *, simulated: bool) -> str:
    """Return a model's file: ``NVIDIA H200`` is ``h200.json``, a simulated one ``sim-h200.json``.

    What was simulated is kept apart, so that no real GPU is ever compared with it.
    """
    name = device.lower().removeprefix("nvidia ").removesuffix(" (simulated)")
    model = re.sub(r"[^a-z0-9]+", "-", name).strip("-")
    return f"{'sim-' if simulated else ''}{model}.json"


def _decode(content: bytes, whose: str) -> Reference:
    try:
        return msgspec.json.decode(content, type=Reference)
    except msgspec.DecodeError as error:
        raise UnreadableInputError(f"the reference {whose} cannot be read: {error}.") from error

"""Where a benchmark's figures come from: the GPU, its driver, the date, the command."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime

from tailwave import __version__
from tailwave.errors import UnavailableError


def smi(query: str, *, of: str = "gpu") -> list[str]:
    """Ask ``nvidia-smi``: a line for each GPU, or for each process (``of="compute-apps"``).

    Only of the GPU that CUDA_VISIBLE_DEVICES names, where it names one.
    """
    command = ["nvidia-smi", f"--query-{of}={query}", "--format=csv,noheader"]
    if visible := os.environ.get("CUDA_VISIBLE_DEVICES"):
        command.append(f"--id={visible}")
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    except (OSError, subprocess.CalledProcessError) as error:
        raise UnavailableError(
            f"nvidia-smi does not answer ({error}): run this on a machine with an NVIDIA GPU."
        ) from error
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]


def provenance() -> dict[str, str]:
    """Return the head of a result file."""
    device, driver = (part.strip() for part in smi("name,driver_version")[0].split(","))
    return {
        "device": device,
        "driver": driver,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": " ".join(["python", *sys.argv]),
        "tailwave": __version__,
    }

"""What the nodes are called and take, for ComfyUI's two ways of defining nodes."""

from __future__ import annotations

CATEGORY = "tailwave"

PARTITION_ID = "TailwaveSMPartition"
PARTITION_NAME = "Tailwave: SM partition"
PARTITION_TEXT = (
    "Runs each denoising call of the model on a part of the GPU's SMs, so that other work beside "
    "it keeps the rest."
)
SMS_DEFAULT, SMS_LEAST, SMS_MOST = 32, 1, 1024
SMS_TEXT = "SMs to run on. The GPU makes groups of 2 or 8: the number is rounded up."
COUNT_TEXT = "Count the launches of one denoising call with torch's profiler, which slows that one."

REPORT_ID = "TailwaveReport"
REPORT_NAME = "Tailwave: report"
REPORT_TEXT = "Says on how many SMs the sampler ran, and how long its denoising calls took."
LATENT_TEXT = "What the sampler gives: it makes the report wait for the sampler."

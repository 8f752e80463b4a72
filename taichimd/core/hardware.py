"""Names of the processor and of the GPU, for reports."""

import os
import platform
import subprocess
from functools import cache


@cache
def cpu_name() -> str:
    """Model of the processor, as far as the system tells it."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or platform.machine()


@cache
def gpu_name() -> str:
    """Name of the first GPU that the process may use, which is the GPU that a runtime takes."""
    first = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip()
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader", f"--id={first or 0}"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        answer = ""
    return answer.strip() or "CUDA device"

"""What the manifest says of the machine; whatever cannot be read is left out."""

import os
import platform
from pathlib import Path
from typing import Any

import torch


def machine() -> dict[str, Any]:
    """Processor, memory and system, as far as they can be read."""
    found: dict[str, Any] = {
        "system": platform.system(),
        "release": platform.release(),
        "architecture": platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "vector_instructions": torch.backends.cpu.get_cpu_capability(),
    }
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            found["processor"] = line.partition(":")[2].strip()
            break
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemTotal:"):
            found["memory_bytes"] = int(line.split()[1]) * 1024
    return found


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []

"""Description of the machine: CPU, threads and versions."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import sys
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from dics import _core
from dics._estimator.arguments import effective_n_threads

BUSY = 0.5  # a higher load means that other programs were running
PACKAGES = ("dics", "scikit-learn", "numpy", "lightgbm", "xgboost")


@cache
def machine() -> dict[str, Any]:
    """Return the machine and its load before the first measurement."""
    return {
        "date": date.today().isoformat(),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "threads": effective_n_threads(None),
        "instruction_set": str(_core.instruction_set()),
        "python": platform.python_version(),
        **_versions(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else 0.0,
    }


def stamped() -> dict[str, Any]:
    """Return the machine with today's date, because a run may take days."""
    return {**machine(), "date": date.today().isoformat()}


def describe(info: dict[str, Any]) -> str:
    """Return a sentence about the machine and its load."""
    names = [name for name in (*PACKAGES, "python") if name in info]
    versions = ", ".join(f"{name} {info[name]}" for name in names)
    text = (
        f"{info['cpu']}, {info['cores']} cores, {info['threads']} threads, "
        f"{info['instruction_set']}; {versions}; {info['date']}."
    )
    if info["load"] > BUSY:
        text += f" Other programs were running (load {info['load']} before the run)."
    return text


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":")[1].strip() for line in lines if "model name" in line]
    return names[0] if names else _mac_model() or platform.machine()


def _mac_model() -> str:
    if sys.platform != "darwin":
        return ""
    command = ["sysctl", "-n", "machdep.cpu.brand_string"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return found.stdout.strip()

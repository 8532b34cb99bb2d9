"""Time of a boosting round by number of classes, and memory against the formula.

Part of bench_boosting.py. Gaussian classes, trees of depth 3, all rows and all features
in each round. Memory is measured in a separate process (see bench_memory.py).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from boosting_peers import DEPTH, PEERS, fit_peer
from common import peak_growth

from dics import CGBoostingClassifier
from dics_paper.progress import Steps
from dics_paper.text import markdown_table, show_ratio, show_seconds
from dics_paper.timing import measure

N_ROWS, N_FEATURES = 50_000, 50
QUICK_ROWS = 5_000
CLASSES = (2, 10, 100, 355, 1_000)
MEMORY_CLASSES = 1_000
OPTIONS: dict[str, Any] = {
    "max_depth": DEPTH,
    "sampling": None,
    "max_features": None,
    "early_stopping": False,
    "random_state": 0,
}
# The time of a round is the difference between fits of few and of more rounds, divided
# by the difference of the rounds: with few classes a round takes about a millisecond.
FEW_ROUNDS, LEAST_BETWEEN, CLASS_ROUNDS = 2, 10, 1_000
PEER_ROUNDS = 3
# Constants of the core that determine its memory: the cache of histograms
# (search/gradients/histograms.hpp), the tasks that sum over leaves (boost/chunks.hpp),
# and the padding of the values of a row (kernels/boost_kernels.hpp).
HISTOGRAM_BYTES = 128 * 2**20
SUM_TASKS, TASK_ROWS = 64, 1024
LANES = 8
MAX_BINS = 256


def make_classes(n_rows: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Generate one Gaussian cloud per class."""
    rng = np.random.default_rng(0)
    y = np.concatenate(
        [np.arange(n_classes), rng.integers(n_classes, size=n_rows - n_classes)]
    )
    centers = rng.standard_normal((n_classes, N_FEATURES), dtype=np.float32)
    noise = rng.standard_normal((n_rows, N_FEATURES), dtype=np.float32)
    return centers[y] + 2 * noise, y


def stated_bytes(
    n_rows: int, n_features: int, n_classes: int, n_leaves: int, sampled: float = 1.0
) -> int:
    """Return the maximum memory of a fit in addition to X.

    The README states it without the last term. A row has one score and one gradient per
    class (float32) and its bin indices. The fraction `sampled` of the rows also has a
    copy of the bin indices, and a gradient and a hessian as 16-bit integers. Histograms
    of some nodes are cached, and one more is in use. `n_features` is the number of
    features that a round samples.
    """
    n_outputs = 1 if n_classes == 2 else n_classes
    width = 1 if n_classes == 2 else pad(n_outputs)
    cells = 4 if n_classes == 2 else pad(2 * n_outputs + 1)
    rows = n_rows * ((4 + 4) * width + n_features + sampled * (n_features + 2 * cells))
    histogram = 4 * cells * MAX_BINS * n_features
    histograms = (max(2, HISTOGRAM_BYTES // histogram) + 1) * histogram
    n_tasks = min(SUM_TASKS, -(-n_rows // TASK_ROWS))
    sums = 8 * (2 * width + n_classes) * n_leaves * n_tasks
    return int(rows + histograms + sums)


def pad(n: int) -> int:
    return -(-n // LANES) * LANES


def run_classes(n_threads: int, *, quick: bool) -> dict[str, Any]:
    n_rows = QUICK_ROWS if quick else N_ROWS
    rounds = []
    with Steps(len(CLASSES) + 1) as steps:
        for n_classes in CLASSES:
            steps.begin(f"{n_classes} classes")
            X, y = make_classes(n_rows, n_classes)
            rounds.append(
                {
                    "classes": n_classes,
                    "ours": time_round(X, y, n_threads, n_classes),
                    "peer": time_peer_round(X, y, n_threads),
                }
            )
        steps.begin(f"memory with {MEMORY_CLASSES} classes")
        memory = measure_in_process(n_rows, n_threads)
    shape = {"rows": n_rows, "features": N_FEATURES}
    return {**shape, "rounds": rounds, "memory": memory}


def time_round(X: np.ndarray, y: np.ndarray, n_threads: int, n_classes: int) -> float:
    between = max(LEAST_BETWEEN, CLASS_ROUNDS // n_classes)
    few, more = (
        measure(
            lambda n=n: CGBoostingClassifier(
                n_estimators=n, n_jobs=n_threads, **OPTIONS
            ).fit(X, y),
            3,
        )[0].seconds
        for n in (FEW_ROUNDS, FEW_ROUNDS + between)
    )
    return (more - few) / between


def time_peer_round(X: np.ndarray, y: np.ndarray, n_threads: int) -> float:
    """Time LightGBM's rounds after the first, in one fit."""
    _, ends = fit_peer(PEERS["lgbm_d3"], X, y, n_threads, PEER_ROUNDS)
    # LightGBM stops early if it finds no further split.
    return (ends[-1] - ends[0]) / (len(ends) - 1) if len(ends) > 1 else ends[0]


def measure_in_process(n_rows: int, n_threads: int) -> dict[str, Any]:
    command = [sys.executable, __file__, str(n_rows), str(n_threads)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout))


def measure_memory(n_rows: int, n_threads: int) -> dict[str, Any]:
    """Measure one fit; call this in a new process."""
    X, y = make_classes(n_rows, MEMORY_CLASSES)
    model = CGBoostingClassifier(n_estimators=FEW_ROUNDS, n_jobs=n_threads, **OPTIONS)
    model.fit(X[:200], y[:200] % 3)  # import modules and start threads first
    n_bytes, exact, _ = peak_growth(lambda: model.fit(X, y))
    return {
        "classes": MEMORY_CLASSES,
        "bytes": n_bytes,
        "exact": exact,
        "stated": stated_bytes(n_rows, N_FEATURES, MEMORY_CLASSES, 2**DEPTH),
    }


def print_classes(result: dict[str, Any]) -> None:
    shape = f"{result['rows']} x {result['features']}"
    print(
        f"\nTime of one round by number of classes, {shape}, depth {DEPTH}, all rows:\n"
    )
    print(markdown_table(*round_table(result["rounds"])))
    memory = result["memory"]
    word = "met" if memory["bytes"] <= memory["stated"] else "missed"
    print(
        f"\nMemory of a fit with {memory['classes']} classes in addition to X: "
        f"{'' if memory['exact'] else 'at least '}{memory['bytes'] / 1e6:.0f} MB; "
        f"documented bound {memory['stated'] / 1e6:.0f} MB: {word}."
    )


def round_table(rounds: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    cells = [
        [
            row["classes"],
            show_seconds(row["peer"]),
            show_seconds(row["ours"]),
            show_ratio(row["peer"] / row["ours"]),
            show_seconds(row["ours"] / row["classes"]),
        ]
        for row in rounds
    ]
    return ["classes", "LightGBM", "dics", "faster", "dics per class"], cells


if __name__ == "__main__":
    print(json.dumps(measure_memory(*map(int, sys.argv[1:]))))

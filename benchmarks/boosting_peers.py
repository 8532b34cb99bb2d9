"""LightGBM and XGBoost for the benchmark of boosting, and their results that are kept.

A peer that takes minutes isn't run again each time: its result is kept in a file with
its date, and counts only on the same CPU, with as many threads and the same version.
Nothing is kept from a busy machine: threads of the peers wait for each other spinning,
so that beside another program they can take ten times as long.
"""

from __future__ import annotations

import importlib
import json
import time
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import lightgbm
import numpy as np
import xgboost
from common import RESULTS, Split, measure

from dics_paper.running.environment import BUSY, machine

DEPTH, N_ROUNDS = 3, 100
CACHE_FILE = RESULTS / "boosting_peers.json"
SLOW = 60.0  # seconds; results of fits that took longer are kept
LADDER = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)


class Stamps:
    """Seconds from the start of a fit to the end of each of its rounds."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self._start = time.perf_counter()

    def note(self) -> None:
        self.seconds.append(time.perf_counter() - self._start)


class _XGBoostStamps(xgboost.callback.TrainingCallback):
    def __init__(self, stamps: Stamps) -> None:
        self._stamps = stamps

    def after_iteration(self, *_: Any) -> bool:
        self._stamps.note()
        return False


class Peer(NamedTuple):
    """A model to compare with."""

    title: str
    package: str
    options: dict[str, Any]
    two_class_options: dict[str, Any] | None = None  # if they are others

    def fit(
        self, X: np.ndarray, y: np.ndarray, n_threads: int, n_rounds: int = N_ROUNDS
    ) -> tuple[Any, Stamps]:
        """Fit a new model; noting the time of a round costs microseconds."""
        options = self.options
        if self.two_class_options is not None and y.max() == 1:
            options = self.two_class_options
        options = {"max_depth": DEPTH, "n_estimators": n_rounds, **options}
        stamps = Stamps()
        if self.package == "lightgbm":
            model = lightgbm.LGBMClassifier(n_jobs=n_threads, verbose=-1, **options)
            return model.fit(X, y, callbacks=[lambda _: stamps.note()]), stamps
        model = xgboost.XGBClassifier(
            n_jobs=n_threads, callbacks=[_XGBoostStamps(stamps)], **options
        )
        return model.fit(X, y), stamps

    def predict_after(self, model: Any, X: np.ndarray, n_rounds: int) -> np.ndarray:
        if self.package == "lightgbm":
            return np.asarray(model.predict(X, num_iteration=n_rounds))
        return np.asarray(model.predict(X, iteration_range=(0, n_rounds)))

    @property
    def version(self) -> str:
        return str(importlib.import_module(self.package).__version__)


PEERS = {
    "lgbm_d3": Peer("LightGBM", "lightgbm", {}),
    "lgbm_d3_bin15": Peer("LightGBM, 15 bins", "lightgbm", {"max_bin": 15}),
    "xgb_d3": Peer("XGBoost", "xgboost", {"tree_method": "hist"}),
    # Trees with a value for each class; for two classes there is nothing to join.
    "xgb_multi16": Peer(
        "XGBoost, 16 bins",
        "xgboost",
        {
            "tree_method": "hist",
            "max_bin": 16,
            "multi_strategy": "multi_output_tree",
        },
        two_class_options={"tree_method": "hist", "max_bin": 16},
    ),
}


# 100 rounds of these take half an hour and more: they are stopped here, and the goal is
# the accuracy that they have by then.
FEWER_ROUNDS = {
    ("cifar10", "xgb_d3"): 10,
    ("cifar10", "xgb_multi16"): 10,
    ("synthetic_20000x5000_K10", "xgb_d3"): 10,
    ("synthetic_20000x5000_K10", "xgb_multi16"): 10,
}


class Cache:
    """Results of slow peers by data and peer.

    An entry has what `measure_peer` returns, and `date`, `cpu`, `threads` and
    `versions` (of the peer's package). `curve` may be missing.
    """

    def __init__(self, file: Path, *, fresh: bool = False) -> None:
        self._file = file
        self._fresh = fresh
        self._entries: dict[str, dict[str, Any]] = {}
        if file.is_file():
            self._entries = json.loads(file.read_text(encoding="utf-8"))

    def find(self, key: str, origin: dict[str, Any]) -> dict[str, Any] | None:
        """Return a result of the same origin, unless its fit was quick."""
        entry = self._entries.get(key)
        if self._fresh or entry is None or entry["seconds"] <= SLOW:
            return None
        same = all(entry.get(name) == origin[name] for name in origin if name != "date")
        return entry if same else None

    def keep(self, key: str, result: dict[str, Any], origin: dict[str, Any]) -> None:
        self._entries[key] = {**result, **origin}
        self._file.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self._entries, indent=0, sort_keys=True) + "\n"
        self._file.write_text(text, encoding="utf-8")


def run_peer(
    name: str,
    data: str,
    split: Split,
    n_threads: int,
    n_rounds: int,
    repeats: int | None,
    cache: Cache,
) -> tuple[dict[str, Any], Any]:
    """Take the kept result of a peer (without a model), or measure it."""
    peer, key = PEERS[name], f"{data}/{name}"
    n_rounds = min(n_rounds, FEWER_ROUNDS.get((data, name), n_rounds))
    whole = n_rounds in (N_ROUNDS, FEWER_ROUNDS.get((data, name)))
    origin = {
        "date": date.today().isoformat(),
        "cpu": machine()["cpu"],
        "threads": n_threads,
        "versions": {peer.package: peer.version},
    }
    if whole:
        kept = cache.find(key, origin)
        if kept is not None:
            known = {"runs": 1, "spread": 0.0, "curve": [], "rounds": N_ROUNDS, **kept}
            return {**known, "kept": True}, None
    result, model = measure_peer(peer, split, n_threads, n_rounds, repeats)
    idle = machine()["load"] <= BUSY
    if whole and result["seconds"] > SLOW and idle:
        cache.keep(key, result, origin)
    return {**result, "kept": False}, model


def measure_peer(
    peer: Peer, split: Split, n_threads: int, n_rounds: int, repeats: int | None
) -> tuple[dict[str, Any], Any]:
    """Time the whole fit; the curve is that of the last run, scaled to the median."""
    timing, (model, stamps) = measure(
        lambda: peer.fit(split.X_train, split.y_train, n_threads, n_rounds), repeats
    )
    scale = timing.seconds / stamps.seconds[-1]
    curve = []
    for n in ladder(len(stamps.seconds)):
        right = peer.predict_after(model, split.X_test, n) == split.y_test
        curve.append((n, scale * stamps.seconds[n - 1], float(right.mean())))
    result = {
        "rounds": n_rounds,
        "seconds": timing.seconds,
        "runs": timing.runs,
        "spread": round(timing.spread, 3),
        "accuracy": split.score(model),
        "log_loss": split.log_loss(model),
        "curve": curve,
    }
    return result, model


def ladder(n_rounds: int) -> list[int]:
    """Rounds at which a curve has points, the last of them at its end."""
    return [*(n for n in LADDER if n < n_rounds), n_rounds]

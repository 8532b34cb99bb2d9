"""LightGBM and XGBoost for the benchmark of boosting, and their stored results.

Results of fits that take minutes are stored in a file with their date. They are used
again only on the same CPU, with the same number of threads and the same version.
Results from a busy machine are not stored: the threads of these libraries busy-wait, so
a fit can take ten times as long while another program runs.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from dics_paper.data import Split
from dics_paper.environment import BUSY, machine, stamped
from dics_paper.models import BOOSTING_DEPTH, BY_NAME, Model
from dics_paper.store import Store
from dics_paper.timing import measure

DEPTH = BOOSTING_DEPTH
PEERS = {
    "lgbm_d3": BY_NAME["lightgbm"],
    "lgbm_d3_bin15": BY_NAME["lightgbm-fast"],
    "xgb_d3": BY_NAME["xgboost"],
    "xgb_multi16": BY_NAME["xgboost-fast"],
}
SLOW = 60.0  # seconds; results of longer fits are stored
LADDER = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000)
# 100 rounds of these fits take more than half an hour. They have this number of rounds,
# and dics has to reach the accuracy after these rounds.
FEWER_ROUNDS = {
    ("cifar10", "xgb_d3"): 10,
    ("cifar10", "xgb_multi16"): 10,
    ("synthetic_20000x5000_K10", "xgb_d3"): 10,
    ("synthetic_20000x5000_K10", "xgb_multi16"): 10,
}


class Plan(NamedTuple):
    """Options of the run on each data set."""

    n_threads: int
    n_rounds: int  # of the other libraries
    max_rounds: int  # of dics
    repeats: int | None
    store: Store
    fresh: bool  # whether stored results are ignored
    targets: dict[str, dict[str, float]]


def run_peer(
    name: str, data: str, split: Split, plan: Plan
) -> tuple[dict[str, Any], Any]:
    """Return the stored result of a library (without a model), or measure it."""
    model = PEERS[name]
    n_rounds = min(plan.n_rounds, FEWER_ROUNDS.get((data, name), plan.n_rounds))
    key = {
        "benchmark": "boosting",
        "data": data,
        "model": model.name,
        "version": model.version,
        "rounds": n_rounds,
        "cpu": machine()["cpu"],
        "threads": plan.n_threads,
    }
    entry = None if plan.fresh else plan.store.find(key)
    if entry is not None:
        known = {"runs": 1, "spread": 0.0, "curve": [], "rounds": n_rounds}
        return {**known, **entry["result"], "date": entry["date"], "kept": True}, None
    result, fitted = measure_peer(model, split, n_rounds, plan)
    if result["seconds"] > SLOW and machine()["load"] <= BUSY:
        plan.store.keep(key, result=result, date=stamped()["date"])
    return {**result, "kept": False}, fitted


def measure_peer(
    model: Model, split: Split, n_rounds: int, plan: Plan
) -> tuple[dict[str, Any], Any]:
    """Time the whole fit; scale the curve of the last run to the median time."""
    X, y = split.X_train, split.y_train
    timing, (fitted, ends) = measure(
        lambda: fit_peer(model, X, y, plan.n_threads, n_rounds), plan.repeats
    )
    curve = []
    for n in ladder(len(ends)):
        accuracy = np.mean(predict_after(fitted, split.X_test, n) == split.y_test)
        curve.append((n, timing.seconds / ends[-1] * ends[n - 1], float(accuracy)))
    result = {
        "rounds": n_rounds,
        "seconds": timing.seconds,
        "runs": timing.runs,
        "spread": round(timing.spread, 3),
        "accuracy": split.accuracy(fitted),
        "log_loss": split.log_loss(fitted),
        "curve": curve,
    }
    return result, fitted


def fit_peer(
    model: Model, X: np.ndarray, y: np.ndarray, n_threads: int, n_rounds: int
) -> tuple[Any, list[float]]:
    """Fit a new model; return it with the seconds to the end of each round.

    Recording the time of a round takes microseconds.
    """
    ends: list[float] = []
    estimator = model.make(
        n_jobs=n_threads,
        n_classes=int(y.max()) + 1,
        settings={"n_estimators": n_rounds},
    )
    start = time.perf_counter()

    def record_time(*_: Any) -> None:
        ends.append(time.perf_counter() - start)

    if model.package == "lightgbm":
        return estimator.fit(X, y, callbacks=[record_time]), ends
    estimator.set_params(callbacks=[_xgboost_callback(record_time)])
    return estimator.fit(X, y), ends


def _xgboost_callback(record_time: Any) -> Any:
    from xgboost.callback import TrainingCallback

    class RecordTime(TrainingCallback):
        def after_iteration(self, *_: Any) -> bool:
            record_time()
            return False

    return RecordTime()


def predict_after(fitted: Any, X: np.ndarray, n_rounds: int) -> np.ndarray:
    """Predict with the first rounds of a fitted model."""
    if type(fitted).__name__ == "LGBMClassifier":
        return np.asarray(fitted.predict(X, num_iteration=n_rounds))
    return np.asarray(fitted.predict(X, iteration_range=(0, n_rounds)))


def ladder(n_rounds: int) -> list[int]:
    """Return the rounds at which a curve has points; the last is its end."""
    return [*(n for n in LADDER if n < n_rounds), n_rounds]

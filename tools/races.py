"""Fit and predict with every estimator in several threads, for the thread sanitizer.

`make tsan` runs it with a sanitized core. A data race ends the process.
"""

from __future__ import annotations

import os
import threading
from typing import Any

import numpy as np

os.environ.setdefault("DICS_CORES", "8")

import dics

N_ROWS, N_FEATURES = 30_000, 10  # large enough to use several threads


def models() -> list[Any]:
    """Return models that divide work by nodes, subtrees, trees and rows."""
    made = []
    for kind in ("Classifier", "Regressor"):
        tree = getattr(dics, f"CGTree{kind}")
        made += [
            tree(max_depth=7),
            tree(advanced=dics.TreeOptions(renew_thresholds=True), max_depth=12),
            tree(max_leaf_nodes=40),
            tree(advanced=dics.TreeOptions(max_candidates=30), max_depth=7),
            getattr(dics, f"CGForest{kind}")(n_estimators=6, max_depth=7),
            getattr(dics, f"CGBoosting{kind}")(n_estimators=5),
            getattr(dics, f"CGBoosting{kind}")(n_estimators=5, sampling="mvs"),
        ]
    few_candidates = dics.TreeOptions(max_candidates=4)
    made.append(dics.CGTreeClassifier(advanced=few_candidates, max_depth=7))
    return made


def predict_in_threads(model: Any, X: Any) -> None:
    """Call all methods of prediction, in two threads at once."""
    methods = [getattr(model, n, None) for n in ("predict", "predict_proba", "apply")]
    calls = [method for method in methods if method is not None]
    calls.append(lambda X: model.predict_contributions(X[:200]))

    def predict() -> None:
        for call in calls:
            call(X)

    threads = [threading.Thread(target=predict) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_FEATURES)).astype(np.float32)
    X[rng.random(X.shape) < 0.02] = np.nan
    numbers = np.nan_to_num(X[:, 0] * X[:, 1]) + rng.normal(size=N_ROWS)
    for model in models():
        is_classifier = hasattr(model, "predict_proba")
        y = np.digitize(numbers, [-1, 0, 1]) if is_classifier else numbers
        model.set_params(n_jobs=4, random_state=0).fit(X, y)
        predict_in_threads(model, X[:5000])
        print(model, "no race", flush=True)


if __name__ == "__main__":
    main()

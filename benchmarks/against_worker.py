"""One side of bench_against.py: load data, fit and predict by request.

Requests are read from stdin and replies are written to stdout, one line of JSON each.
The file runs unchanged with both revisions, so it uses only NumPy, scikit-learn and
public names of dics.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np
import sklearn
from sklearn import datasets as sklearn_datasets

import dics

DATA_VARIABLE = "DICS_DATA_DIR"
OFFICIAL_TRAIN_ROWS = {"mnist": 60_000, "fashion_mnist": 60_000, "cifar10": 50_000}
BUNDLED = ("breast_cancer", "digits", "iris", "wine")
GENERATED = re.compile(r"generated_(\d+)x(\d+)_K(\d+)")
MOST_PREDICTED = 10_000
WARM_UP = 0.02  # seconds; shorter calls are repeated for this long

# --- data ------------------------------------------------------------------


class MissingData(Exception):
    """A data set is not available; the message has the reason."""


class Data(NamedTuple):
    """Training rows and rows to predict; float32 in C order."""

    X: np.ndarray
    y: np.ndarray
    X_predict: np.ndarray

    def describe(self) -> dict[str, int]:
        rows, features = self.X.shape
        return {
            "rows": rows,
            "features": features,
            "classes": len(np.unique(self.y)),
        }


def load(name: str) -> Data:
    X, y, n_train = read(name)
    X = np.ascontiguousarray(X, dtype=np.float32)
    if n_train is None:  # hold out a quarter
        order = np.random.default_rng(0).permutation(len(X))
        X, y, n_train = X[order], y[order], len(X) - len(X) // 4
    # The rows of small data sets are repeated, so that there are enough to predict.
    many = np.resize(X[n_train:], (MOST_PREDICTED, X.shape[1]))
    return Data(X[:n_train], y[:n_train], many)


def read(name: str) -> tuple[np.ndarray, np.ndarray, int | None]:
    """Return rows, classes, and the number of training rows of an official split."""
    if name in BUNDLED:
        X, y = getattr(sklearn_datasets, f"load_{name}")(return_X_y=True)
        return X, y, None
    shape = GENERATED.fullmatch(name)
    if shape:
        rows, features, classes = map(int, shape.groups())
        return *generate(rows + MOST_PREDICTED, features, classes), rows
    return *read_file(name), OFFICIAL_TRAIN_ROWS.get(name)


def generate(rows: int, features: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Generate one Gaussian cloud per class; the clouds overlap."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, rows)
    centers = 0.3 * rng.standard_normal((classes, features), dtype=np.float32)
    X = rng.standard_normal((rows, features), dtype=np.float32)
    X += centers[y]
    return X, y


def read_file(name: str) -> tuple[np.ndarray, np.ndarray]:
    folder = os.environ.get(DATA_VARIABLE)
    if not folder:
        raise MissingData(f"{DATA_VARIABLE} is not set")
    file = Path(folder).expanduser() / name / f"{name}.npz"
    if not file.is_file():
        raise MissingData(f"{DATA_VARIABLE} has no {name}/{name}.npz")
    with np.load(file, allow_pickle=False) as arrays:
        return arrays["X"], arrays["y"]


# --- models ----------------------------------------------------------------


def make_model(model: dict[str, Any]) -> Any:
    """Return an estimator; "paper" selects the candidate thresholds of the paper."""
    parameters = {"random_state": 0, **model["parameters"]}
    if model.get("candidates") == "paper":
        parameters["candidates"] = dics.CentroidCandidates.paper()
    name = model["class"]
    if not hasattr(dics, "TreeOptions"):  # an older revision without option classes
        parameters = {k.removeprefix("advanced__"): v for k, v in parameters.items()}
        name = name.replace("CGBoosting", "FastCGBM")
    return getattr(dics, name)().set_params(**parameters)


def digest_model(model: Any, rows: np.ndarray) -> str:
    """Return a digest of probabilities and labels, or of bin indices."""
    if hasattr(model, "predict_proba"):
        return digest(model.predict_proba(rows), model.predict(rows))
    return digest(model.transform(rows))


def digest(*arrays: np.ndarray) -> str:
    hashed = hashlib.sha256()
    for array in arrays:
        hashed.update(f"{array.dtype} {array.shape}".encode())
        hashed.update(np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()


# --- requests --------------------------------------------------------------


class Worker:
    """Answers requests; stores one data set and the models fitted to it."""

    def __init__(self) -> None:
        self._data: Data | None = None
        self._models: dict[str, Any] = {}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to a request; errors become part of the reply."""
        requests: dict[str, Callable[..., dict[str, Any]]] = {
            "describe": self.describe,
            "load": self.load,
            "warm_up": self.warm_up,
            "time": self.time,
            "digest": self.digest,
        }
        arguments = dict(request)
        try:
            return requests[arguments.pop("do")](**arguments)
        except MissingData as problem:
            return {"missing": str(problem)}
        except Exception as problem:
            traceback.print_exc()
            return {"error": f"{type(problem).__name__}: {problem}"}

    def describe(self) -> dict[str, Any]:
        return {
            "dics": dics.__file__,
            "python": sys.version.split()[0],
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
        }

    def load(self, data: str) -> dict[str, Any]:
        self._data = None  # frees the memory of the last data set first
        self._models.clear()
        self._data = load(data)
        return dict(self._data.describe())

    def warm_up(self, task: dict[str, Any]) -> dict[str, Any]:
        """Call once, and repeatedly if the call is short; return the time of a call."""
        call = self._call_of(task)
        seconds, n_calls = seconds_of(call), 1
        if seconds < WARM_UP:
            seconds = seconds_of(call)
            n_calls = max(1, int(WARM_UP / max(seconds, 1e-9)))
            seconds = seconds_of(call, n_calls)
        return {"seconds": seconds / n_calls}

    def time(self, task: dict[str, Any], calls: int) -> dict[str, Any]:
        """Return the mean seconds of `calls` calls."""
        call = self._call_of(task)
        gc.collect()
        return {"seconds": seconds_of(call, calls) / calls}

    def digest(self, task: dict[str, Any]) -> dict[str, Any]:
        model = self._fitted(task["model"])
        if task["action"] == "fit":
            return {"digest": digest_model(model, self._loaded().X_predict)}
        rows = self._rows(task["rows"])
        return {"digest": digest(getattr(model, task["action"])(rows))}

    def _loaded(self) -> Data:
        if self._data is None:
            raise RuntimeError("no data is loaded")
        return self._data

    def _rows(self, n_rows: int) -> np.ndarray:
        return self._loaded().X_predict[:n_rows]

    def _call_of(self, task: dict[str, Any]) -> Callable[[], Any]:
        if task["action"] == "fit":
            return self._fit_of(task["model"])
        method = getattr(self._fitted(task["model"]), task["action"])
        rows = self._rows(task["rows"])
        return lambda: method(rows)

    def _fit_of(self, model: dict[str, Any]) -> Callable[[], Any]:
        data, key = self._loaded(), key_of(model)

        def fit() -> None:
            self._models.pop(key, None)
            self._models[key] = make_model(model).fit(data.X, data.y)

        return fit

    def _fitted(self, model: dict[str, Any]) -> Any:
        if key_of(model) not in self._models:
            self._fit_of(model)()
        return self._models[key_of(model)]


def key_of(model: dict[str, Any]) -> str:
    return json.dumps(model, sort_keys=True)


def seconds_of(call: Callable[[], Any], n_calls: int = 1) -> float:
    start = time.perf_counter()
    for _ in range(n_calls):
        call()
    return time.perf_counter() - start


def serve(requests: Iterable[str], replies: TextIO) -> None:
    """Answer each line until there are no more."""
    worker = Worker()
    for line in requests:
        print(json.dumps(worker.answer(json.loads(line))), file=replies, flush=True)


def main() -> None:
    # Output of a model goes to stderr, so that stdout has replies only.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(sys.stdin, replies)


if __name__ == "__main__":
    main()

"""Time, accuracy and memory with a sparse X, compared with other libraries.

There are three tables. Word counts of newsgroups20 (official split, shuffled training
rows): forests compared with RandomForest and ExtraTrees, boosting with LightGBM and
XGBoost, each fit in its own process. One-hot columns of adult_categorical: the sparse
matrix compared with its dense copy, whose model must be bit-identical. Dense data that
are mostly zeros (santander_satisfaction): boosting compared with LightGBM.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from common import (
    load,
    make_parser,
    peak_growth,
    pickle_size,
    print_header,
    save_json,
    show_verdict,
)
from sklearn.preprocessing import OneHotEncoder

import dics
from dics._estimator.arguments import effective_n_threads
from dics_paper.datasets import DatasetNotFoundError
from dics_paper.text import markdown_table
from dics_paper.timing import measure

N_THREADS = effective_n_threads(None)


def _other(module: str, name: str, **settings: Any) -> Callable[[], Any]:
    """Return a constructor for another library, which is imported by the first call."""

    def make() -> Any:
        found = __import__(module, fromlist=[name])
        return getattr(found, name)(n_jobs=N_THREADS, random_state=0, **settings)

    return make


MODELS: dict[str, Callable[[], Any]] = {
    "CGForest": lambda: dics.CGForestClassifier(random_state=0),
    "RandomForest": _other("sklearn.ensemble", "RandomForestClassifier"),
    # As ExtraTrees: random splits, and all rows for each tree.
    "CGForest, random": lambda: dics.CGForestClassifier(
        splitter="random", bootstrap=False, random_state=0
    ),
    "ExtraTrees": _other("sklearn.ensemble", "ExtraTreesClassifier"),
    "CGBoosting": lambda: dics.CGBoostingClassifier(random_state=0),
    "LightGBM": _other("lightgbm", "LGBMClassifier", verbose=-1),
    "XGBoost": _other("xgboost", "XGBClassifier"),
}
# Models of dics, and the models that they are compared with.
CONTESTS = {
    "CGForest": ("RandomForest",),
    "CGForest, random": ("ExtraTrees",),
    "CGBoosting": ("LightGBM", "XGBoost"),
}
FASTER, MEMORY, NOT_SLOWER = 2.0, 2.0, 1.0


class Words(NamedTuple):
    """Word counts and the topics."""

    X_train: scipy.sparse.csr_matrix
    y_train: np.ndarray
    X_test: scipy.sparse.csr_matrix
    y_test: np.ndarray

    @property
    def n_bytes(self) -> int:
        """Size of the training rows in bytes."""
        X = self.X_train
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)


def data_file(name: str) -> Path:
    folder = os.environ.get("DICS_DATA_DIR")
    file = Path(folder or ".") / name / f"{name}.npz"
    if folder is None or not file.exists():
        raise DatasetNotFoundError(f"{name}: DICS_DATA_DIR has no {name}/{name}.npz")
    return file


def load_words(n_train: int = 11314) -> Words:
    arrays = np.load(data_file("newsgroups20"))
    X = scipy.sparse.csr_matrix(
        (arrays["data"], arrays["indices"], arrays["indptr"]),
        shape=tuple(arrays["shape"]),
    ).astype(np.float32)
    y = arrays["y"]
    order = np.random.default_rng(0).permutation(n_train)  # the file is sorted by class
    return Words(X[:n_train][order], y[:n_train][order], X[n_train:], y[n_train:])


# --- words ----------------------------------------------------------------------------


def run_case(name: str) -> dict[str, Any]:
    """Measure one fit; call this in a new process."""
    words = load_words()
    few = slice(0, 200)
    MODELS[name]().fit(words.X_train[few], words.y_train[few])  # warm-up
    cpu, wall = time.process_time(), time.perf_counter()
    n_bytes, exact, model = peak_growth(
        lambda: MODELS[name]().fit(words.X_train, words.y_train)
    )
    return {
        "model": name,
        "seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu,
        "accuracy": float(model.score(words.X_test, words.y_test)),
        "bytes": n_bytes,
        "exact": exact,
        "model_bytes": pickle_size(model),
        "csr_bytes": words.n_bytes,
    }


def run_words(names: list[str]) -> list[dict[str, Any]]:
    data_file("newsgroups20")
    rows = []
    for name in names:
        print(f"newsgroups20: {name}", file=sys.stderr, flush=True)
        command = [sys.executable, __file__, "--case", name]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        rows.append(dict(json.loads(done.stdout)))
    return rows


def print_words(rows: list[dict[str, Any]]) -> None:
    columns = ["model", "fit", "CPU", "accuracy", "peak", "model bytes", "relative"]
    cells = []
    for row in rows:
        over = (row["bytes"] - row["model_bytes"]) / row["csr_bytes"]
        cells.append(
            [
                row["model"],
                f"{row['seconds']:.1f} s",
                f"{row['cpu_seconds']:.1f} s",
                f"{row['accuracy']:.4f}",
                f"{row['bytes'] / 1e6:.0f} MB",
                f"{row['model_bytes'] / 1e6:.0f} MB",
                f"{over:.2f}x",
            ]
        )
    print(markdown_table(columns, cells))
    print("\nrelative: peak without the model, divided by the size of X.\n")
    by_model = {row["model"]: row for row in rows}
    for name, others in CONTESTS.items():
        for other in others:
            if name in by_model and other in by_model:
                print_contest(by_model[name], by_model[other])


def print_contest(fit: dict[str, Any], other: dict[str, Any]) -> None:
    faster = other["seconds"] / fit["seconds"]
    memory = (fit["bytes"] - fit["model_bytes"]) / fit["csr_bytes"]
    difference = fit["accuracy"] - other["accuracy"]
    print(
        f"- {fit['model']} / {other['model']}: speed {show_verdict(faster, FASTER)}; "
        f"accuracy {difference:+.4f}; relative memory {memory:.2f}x "
        f"({'met' if memory < MEMORY else 'missed'}: {MEMORY}x)"
    )


# --- one-hot columns ------------------------------------------------------------------

PIPELINE_MODELS = {
    "CGTree": lambda: dics.CGTreeClassifier(random_state=0),
    "CGForest": lambda: dics.CGForestClassifier(random_state=0),
    "CGBoosting": lambda: dics.CGBoostingClassifier(random_state=0),
}
ADULT_TRAIN = 32561
ADULT_CATEGORIES = 42  # columns with no more distinct values are categorical


def load_one_hot() -> tuple[scipy.sparse.csr_array, np.ndarray]:
    arrays = np.load(data_file("adult_categorical"))
    X, y = arrays["X"][:ADULT_TRAIN], arrays["y"][:ADULT_TRAIN]
    few = np.array([len(np.unique(column)) <= ADULT_CATEGORIES for column in X.T])
    coded = OneHotEncoder(dtype=np.float32).fit_transform(X[:, few])
    numbers = scipy.sparse.csr_array(X[:, ~few].astype(np.float32))
    return scipy.sparse.hstack([coded, numbers], format="csr"), y


def digest(model: Any) -> str:
    trees = model.trees_
    parts = (trees.nodes, trees.missing_left, trees.weight, trees.leaf_values)
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


def run_one_hot() -> list[dict[str, Any]]:
    sparse, y = load_one_hot()
    dense = np.asarray(sparse.toarray())
    rows = []
    for name, make in PIPELINE_MODELS.items():
        print(f"one-hot: {name}", file=sys.stderr, flush=True)
        timings, digests = [], []
        for X in (dense, sparse):
            timing, model = measure(lambda X=X, make=make: make().fit(X, y))
            timings.append(timing.seconds)
            digests.append(digest(model))
        rows.append(
            {
                "model": name,
                "dense": timings[0],
                "sparse": timings[1],
                "is_same": digests[0] == digests[1],
            }
        )
    return rows


def print_one_hot(rows: list[dict[str, Any]]) -> None:
    cells = [
        [
            row["model"],
            f"{row['dense']:.3f} s",
            f"{row['sparse']:.3f} s",
            show_verdict(row["dense"] / row["sparse"], NOT_SLOWER),
            "yes" if row["is_same"] else "NO",
        ]
        for row in rows
    ]
    columns = ["one-hot adult", "dense", "sparse", "faster", "bit-identical"]
    print(markdown_table(columns, cells), "\n")


# --- dense data that are mostly zeros -------------------------------------------------


def run_zeros() -> list[dict[str, Any]]:
    split = load("santander_satisfaction")
    rows = []
    for name in ("CGBoosting", "LightGBM"):
        print(f"santander_satisfaction: {name}", file=sys.stderr, flush=True)
        make = MODELS[name]
        timing, model = measure(
            lambda make=make: make().fit(split.X_train, split.y_train)
        )
        accuracy = float(np.mean(model.predict(split.X_test) == split.y_test))
        rows.append({"model": name, "seconds": timing.seconds, "accuracy": accuracy})
    return rows


def print_zeros(rows: list[dict[str, Any]]) -> None:
    cells = [
        [row["model"], f"{row['seconds']:.2f} s", f"{row['accuracy']:.4f}"]
        for row in rows
    ]
    print(markdown_table(["santander_satisfaction", "fit", "accuracy"], cells))
    ratio = rows[1]["seconds"] / rows[0]["seconds"]
    print(f"\n- CGBoosting / LightGBM: speed-up {show_verdict(ratio, NOT_SLOWER)}\n")


PARTS: dict[str, tuple[Callable[..., list[dict[str, Any]]], Callable[..., None]]] = {
    "words": (run_words, print_words),
    "one-hot": (run_one_hot, print_one_hot),
    "zeros": (run_zeros, print_zeros),
}


def main(argv: list[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--case", metavar="MODEL", help="internal")
    parser.add_argument(
        "--models",
        nargs="+",
        choices=MODELS,
        default=list(MODELS),
        help="models for words",
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    options = parser.parse_args(argv)
    if options.case:
        print(json.dumps(run_case(options.case)))
        return
    print_header("Sparse X")
    found: dict[str, list[dict[str, Any]]] = {}
    for part in options.parts:
        run, show = PARTS[part]
        try:
            found[part] = run(options.models) if part == "words" else run()
        except DatasetNotFoundError as error:
            print(f"Skipped {error}.\n")
            continue
        show(found[part])
    save_json(options.json, "sparse", **found)


if __name__ == "__main__":
    main()

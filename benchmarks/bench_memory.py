"""Peak memory of a fit in addition to its data, in units of the size of float32 X.

The size of the model (its pickle) is shown separately, because a forest of unlimited
depth can be as large as the data.

Each case runs in its own process, which loads the data, resets the kernel's record of
the peak, fits once and reads the record. If the record cannot be reset (not Linux), the
growth of the peak since the data were loaded is shown, which may be too low.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
from common import (
    load,
    make_parser,
    peak_growth,
    pickle_size,
    print_header,
    run_sets,
    save_json,
)

from dics._estimator.arguments import effective_n_threads
from dics_paper.datasets import DatasetNotFoundError
from dics_paper.models import BY_NAME
from dics_paper.progress import Steps

DATASETS = ("mnist", "cifar10", "synthetic_10000x1000", "synthetic_20000x5000")
# Model and parameters by the name in the table.
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "whole": ("cgct", {}),
    "k100": ("cgct", {"advanced__max_candidates": 100}),
    # Depth 1 saves time: most of the memory is allocated before the first split
    # (6000 x 500: 0.4 MB at depth 1, 0.5 MB at depth 8).
    "exhaustive": ("decision-tree", {"max_depth": 1}),
    "forest": ("cgrf", {"max_depth": None}),
    "forest_paper": ("cgrf-paper", {}),
    "random_forest": ("random-forest", {"max_depth": 1}),
    "boosting": ("fastcgbm", {}),
    # One round saves time: the memory is allocated by then.
    "lightgbm": ("lightgbm", {"n_estimators": 1, "max_depth": -1}),
}
# For large or wide data; on small data, buffers of fixed size dominate. The limit of a
# forest does not include the model.
TARGETS = {"whole": 0.35, "k100": 0.1, "forest": 0.5, "forest_paper": 0.5}
MODEL_IS_FREE = ("forest", "forest_paper")


def make_model(name: str) -> Any:
    kind, settings = MODELS[name]
    return BY_NAME[kind].make(n_jobs=effective_n_threads(None), settings=settings)


def run_case(dataset: str, model: str) -> dict[str, Any]:
    """Measure one fit; call this in a new process."""
    split = load(dataset)
    tiny = np.arange(64, dtype=np.float32).reshape(32, 2)
    make_model(model).fit(
        tiny, np.arange(32) % 3
    )  # import modules and start threads first
    n_bytes, exact, fitted = peak_growth(
        lambda: make_model(model).fit(split.X_train, split.y_train)
    )
    model_bytes = pickle_size(fitted)
    return {
        "data": dataset,
        "shape": split.shape,
        "model": model,
        "exact": exact,
        "bytes": n_bytes,
        "ratio": n_bytes / split.X_train.nbytes,
        "model_bytes": model_bytes,
        "without_model": (n_bytes - model_bytes) / split.X_train.nbytes,
    }


def run_in_process(dataset: str, model: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--case", dataset, model]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    result = json.loads(done.stdout)
    if "missing" in result:
        raise DatasetNotFoundError(result["missing"])
    return dict(result)


def run_dataset(name: str, steps: Steps) -> list[dict[str, Any]]:
    rows = []
    for model in MODELS:
        steps.begin(f"{name}: {model}")
        rows.append(run_in_process(name, model))
    return rows


def as_cells(row: dict[str, Any]) -> list[str]:
    target = TARGETS.get(row["model"]) if row["data"] in DATASETS else None
    verdict = "-"
    if target is not None:
        free = row["model"] in MODEL_IS_FREE
        ratio = row["without_model"] if free else row["ratio"]
        verdict = f"{target}x{' + model' if free else ''}"
        verdict += " met" if ratio <= target else " missed"
    sign = "" if row["exact"] else ">= "
    cells = [row["data"], row["shape"], row["model"]]
    cells += [f"{sign}{row['bytes'] / 1e6:.1f} MB", f"{sign}{row['ratio']:.3f}x"]
    cells += [f"{row['model_bytes'] / 1e6:.1f} MB", f"{row['without_model']:.3f}x"]
    return [*cells, verdict]


LEGEND = """
whole, k100: CGTreeClassifier of depth 8. exhaustive: DecisionTreeClassifier of depth 1.
forest: CGForestClassifier of unlimited depth. forest_paper: CGForestClassifier.paper().
random_forest: RandomForestClassifier of depth 1. boosting: CGBoostingClassifier.
lightgbm: LGBMClassifier with one round."""


def main(argv: list[str] | None = None) -> None:
    parser = make_parser(__doc__, DATASETS)
    parser.add_argument("--case", nargs=2, metavar=("DATA", "MODEL"), help="internal")
    options = parser.parse_args(argv)
    if options.case:
        try:
            print(json.dumps(run_case(*options.case)))
        except DatasetNotFoundError as error:
            print(json.dumps({"missing": str(error)}))
        return

    print_header("Peak memory of a fit")
    results = run_sets(options.datasets, len(MODELS), run_dataset)
    columns = ["data", "shape", "model", "peak", "relative to X"]
    columns += ["size of the model", "peak without model", "target"]
    results.print_table(columns, as_cells)
    results.print_skipped()
    print(LEGEND)
    save_json(options.json, "memory", rows=results.rows)


if __name__ == "__main__":
    main()

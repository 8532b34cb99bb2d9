"""Time of predict and predict_proba on 1 and 10,000 rows, beside scikit-learn's."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import (
    Steps,
    load,
    make_parser,
    measure,
    print_header,
    run_sets,
    save_json,
    show_ratio,
    show_seconds,
)
from sklearn.tree import DecisionTreeClassifier

from dics import CGTreeClassifier

DATASETS = ("mnist", "letter", "digits", "synthetic_6000x500")
DEPTHS = (8, None)
CALLS = ("predict", "predict_proba")
ROWS = (1, 10_000)
FIT_ROWS = 10_000  # the trees need not be the best, only of a usual size


def run_dataset(name: str, steps: Steps) -> list[dict[str, Any]]:
    split = load(name).split()
    X, y = split.X_train[:FIT_ROWS], split.y_train[:FIT_ROWS]
    # Small sets are repeated to fill up the rows to predict.
    many = np.resize(split.X_test, (max(ROWS), X.shape[1]))
    results = []
    for depth in DEPTHS:
        steps.begin(f"{name}, depth {depth}")
        peer = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, y)
        ours = CGTreeClassifier(max_depth=depth, random_state=0).fit(X, y)
        for call in CALLS:
            for n_rows in ROWS:
                rows = np.ascontiguousarray(many[:n_rows])
                times = [
                    measure(lambda m=m, c=call, r=rows: getattr(m, c)(r))[0].seconds
                    for m in (peer, ours)
                ]
                case = {"data": name, "depth": depth, "call": call, "rows": n_rows}
                results.append({**case, "exhaustive": times[0], "ours": times[1]})
    return results


def as_cells(row: dict[str, Any]) -> list[Any]:
    times = row["exhaustive"], row["ours"]
    cells = [row["data"], row["depth"] or "full", row["call"], row["rows"]]
    return [*cells, *map(show_seconds, times), show_ratio(times[0] / times[1])]


def main(argv: list[str] | None = None) -> None:
    options = make_parser(__doc__, DATASETS).parse_args(argv)
    print_header("Prediction")
    results = run_sets(options.datasets, len(DEPTHS), run_dataset)
    columns = ["data", "depth", "call", "rows", "DecisionTree", "CGTree", "faster"]
    results.print_table(columns, as_cells)
    results.print_skipped()
    save_json(options.json, "predict", rows=results.rows)


if __name__ == "__main__":
    main()

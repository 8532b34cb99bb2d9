"""R2 of a regression tree with candidate thresholds from several sources.

The sources are clusters of X, groups of rows with similar targets, both, and quantiles.
The thresholds of clusters and groups are used alone, and filled up with quantiles. The
tree has depth 8 or unlimited depth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from common import make_parser, print_header, run_sets, save_json
from regression_data import FILES, WIDE, load_splits

from dics import CentroidCandidates, CGTreeRegressor, QuantileCandidates
from dics_paper.progress import Steps
from dics_paper.text import markdown_table

SOURCES: dict[str, Callable[[], Any]] = {
    "clusters": lambda: CentroidCandidates(
        centroid_source="kmeans", fill_quantiles=False
    ),
    "groups": lambda: CentroidCandidates(centroid_source="class", fill_quantiles=False),
    "both": lambda: CentroidCandidates(fill_quantiles=False),
    "paper": CentroidCandidates.paper,
    "clusters, filled": lambda: CentroidCandidates(centroid_source="kmeans"),
    "groups, filled": lambda: CentroidCandidates(centroid_source="class"),
    "both, filled": CentroidCandidates,
    "32 quantiles": lambda: QuantileCandidates(max_bins=33),
    "254 quantiles": lambda: QuantileCandidates(max_bins=255),
}
DEPTHS = (8, None)


def run(name: str, steps: Steps) -> list[dict[str, Any]]:
    """Measure all sources on a data set."""
    splits = load_splits(name)
    rows = []
    for depth in DEPTHS:
        row: dict[str, Any] = {"data": name, "depth": depth, "r2": {}}
        for label, make in SOURCES.items():
            steps.begin(f"{name}: {label}")
            scores = []
            for seed, (train, test) in enumerate(splits):
                tree = CGTreeRegressor(
                    max_depth=depth, candidates=make(), random_state=seed
                )
                scores.append(tree.fit(train.X, train.y).score(test.X, test.y))
            row["r2"][label] = float(np.mean(scores))
        rows.append(row)
    return rows


def main(argv: list[str] | None) -> None:
    """Run the comparison."""
    parser = make_parser(__doc__)
    parser.add_argument("--task", help="regression")
    parser.add_argument(
        "--sources", action="store_true", help="compare candidate thresholds"
    )
    known = [*FILES, WIDE]
    parser.add_argument(
        "--datasets", nargs="+", default=known, choices=known, metavar="NAME"
    )
    options = parser.parse_args(argv)
    print_header("Candidate thresholds for regression: R2 of a single tree")
    results = run_sets(options.datasets, len(DEPTHS) * len(SOURCES), run)
    for depth in DEPTHS:
        chosen = [row for row in results.rows if row["depth"] == depth]
        cells = [
            [row["data"], *(f"{row['r2'][label]:.4f}" for label in SOURCES)]
            for row in chosen
        ]
        means = [np.mean([row["r2"][label] for row in chosen]) for label in SOURCES]
        cells.append(["mean", *(f"{mean:.4f}" for mean in means)])
        title = f"Depth {depth}" if depth else "Unlimited depth"
        print(f"\n{title}:\n\n{markdown_table(['data', *SOURCES], cells)}")
    results.print_skipped()
    save_json(options.json, "regression sources", rows=results.rows)

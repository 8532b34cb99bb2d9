"""Time to compute the candidate thresholds, compared with one pass over X.

``X.sum()`` reads X once in one thread. A method that reads all of X cannot be much
faster.
"""

from __future__ import annotations

from typing import Any

from common import load, make_parser, print_header, run_sets, save_json

from dics import CentroidCandidates
from dics_paper.progress import Steps
from dics_paper.text import show_seconds
from dics_paper.timing import measure

DATASETS = ("mnist", "fashion_mnist", "cifar10", "synthetic_10000x1000", "digits")
# Target: maximum seconds of CentroidCandidates().fit.
GUIDE = {"cifar10": 0.080, "mnist": 0.040, "fashion_mnist": 0.040}


def run_dataset(name: str, steps: Steps) -> list[dict[str, Any]]:
    split = load(name)
    X, y = split.X_train, split.y_train
    row: dict[str, Any] = {"data": name, "shape": split.shape, "guide": GUIDE.get(name)}
    steps.begin(f"{name}: X.sum()")
    row["sum"] = measure(X.sum)[0].seconds
    sources = {
        "default": CentroidCandidates(random_state=0),
        "paper": CentroidCandidates.paper(random_state=0),
    }
    for label, source in sources.items():
        steps.begin(f"{name}: {label}")
        timing, fitted = measure(lambda source=source: source.fit(X, y))
        row[label] = timing.seconds
        row[f"{label}_thresholds"] = float(fitted.n_thresholds_.mean())
    return [row]


def as_cells(row: dict[str, Any]) -> list[str]:
    cells = [row["data"], row["shape"], show_seconds(row["sum"])]
    guide = row["guide"]
    for label in ("default", "paper"):
        cells += [show_seconds(row[label]), f"{row[label] / row['sum']:.1f}"]
        cells.append(f"{row[f'{label}_thresholds']:.1f}")
    verdict = "-"
    if guide is not None:
        verdict = show_seconds(guide)
        verdict += " met" if row["default"] <= guide else " missed"
    return [*cells, verdict]


def main(argv: list[str] | None = None) -> None:
    options = make_parser(__doc__, DATASETS).parse_args(argv)
    print_header("Candidate thresholds")
    results = run_sets(options.datasets, 3, run_dataset)
    columns = ["data", "shape", "X.sum()"]
    columns += ["default", "passes", "thresholds", "paper", "passes", "thresholds"]
    columns.append("guide for default")
    results.print_table(columns, as_cells)
    results.print_skipped()
    print(
        "\ndefault: CentroidCandidates().fit(X, y). paper: CentroidCandidates.paper()."
        "\npasses: time divided by that of X.sum(). thresholds: mean per feature."
    )
    save_json(options.json, "candidates", rows=results.rows)


if __name__ == "__main__":
    main()

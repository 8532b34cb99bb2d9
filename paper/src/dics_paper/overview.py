"""Parts of the report that need no fits: the data sets, and the paper's figure 1."""

from __future__ import annotations

from dataclasses import dataclass

from dics_paper import paper
from dics_paper.data import Data
from dics_paper.datasets import BadDatasetError, DatasetNotFoundError
from dics_paper.options import Options
from dics_paper.report.document import Block, Cell, Column, Figure, Table
from dics_paper.report.illustration_plot import plot_illustration
from dics_paper.running.runner import Results
from dics_paper.running.tasks import Task


@dataclass(frozen=True)
class Datasets:
    """The table of the real data sets."""

    command: str = "datasets"
    name: str = "datasets"

    def tasks(self, options: Options) -> list[Task]:  # noqa: ARG002
        """Nothing has to be fitted."""
        return []

    def parts(self, options: Options, results: Results) -> list[Table | Figure]:  # noqa: ARG002
        """Load every set and say what it is."""
        sets = options.real_data()
        if not sets:
            return []
        rows, notes = [], []
        for data in sets:
            cells, note = _dataset_row(data, options)
            rows.append(cells)
            notes += [note] if note else []
        return [
            Table(
                self.name,
                "Real data sets",
                "Rows, features and classes; training and test rows together.",
                DATASET_COLUMNS,
                [Block("", rows)],
                notes,
            )
        ]


def _dataset_row(data: Data, options: Options) -> tuple[list[Cell], str]:
    printed = [f"{number:,}" for number in paper.DATASETS[data.name]]
    try:
        split = data.load(0, options.data_dir)
    except (DatasetNotFoundError, BadDatasetError) as error:
        cells = [Cell("", number) for number in printed]
        return [Cell(data.label), *cells, Cell("not available")], str(error)
    n_train, n_features = split.X_train.shape
    n_test = len(split.y_test)
    found = (n_train + n_test, n_features, split.n_classes)
    cells = [
        Cell(f"{number:,}", was) for number, was in zip(found, printed, strict=True)
    ]
    note = f"{data.label}: {split.note}." if split.note else ""
    return [Cell(data.label), *cells, Cell(f"{n_train:,} / {n_test:,}")], note


DATASET_COLUMNS = (
    Column("Data set"),
    Column("N"),
    Column("P"),
    Column("K"),
    Column("Training / test rows"),
)


@dataclass(frozen=True)
class Illustration:
    """The paper's first figure."""

    command: str = "illustration"
    name: str = "illustration"

    def tasks(self, options: Options) -> list[Task]:  # noqa: ARG002
        """Nothing has to be fitted."""
        return []

    def parts(self, options: Options, results: Results) -> list[Table | Figure]:  # noqa: ARG002
        """Draw it."""
        return [
            Figure(
                self.name,
                "Classification and clustering boundaries",
                "Left: 600 rows of two classes; the best boundary of the classes and "
                "the one that K-means finds without labels nearly agree. Right: where "
                "clusters differ in spread, the variance-adjusted boundary errs less "
                "than the midpoint.",
                "Two panels. Left: scatter of two classes with two nearly equal "
                "straight boundaries. Right: densities of two clusters with the "
                "midpoint and the variance-adjusted cut.",
                plot_illustration(random_state=0),
            )
        ]

"""Parts of the report without fits: the data sets and Figure 1 of the paper."""

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
        """Return an empty list: no fit is needed."""
        return []

    def parts(self, options: Options, results: Results) -> list[Table | Figure]:  # noqa: ARG002
        """Load each data set and return the table."""
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
    """Figure 1 of the paper."""

    command: str = "illustration"
    name: str = "illustration"

    def tasks(self, options: Options) -> list[Task]:  # noqa: ARG002
        """Return an empty list: no fit is needed."""
        return []

    def parts(self, options: Options, results: Results) -> list[Table | Figure]:  # noqa: ARG002
        """Return the figure."""
        return [
            Figure(
                self.name,
                "Classification and clustering boundaries",
                "Left: 600 rows of two classes. The Bayes boundary and the boundary "
                "that K-means finds without labels are nearly equal. Right: if the "
                "spreads of two clusters differ, the variance-adjusted boundary has a "
                "lower error than the midpoint.",
                "Two panels. Left: scatter of two classes with two nearly equal "
                "straight boundaries. Right: densities of two clusters with the "
                "midpoint and the variance-adjusted cut.",
                plot_illustration(random_state=0),
            )
        ]

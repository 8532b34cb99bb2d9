"""Tables for regression, which are not in the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dics_paper.comparisons import ACCURACY, COLUMNS, Comparison
from dics_paper.data import Data
from dics_paper.models import Model, of_family
from dics_paper.options import Options
from dics_paper.report.document import Column, Table
from dics_paper.running.runner import Results

TITLES = {"tree": "trees", "forest": "forests", "boosting": "boosting"}
SETTINGS = {
    "tree": "one tree of depth 8",
    "forest": "100 trees of depth 8",
    "boosting": "boosting, each library with default parameters",
}


@dataclass(frozen=True)
class Regression(Comparison):
    """A table of regression models, which is not in the paper."""

    @property
    def command(self) -> str:
        """Name of the table on the command line."""
        return f"regression-{self.family}"

    def _data(self, options: Options) -> list[Data]:
        return options.regression_data()

    def _models(self, options: Options) -> list[Model]:
        return of_family(self.command, options.models)

    def _settings(self, options: Options) -> dict[str, Any]:
        # Not for boosting: the libraries have different names for the number of rounds.
        return super()._settings(options) if self.family == "forest" else {}

    def _title(self) -> str:
        return f"Not in the paper: regression {TITLES[self.family]}"

    def _table(self, sets: Sequence[Data], options: Options, results: Results) -> Table:
        table = super()._table(sets, options, results)
        return replace(
            table,
            caption=f"Fit time and test R2 of {SETTINGS[self.family]}. Mean (standard "
            "deviation) over the runs.",
            columns=[R2 if column == ACCURACY else column for column in COLUMNS],
            notes=[NOTE],
        )


R2 = Column("Test R2", "explained fraction of the variance of the test rows")
NOTE = (
    "This table is not in the paper, which states regression as its main limitation. "
    "In the paper's setting, groups of rows with similar targets replace the classes."
)

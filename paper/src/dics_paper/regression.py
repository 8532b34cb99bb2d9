"""Beyond the paper: trees, forests and boosting of numbers, compared as its tables."""

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
    "boosting": "boosting, each library with its defaults",
}


@dataclass(frozen=True)
class Regression(Comparison):
    """A table that the paper does not have: its models for numbers as targets."""

    @property
    def command(self) -> str:
        """Name of the table on the command line."""
        return f"regression-{self.family}"

    def _data(self, options: Options) -> list[Data]:
        return options.number_data()

    def _models(self, options: Options) -> list[Model]:
        return of_family(self.command, options.models)

    def _settings(self, options: Options) -> dict[str, Any]:
        # Not of boosting: its peers have different names for the number of rounds.
        return super()._settings(options) if self.family == "forest" else {}

    def _title(self) -> str:
        return f"Beyond the paper: regression {TITLES[self.family]}"

    def _table(self, sets: Sequence[Data], options: Options, results: Results) -> Table:
        table = super()._table(sets, options, results)
        return replace(
            table,
            caption=f"Fit time and test R2 of {SETTINGS[self.family]}. Mean (standard "
            "deviation) over the runs.",
            columns=[R2 if column == ACCURACY else column for column in COLUMNS],
            notes=[NOTE],
        )


R2 = Column("Test R2", "share of the variance of the test rows that is explained")
NOTE = (
    "Not from the paper, which names regression as its main limitation: this table is "
    "ours. The paper's setting is carried over: groups of rows with like targets take "
    "the place of the classes."
)

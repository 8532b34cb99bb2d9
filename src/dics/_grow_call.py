"""What processes that grow trees together are told, and know of their rows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dics import _core
from dics._grow_forest import ForestPlan
from dics._settings import make_settings, settings_fields
from dics._validation import MAX_COUNT, FloatArray, wide_count
from dics.dictionary import Dictionary


class GrowCall(NamedTuple):
    """How some trees are grown; what all processes are told.

    Attributes
    ----------
    dictionary : Dictionary
        Of the features, in the order that the trees see.
    order : ndarray or None
        Their columns in X; None if they are the columns.
    settings : dict
        Fields of `ForestSettings`.
    is_forest : bool
        False for a single tree that looks at all features.
    n_rows : int
        Of all processes.
    draw_weights : ndarray or None
        Chances of all rows to be drawn; None if they are equal.
    apart_rows : int
        A node of so many rows is grown apart.
    """

    dictionary: Dictionary
    order: npt.NDArray[np.int32] | None
    settings: dict[str, Any]
    is_forest: bool
    n_rows: int
    draw_weights: FloatArray | None
    apart_rows: int

    @classmethod
    def of(
        cls, plan: ForestPlan, rows: dict[str, Any], n_rows: int, *, is_forest: bool
    ) -> GrowCall:
        """Return the call of a plan; `rows` are as `rows_for_core` has all of them."""
        settings = plan.settings
        if "y" in rows:
            settings.tree.scale = _core.moment_scale(
                rows["y"],
                rows["counts"],
                rows["wide_counts"],
                rows["weights"],
                settings,
            )
        return cls(
            plan.dictionary,
            plan.order,
            settings_fields(settings),
            is_forest,
            n_rows,
            rows["weights"] if settings.n_draws > 0 else None,
            1,
        )

    def for_trees(self, trees: range) -> GrowCall:
        """Return the call of some of the trees."""
        own = {"first_tree": trees.start, "n_trees": len(trees)}
        return self._replace(settings={**self.settings, **own})

    @property
    def renews(self) -> bool:
        """Whether nodes that are grown apart need the values of X."""
        return bool(self.settings["tree"]["renew_thresholds"])

    @property
    def columns(self) -> npt.NDArray[np.int32]:
        """Columns of X that the features are."""
        if self.order is not None:
            return self.order
        return np.arange(len(self.dictionary.offsets) - 1, dtype=np.int32)

    def counted(self, targets: Targets) -> Targets:
        """Let rows of classes count in fixed point, if all of them are too many."""
        has_counts = targets.counts is not None or targets.wide_counts is not None
        if (
            targets.labels is None
            or has_counts
            or self.settings["n_draws"] > 0
            or self.n_rows <= MAX_COUNT
        ):
            return targets
        unit = wide_count(self.n_rows)
        return targets._replace(
            wide_counts=np.full(len(targets.labels), unit, dtype=np.uint64)
        )

    def core_settings(self) -> _core.ForestSettings:
        """Return the settings for the core."""
        return make_settings(_core.ForestSettings, **self.settings)


class Targets(NamedTuple):
    """What the core needs of rows beside their codes; None where there is none."""

    labels: npt.NDArray[np.uint32] | None
    y: FloatArray | None
    counts: npt.NDArray[np.uint32] | None
    wide_counts: npt.NDArray[np.uint64] | None
    weights: FloatArray | None

    @classmethod
    def of(cls, rows: dict[str, Any]) -> Targets:
        """Take them from what `rows_for_core` has."""
        return cls(*(rows.get(name) for name in cls._fields))

    @property
    def numbers(self) -> FloatArray:
        """Targets that are numbers."""
        assert self.y is not None
        return self.y

    def take(self, rows: Any) -> Targets:
        """Return those of some rows."""
        return Targets(*(None if part is None else part[rows] for part in self))


def joined_targets(parts: list[Targets]) -> Targets:
    """Return those of the rows of several parts."""
    return Targets(
        *(
            None if some[0] is None else np.ascontiguousarray(np.concatenate(some))
            for some in zip(*parts, strict=True)
        )
    )

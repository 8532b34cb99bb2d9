"""A call of the core's boosting, as plain values: it may be made in another process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dics import _core
from dics._base import NO_LIMIT
from dics._candidates_base import TrainingData
from dics._constraints import interaction_groups
from dics._settings import make_settings
from dics._validation import Array, FloatArray
from dics.dictionary import Codes, Dictionary
from dics.trees import Trees

# Called with the loss of the training rows and of each validation set; true ends it.
AfterRound = Callable[[float, list[float]], bool]


class BoostCall(NamedTuple):
    """What is the same for all rows.

    Attributes
    ----------
    loss : callable
        Makes the objective of the core.
    dictionary : Dictionary
    settings : dict
        Of `_core.BoostSettings`; "limits", "rows" and "set_limits" are dicts
        as well.
    used_splits : ndarray of int64
        Splits that are gone.
    trees : Trees
        Rounds that were done before.
    start : ndarray of float32
        Scores before the first round.
    score_unit : ndarray or None
        Scores of the core times this are our own.
    loss_unit : float
        What a loss of the core is worth.
    """

    loss: Callable[[], _core.Objective]
    dictionary: Dictionary
    settings: dict[str, Any]
    used_splits: npt.NDArray[np.int64]
    trees: Trees
    start: npt.NDArray[np.float32]
    score_unit: FloatArray | None
    loss_unit: float

    def run(
        self,
        training: tuple[Codes | Array | None, ...],
        validation: Sequence[tuple[Codes | Array | None, ...]],
        after_round: AfterRound,
        peers: Any,
        n_threads: int,
    ) -> tuple[dict[str, Any], npt.NDArray[np.int64], bool]:
        """Add rounds to the scores of rows; see `_core.boost`."""
        return _core.boost(
            self.loss(),
            values=self.dictionary.values,
            offsets=self.dictionary.offsets,
            training=training,
            validation=list(validation),
            used_splits=self.used_splits,
            settings=self._core_settings(),
            after_round=lambda train, held: after_round(
                train * self.loss_unit, [loss * self.loss_unit for loss in held]
            ),
            peers=peers,
            n_threads=n_threads,
        )

    def _core_settings(self) -> _core.BoostSettings:
        fields = dict(self.settings)
        rows = dict(fields["rows"])
        rows["sampling"] = getattr(_core.RowSampling, rows["sampling"])
        fields["rows"] = make_settings(_core.RowDraw, **rows)
        fields["limits"] = make_settings(_core.NodeLimits, **fields["limits"])
        fields["set_limits"] = make_settings(_core.SetLimits, **fields["set_limits"])
        return make_settings(_core.BoostSettings, **fields)

    def as_trees(self, arrays: dict[str, Any]) -> Trees:
        """Return new trees in our own units."""
        arrays["gain"] *= self.loss_unit / self.settings["weight_unit"]
        if self.score_unit is not None:
            arrays["leaf_values"] *= self.score_unit.astype(np.float32)
        return Trees.from_core(arrays, len(self.dictionary.offsets) - 1)

    def after(self, new: Trees, used: npt.NDArray[np.int64]) -> BoostCall:
        """Return the call that goes on from new trees; `used` are splits of `run`."""
        if len(new) == 0:
            return self
        settings = dict(self.settings)
        settings["first_round"] += len(new)
        settings["n_rounds"] -= len(new)
        trees = self.trees.followed_by(new)
        n_features = len(self.dictionary.offsets) - 1
        settings["feature_gains"] = trees.feature_gains(n_features).tolist()
        return self._replace(
            settings=settings,
            # Not those of a tree that is grown again.
            used_splits=kept_splits(self.used_splits, used, new),
            trees=trees,
        )

    def first_scores(
        self, n_rows: int, add: Callable[[Trees, npt.NDArray[np.float32]], None]
    ) -> npt.NDArray[np.float32]:
        """Return the scores of rows as the core wants them.

        `add(trees, scores)` adds what the trees say of the rows.
        """
        n_outputs = len(self.start)
        scores = np.tile(self.start, (n_rows, 1))
        if len(self.trees):
            add(self.trees, scores)
        if self.score_unit is not None:
            scores /= self.score_unit.astype(np.float32)
        width = _core.score_width(n_outputs)
        if width == n_outputs:
            return scores
        padded = np.full((n_rows, width), -np.inf, dtype=np.float32)
        padded[:, :n_outputs] = scores
        return padded


def kept_splits(
    before: npt.NDArray[np.int64], used: npt.NDArray[np.int64], new: Trees
) -> npt.NDArray[np.int64]:
    """Return the splits that are gone, up to the first ones of new trees."""
    roots = new.node_starts[:-1]
    cuts = (new.feature[roots] >= 0) & np.isfinite(new.threshold[roots])
    return used[: len(before) + int(np.count_nonzero(cuts))]


def core_fields(model: Any, data: TrainingData, unit: float) -> dict[str, Any]:
    """Return the settings of a call for the next rounds of a model.

    What is compared with weights has their unit too.
    """
    n_done, options, categorical = len(model.trees_), model._options, model._categorical
    limits = {
        "max_depth": min(model.max_depth or NO_LIMIT, NO_LIMIT),
        "min_samples_leaf": min(model.plan_.min_samples_leaf, len(data.X) + 1),
        "max_leaf_nodes": min(model.plan_.max_leaf_nodes or NO_LIMIT, NO_LIMIT),
        "reuse_splits": options.reuse_splits,
    }
    rows = {
        "sampling": model.plan_.sampling or "none",
        "top_rate": model.plan_.top_rate,
        "other_rate": model.plan_.other_rate,
    }
    return {
        "learning_rate": model.plan_.learning_rate,
        "limits": limits,
        "max_features": model.plan_.max_features,
        "prefers_gains": model.plan_.prefers_gains,
        "feature_gains": model.trees_.feature_gains(data.X.shape[1]).tolist(),
        "gain_worth": model._loss_unit / unit,
        "max_candidates": min(options.max_candidates or 0, NO_LIMIT),
        "sketch_outputs": model.plan_.sketch_outputs or 0,
        "rows": rows,
        "leaves_of_sample": options.leaf_values == "sample",
        "l2": model.plan_.l2_regularization * unit,
        "noise_shrinkage": model.plan_.noise_shrinkage,
        "weight_unit": unit,
        "min_gain": model.min_split_gain * unit,
        "min_sum_hessian": model.min_child_weight * unit,
        "monotonic": model._directions(data),
        "categorical": model._ranked_features(),
        "cat_smooth": categorical.smooth * unit,
        "cat_l2": categorical.l2 * unit,
        "set_limits": model._set_limits(),
        "interactions": interaction_groups(model),
        "seed": data.seed,
        "first_round": n_done,
        "n_rounds": model.plan_.n_estimators - n_done,
    }

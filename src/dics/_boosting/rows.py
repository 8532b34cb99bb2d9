"""Training and validation rows of boosting, and the call of the core."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dics import _core
from dics._dictionary import Codes, Dictionary, TrainingData
from dics._estimator.base import NO_LIMIT
from dics._growing.constraints import interaction_groups
from dics._growing.settings import make_settings
from dics._input.checks import Array, FloatArray
from dics._input.sparse import SparseRows
from dics._model.trees import Trees

if TYPE_CHECKING:
    from dics._boosting.rounds import Rounds


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
        return self._replace(
            settings=settings,
            # Not those of a tree that is grown again.
            used_splits=kept_splits(self.used_splits, used, new),
            trees=self.trees.concat(new),
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
        "interactions": (
            [] if model.interaction_cst is None else interaction_groups(model)
        ),
        "seed": data.seed,
        "first_round": n_done,
        "n_rounds": model.plan_.n_estimators - n_done,
    }


class Validation(NamedTuple):
    """Validation rows that were given: numbers of their classes, or their targets."""

    X: Array | SparseRows
    labels: npt.NDArray[np.uint32] | None
    weights: FloatArray | None  # their own times those of their classes
    values: FloatArray | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows, by their targets."""
        targets = self.values if self.labels is None else self.labels
        assert targets is not None
        return len(targets)


class GivenRows(NamedTuple):
    """A validation set as it was given to `fit`, and what errors call it."""

    name: str
    X: Any
    y: Any
    weights: Any
    where: str


def check_eval_sets(
    X_val: Any,
    y_val: Any,
    sample_weight_val: Any,
    eval_set: Any,
    eval_names: Any,
    eval_sample_weight: Any,
) -> list[GivenRows]:
    """Check the validation sets of `fit` as a whole; their rows are checked later."""
    if eval_set is None:
        for name, value in (
            ("eval_names", eval_names),
            ("eval_sample_weight", eval_sample_weight),
        ):
            if value is not None:
                raise ValueError(f"{name} needs eval_set, which is missing.")
        if (X_val is None) != (y_val is None):
            missing = "y_val" if y_val is None else "X_val"
            raise ValueError(
                f"X_val and y_val belong together, but {missing} is missing."
            )
        if X_val is None and sample_weight_val is not None:
            raise ValueError("sample_weight_val needs X_val and y_val.")
        if X_val is None:
            return []
        return [
            GivenRows("validation", X_val, y_val, sample_weight_val, "X_val, y_val")
        ]
    if not (X_val is None and y_val is None and sample_weight_val is None):
        raise ValueError(
            "Give validation rows either as X_val, y_val and sample_weight_val or as "
            "eval_set, not as both."
        )
    if isinstance(eval_set, tuple) and len(eval_set) == 2:
        eval_set = [eval_set]  # as LightGBM, one pair may stand alone
    sets = list(eval_set)
    for i, pair in enumerate(sets):
        if not (isinstance(pair, tuple | list) and len(pair) == 2):
            raise ValueError(
                f"eval_set must be a list of pairs (X, y); eval_set[{i}] is "
                f"{type(pair).__name__}."
            )
    names = [f"validation_{i}" for i in range(len(sets))]
    if eval_names is not None:
        names = [eval_names] if isinstance(eval_names, str) else list(eval_names)
    weights = [None] * len(sets)
    if eval_sample_weight is not None:
        weights = list(eval_sample_weight)
    for what, values in (("eval_names", names), ("eval_sample_weight", weights)):
        if len(values) != len(sets):
            raise ValueError(
                f"{what} has {len(values)} entries, eval_set has {len(sets)}."
            )
    if len({"training", *names}) <= len(names):
        raise ValueError(
            f"eval_names must differ from each other and from 'training', got {names}."
        )
    return [
        GivenRows(name, X, y, weight, f"eval_set[{i}]")
        for i, (name, (X, y), weight) in enumerate(
            zip(names, sets, weights, strict=True)
        )
    ]


class Parts(NamedTuple):
    """Which rows are for training and which for validation; None: all, or none."""

    training: npt.NDArray[np.intp] | None
    validation: npt.NDArray[np.intp] | None
    weights: FloatArray | None  # zero for rows that aren't for training


class CodedRows(NamedTuple):
    """Rows as the core wants them, but for the unit of their weights."""

    codes: Codes
    labels: npt.NDArray[np.uint32] | None
    targets: npt.NDArray[np.float32] | None  # [row][target]
    weights: FloatArray | None
    scores: npt.NDArray[np.float32]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.scores)

    @property
    def weight_unit(self) -> float:
        """What a weight of one is in the core: each part of the rows has its own.

        A row may outweigh all others so much that beside it they would be zero, and be
        held out.
        """
        return weight_unit(self.weights)

    def core_weights(self) -> npt.NDArray[np.float32] | None:
        """Return the weights in that unit."""
        if self.weights is None:
            return None
        return (self.weights * self.weight_unit).astype(np.float32)

    def for_core(self) -> tuple[Codes | Array | None, ...]:
        """Return the arrays in the order that the core knows."""
        return self.codes, self.labels, self.targets, self.core_weights(), self.scores

    def total_weight(self) -> float:
        """Return what all rows weigh."""
        return total_weight(self.weights, self.n_rows)

    def boost(
        self,
        call: BoostCall,
        validation: list[CodedRows],
        rounds: Rounds,
        n_threads: int,
    ) -> tuple[Trees, npt.NDArray[np.int64]]:
        """Add rounds; return their trees and the splits that are gone."""
        arrays, used, _ = call.run(
            self.for_core(),
            [rows.for_core() for rows in validation],
            rounds.note,
            None,
            n_threads,
        )
        return call.as_trees(arrays), used.view(np.int64)

    def put(self, rows: npt.NDArray[np.intp], taken: CodedRows) -> None:
        """Write the scores of some rows back, which were taken before."""
        self.scores[rows] = taken.scores

    def take(self, rows: npt.NDArray[np.intp] | None) -> CodedRows:
        """Return some of the rows, or (None) all."""
        if rows is None:
            return self
        return CodedRows(
            self._take_codes(rows),
            None if self.labels is None else self.labels[rows],
            None if self.targets is None else self.targets[rows],
            None if self.weights is None else self.weights[rows],
            self.scores[rows],
        )

    def _take_codes(self, rows: npt.NDArray[np.intp]) -> Codes:
        if not isinstance(self.codes, np.ndarray):
            return self.codes.take(rows.astype(np.int64, copy=False))
        columns = self.codes.reshape(-1, self.n_rows)
        return np.ascontiguousarray(columns[:, rows]).ravel()


def part_rows(data: TrainingData, validation_fraction: Any) -> Parts:
    """Choose training and validation rows; rows of weight zero are neither."""
    rows = None
    if data.weights is not None and not data.weights.all():
        rows = np.flatnonzero(data.weights)
    if validation_fraction is None:
        return Parts(rows, None, data.weights)
    if rows is None:
        rows = np.arange(len(data.X))
    training, validation = hold_out(rows, data.labels, validation_fraction, data.seed)
    weights = np.ones(len(data.X)) if data.weights is None else data.weights.copy()
    weights[validation] = 0
    return Parts(training, validation, weights)


def hold_out(
    rows: npt.NDArray[np.intp],
    labels: npt.NDArray[np.uint32] | None,
    size: Any,
    seed: int,
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Part rows into those kept and those held out, each class alike if it can be."""
    # Not at the top: slow to import, and few need it.
    from sklearn.model_selection import train_test_split

    assert labels is not None
    n_held = int(size if isinstance(size, Integral) else np.ceil(size * len(rows)))
    if n_held >= len(rows):
        raise ValueError(
            f"validation_fraction={size!r} of {len(rows)} rows leaves none for "
            "training."
        )
    counts = np.unique(labels[rows], return_counts=True)[1]
    alike = counts.min() > 1 and min(n_held, len(rows) - n_held) >= len(counts)
    kept, held = train_test_split(
        rows,
        test_size=n_held,
        random_state=seed % 2**32,
        stratify=labels[rows] if alike else None,
    )
    return np.sort(kept), np.sort(held)


def total_weight(weights: FloatArray | None, n_rows: int) -> float:
    """Return what rows weigh."""
    return float(n_rows if weights is None else weights.sum())


def weight_unit(weights: FloatArray | None) -> float:
    """Power of two that brings the weights near one: they are float32 in the core."""
    if weights is None:
        return 1.0
    exponent = int(np.frexp(weights.max())[1])
    return float(np.ldexp(1.0, min(-exponent, 1000)))  # finite for the smallest too

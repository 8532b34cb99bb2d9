"""Training and validation rows of boosting, and the job of the core."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from dics import _core
from dics._dictionary import Codes, Dictionary
from dics._estimator.arguments import NO_LIMIT
from dics._growing.constraints import interaction_groups
from dics._input.checks import FloatArray
from dics._model.trees import Trees

if TYPE_CHECKING:
    from dics._boosting.rounds import Rounds
    from dics._training import TrainingData


class RowValues(NamedTuple):
    """The values of rows, without those of X, as the core needs them.

    Attributes
    ----------
    labels : ndarray of uint32 or None
    targets : ndarray of float32 or None
        Targets of regression or of a custom loss, [row][target].
    weights : ndarray of float64 or None
        Scaled float32 if they are those of the core.
    offset : ndarray of float64 or None
        Offset of the scores, [row][output].
    """

    labels: npt.NDArray[np.uint32] | None
    targets: npt.NDArray[np.float32] | None
    weights: npt.NDArray[np.floating[Any]] | None
    offset: FloatArray | None

    def take(self, rows: npt.NDArray[np.intp]) -> RowValues:
        """Return the values of some rows."""
        parts: tuple[Any, ...] = self
        return RowValues(*(None if part is None else part[rows] for part in parts))


class BoostJob(NamedTuple):
    """The part of a fit that is the same for all rows; it can be pickled.

    Attributes
    ----------
    dictionary : Dictionary
    trees : Trees
        Trees of earlier rounds.
    start : ndarray of float32
        Scores before the first round.
    score_unit : ndarray or None
        Factor from scores of the core to scores of the model.
    loss_unit : float
        Factor from losses of the core to losses of the model.
    loss : callable
        Makes the objective of the core.
    settings : BoostSettings
    used_splits : ndarray of int64
        Splits that may not be used again.
    repeated : Trees or None
        Trees whose splits the rounds take; only their leaf values are computed.
    """

    dictionary: Dictionary
    trees: Trees
    start: npt.NDArray[np.float32]
    score_unit: FloatArray | None
    loss_unit: float
    # Only `encode` does without these three.
    loss: Callable[[], _core.Objective] | None = None
    settings: _core.BoostSettings = _core.BoostSettings()
    used_splits: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)
    repeated: Trees | None = None

    @classmethod
    def of(cls, model: Any) -> BoostJob:
        """Return a job with the dictionary and the trees of a model, for `encode`."""
        return cls(
            model.candidates_._dictionary,
            model.trees_,
            model._start,
            model._fitted_loss.score_unit(),
            model._fitted_loss.loss_unit(),
        )

    def core_arguments(
        self, after_round: Callable[[float, list[float]], float]
    ) -> dict[str, Any]:
        """Return the arguments of `_core.boost` that do not depend on the rows.

        `after_round` gets the loss of the training rows and of each validation set; it
        returns the learning rate of the next round, or 0.0 to stop.
        """
        assert self.loss is not None
        return {
            "objective": self.loss(),
            "values": self.dictionary.values,
            "offsets": self.dictionary.offsets,
            "used_splits": self.used_splits,
            "settings": self.settings,
            "repeated": None if self.repeated is None else self.repeated.core_arrays(),
            "after_round": lambda train, held: after_round(
                train * self.loss_unit, [loss * self.loss_unit for loss in held]
            ),
        }

    def as_trees(self, arrays: dict[str, Any]) -> Trees:
        """Return new trees in the units of the model."""
        # Gains are sums over weighted rows, leaf values are not.
        arrays["gain"] *= self.loss_unit / self.settings.weight_unit
        if self.repeated is not None:
            arrays["gain"] = self.repeated.gain[: len(arrays["gain"])].copy()
        if self.score_unit is not None:
            arrays["leaf_values"] *= self.score_unit.astype(np.float32)
        return Trees.from_core(arrays, len(self.dictionary.offsets) - 1)

    def after(self, new: Trees, used: npt.NDArray[np.int64]) -> BoostJob:
        """Return the job that continues after new trees."""
        if len(new) == 0:
            return self
        settings = self.settings.replace(
            first_round=self.settings.first_round + len(new),
            n_rounds=self.settings.n_rounds - len(new),
        )
        return self._replace(
            settings=settings,
            # Without those of a tree that is grown again.
            used_splits=kept_splits(self.used_splits, used, new),
            trees=self.trees.concat(new),
            repeated=None if self.repeated is None else self.repeated.without(len(new)),
        )

    def first_scores(
        self,
        n_rows: int,
        offset: FloatArray | None,
        add: Callable[[Trees, npt.NDArray[np.float32]], None],
    ) -> npt.NDArray[np.float32]:
        """Return the scores of rows after the earlier rounds, in units of the core.

        `add(trees, scores)` adds the values of trees to the scores of the rows.
        """
        n_outputs = len(self.start)
        scores = np.tile(self.start, (n_rows, 1))
        if offset is not None:
            scores += offset.astype(np.float32)
        if len(self.trees):
            add(self.trees, scores)
        if self.score_unit is not None:
            scores /= self.score_unit.astype(np.float32)
        # Vector kernels read whole registers; -inf gives the padding no probability.
        width = _core.score_width(n_outputs)
        if width == n_outputs:
            return scores
        padded = np.full((n_rows, width), -np.inf, dtype=np.float32)
        padded[:, :n_outputs] = scores
        return padded


def kept_splits(
    before: npt.NDArray[np.int64], used: npt.NDArray[np.int64], new: Trees
) -> npt.NDArray[np.int64]:
    """Return the used splits up to the first ones of new trees."""
    # Each round uses up the split of its root only.
    roots = new.node_starts[:-1]
    cuts = (new.feature[roots] >= 0) & np.isfinite(new.threshold[roots])
    return used[: len(before) + int(np.count_nonzero(cuts))]


def boost_settings(model: Any, data: TrainingData, unit: float) -> _core.BoostSettings:
    """Return the settings of the next rounds of a model.

    Settings that are compared with sums of weights are in their unit.
    """
    plan, options, categorical = model.plan_, model._options, model._categorical
    n_done = len(model.trees_)
    return _core.BoostSettings(
        learning_rate=plan.learning_rate,
        limits=_core.NodeLimits(
            max_depth=min(model.max_depth or NO_LIMIT, NO_LIMIT),
            min_samples_leaf=min(plan.min_samples_leaf, len(data.rows) + 1),
            max_leaf_nodes=min(plan.max_leaf_nodes or NO_LIMIT, NO_LIMIT),
            reuse_splits=options.reuse_splits,
        ),
        max_features=plan.max_features,
        max_candidates=min(options.max_candidates or 0, NO_LIMIT),
        sketch_outputs=plan.sketch_outputs or 0,
        rows=_core.RowDraw(
            sampling=getattr(_core.RowSampling, plan.sampling or "none"),
            top_rate=plan.top_rate,
            other_rate=plan.other_rate,
        ),
        leaves_of_sample=options.leaf_values == "sample",
        l2=plan.l2_regularization * unit,
        noise_shrinkage=plan.noise_shrinkage,
        weight_unit=unit,
        min_gain=model.min_split_gain * unit,
        min_child_weight=model.min_child_weight * unit,
        monotonic=data.monotonic,
        categories=model._category_settings().replace(smooth=categorical.smooth * unit),
        category_l2=categorical.l2 * unit,
        interactions=[] if model.interaction_cst is None else interaction_groups(model),
        seed=data.seed,
        first_round=n_done,
        n_rounds=plan.n_estimators - n_done,
    )


def boost_job(
    model: Any, data: TrainingData, sets: list[CodedRows]
) -> tuple[BoostJob, list[CodedRows]]:
    """Return the job of the next rounds, and its sets of rows, training first."""
    objective, sets = model._fitted_loss.objective(sets)
    job = BoostJob.of(model)._replace(
        loss=objective,
        settings=boost_settings(model, data, sets[0].weight_unit),
        used_splits=model._used_splits,
    )
    return job, sets


class CodedRows(ABC):
    """Rows of one set in boosting: codes, targets, weights and scores.

    Attributes
    ----------
    values : RowValues
    scores : ndarray of float32
        The core adds the values of leaves to them in place.
    """

    values: RowValues
    scores: npt.NDArray[np.float32]

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def weight_unit(self) -> float:
        """Power of two that brings the weights near one: they are float32 in the core.

        Each set has its own unit. The weights of one set may be so much larger than
        those of another that these would become zero.
        """
        if self.values.weights is None:
            return 1.0
        exponent = int(np.frexp(self.values.weights.max())[1])
        # The limit keeps the unit finite for the smallest weights.
        return float(np.ldexp(1.0, min(-exponent, 1000)))

    def core_weights(self) -> npt.NDArray[np.float32] | None:
        """Return the weights in that unit."""
        if self.values.weights is None:
            return None
        return (self.values.weights * self.weight_unit).astype(np.float32)

    def unweighted(self) -> Self:
        """Return the same rows without weights."""
        copied = copy.copy(self)
        copied.values = self.values._replace(weights=None)
        return copied

    @abstractmethod
    def take(self, rows: npt.NDArray[np.intp] | None) -> Self:
        """Return some of the rows, or (None) all."""

    @abstractmethod
    def boost(
        self, job: BoostJob, validation: list[Any], rounds: Rounds, n_threads: int
    ) -> tuple[Trees, npt.NDArray[np.int64]]:
        """Run the rounds of a job; return the new trees and all used splits."""


class LocalCodes(CodedRows):
    """Codes of rows in this process."""

    def __init__(
        self, codes: Codes, values: RowValues, scores: npt.NDArray[np.float32]
    ) -> None:
        self.codes = codes
        self.values = values
        self.scores = scores

    @property
    def n_rows(self) -> int:
        return len(self.scores)

    def take(self, rows: npt.NDArray[np.intp] | None) -> LocalCodes:
        if rows is None:
            return self
        codes: Codes
        if isinstance(self.codes, np.ndarray):
            # [feature][row]: a round reads some of the features.
            columns = self.codes.reshape(-1, self.n_rows)
            codes = np.ascontiguousarray(columns[:, rows]).ravel()
        else:
            codes = self.codes.take(rows.astype(np.int64, copy=False))
        return LocalCodes(codes, self.values.take(rows), self.scores[rows])

    def arrays(self) -> tuple[Any, ...]:
        """Return the arrays in the order of `_core.boost`."""
        labels, targets, _, _ = self.values
        return self.codes, labels, targets, self.core_weights(), self.scores

    def boost(
        self,
        job: BoostJob,
        validation: list[LocalCodes],
        rounds: Rounds,
        n_threads: int,
    ) -> tuple[Trees, npt.NDArray[np.int64]]:
        arrays, used, _ = _core.boost(
            training=self.arrays(),
            validation=[rows.arrays() for rows in validation],
            peers=None,
            n_threads=n_threads,
            **job.core_arguments(rounds.note),
        )
        return job.as_trees(arrays), used.view(np.int64)


class EvalSet(NamedTuple):
    """A validation set as `fit` got it."""

    name: str  # in `evals_result_`
    X: Any
    y: Any
    weights: Any
    offset: Any
    where: str  # in errors


class CheckedEvalSet(NamedTuple):
    """The checked targets of a validation set: class indices, or numbers."""

    labels: npt.NDArray[np.uint32] | None
    values: FloatArray | None
    weights: FloatArray | None  # times those of the classes
    offset: FloatArray | None = None  # [row][output]

    @property
    def n_rows(self) -> int:
        """Number of rows, by their targets."""
        targets = self.values if self.labels is None else self.labels
        assert targets is not None
        return len(targets)


def check_eval_sets(
    X_val: Any,
    y_val: Any,
    sample_weight_val: Any,
    offset_val: Any,
    eval_set: Any,
    eval_names: Any,
    eval_sample_weight: Any,
    eval_offset: Any,
) -> list[EvalSet]:
    """Check the validation sets of `fit` as a whole; their rows are checked later."""
    of_rows = {"sample_weight_val": sample_weight_val, "offset_val": offset_val}
    if eval_set is None:
        for name, value in (
            ("eval_names", eval_names),
            ("eval_sample_weight", eval_sample_weight),
            ("eval_offset", eval_offset),
        ):
            if value is not None:
                raise ValueError(f"{name} needs eval_set, which is missing.")
        if (X_val is None) != (y_val is None):
            missing = "y_val" if y_val is None else "X_val"
            raise ValueError(
                f"X_val and y_val belong together, but {missing} is missing."
            )
        for name, value in of_rows.items():
            if X_val is None and value is not None:
                raise ValueError(f"{name} needs X_val and y_val.")
        if X_val is None:
            return []
        where = "X_val, y_val"
        return [
            EvalSet("validation", X_val, y_val, sample_weight_val, offset_val, where)
        ]
    if any(value is not None for value in (X_val, y_val, *of_rows.values())):
        raise ValueError(
            "Give validation rows either as X_val and y_val, with sample_weight_val "
            "and offset_val, or as eval_set, not as both."
        )
    if isinstance(eval_set, tuple) and len(eval_set) == 2:
        eval_set = [eval_set]  # LightGBM accepts a single pair too
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
    none = [None] * len(sets)
    weights = none if eval_sample_weight is None else list(eval_sample_weight)
    offsets = none if eval_offset is None else list(eval_offset)
    for what, values in (
        ("eval_names", names),
        ("eval_sample_weight", weights),
        ("eval_offset", offsets),
    ):
        if len(values) != len(sets):
            raise ValueError(
                f"{what} has {len(values)} entries, eval_set has {len(sets)}."
            )
    if len({"training", *names}) <= len(names):
        raise ValueError(
            f"eval_names must differ from each other and from 'training', got {names}."
        )
    return [
        EvalSet(name, X, y, weight, offset, f"eval_set[{i}]")
        for i, (name, (X, y), weight, offset) in enumerate(
            zip(names, sets, weights, offsets, strict=True)
        )
    ]


class TrainValidationSplit(NamedTuple):
    """Rows for training and for validation; None for all and for none."""

    training: npt.NDArray[np.intp] | None
    validation: npt.NDArray[np.intp] | None
    weights: FloatArray | None  # zero for rows that are not for training


def split_rows(data: TrainingData, validation_fraction: Any) -> TrainValidationSplit:
    """Choose training and validation rows, without rows of weight zero."""
    rows = None
    if data.weights is not None and not data.weights.all():
        rows = np.flatnonzero(data.weights)
    if validation_fraction is None:
        return TrainValidationSplit(rows, None, data.weights)
    n_rows = len(data.rows)
    if rows is None:
        rows = np.arange(n_rows)
    training, validation = hold_out(rows, data.labels, validation_fraction, data.seed)
    weights = np.ones(n_rows) if data.weights is None else data.weights.copy()
    weights[validation] = 0
    return TrainValidationSplit(training, validation, weights)


def hold_out(
    rows: npt.NDArray[np.intp],
    labels: npt.NDArray[np.uint32] | None,
    size: Any,
    seed: int,
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Split rows into training and validation rows, stratified by class if possible."""
    # Not at the top: the import is slow, and few fits need it.
    from sklearn.model_selection import train_test_split

    assert labels is not None
    n_held = int(size if isinstance(size, Integral) else np.ceil(size * len(rows)))
    if n_held >= len(rows):
        raise ValueError(
            f"validation_fraction={size!r} of {len(rows)} rows leaves none for "
            "training."
        )
    counts = np.unique(labels[rows], return_counts=True)[1]
    # A class with a single row cannot be on both sides.
    can_stratify = counts.min() > 1 and min(n_held, len(rows) - n_held) >= len(counts)
    kept, held = train_test_split(
        rows,
        test_size=n_held,
        random_state=seed % 2**32,  # scikit-learn accepts 32 bits
        stratify=labels[rows] if can_stratify else None,
    )
    return np.sort(kept), np.sort(held)

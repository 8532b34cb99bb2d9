"""The trials by which a forest chooses how random its trees are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dics._growing.sampling import sample_counts
from dics._growing.settings import TreePlan
from dics._input.checks import FloatArray, shallow_copy
from dics._training import LocalRows, TrainingData

if TYPE_CHECKING:
    from dics.forest import CGForest


class Randomness(NamedTuple):
    """Parameters that decide how random the trees of a forest are."""

    max_features: str | float | None
    splitter: str
    min_samples_leaf: float

    @classmethod
    def of(cls, forest: CGForest[Any]) -> Randomness:
        """Return those of a fitted forest."""
        # Forests of early model files have no plan, but no "auto" either.
        plan: Any = vars(forest).get("plan_")
        return cls._make(getattr(plan, name, None) for name in cls._fields)

    def as_text(self) -> str:
        """Return the parameters as a constructor takes them."""
        return ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())


# Trees of a trial, and the fraction and the limit of its rows.
N_TREES = 12
ROW_FRACTION, MAX_ROWS = 0.2, 3_000
# Fewest rows of a trial: the error of fewer is too noisy.
MIN_ROWS = 100
# Most features with trials in classification: nodes that search half of more features
# take too long.
MAX_FEATURES = 100
# Standard errors by which a value must be better than the default.
MIN_GAIN = 1.0
# Values of the trials, other than the first, of classification and of regression.
SPLITS: dict[bool, list[dict[str, Any]]] = {
    False: [
        {"max_features": 0.5, "splitter": "best"},
        {"max_features": None, "splitter": "random"},
    ],
    True: [
        {"max_features": "sqrt", "splitter": "best"},
        {"max_features": None, "splitter": "best"},
        {"max_features": None, "splitter": "random"},
    ],
}
LEAVES: list[dict[str, Any]] = [{"min_samples_leaf": 3}]


def choose_randomness(forest: CGForest[Any], data: TrainingData) -> Randomness:
    """Return the parameters of a forest with every "auto" replaced.

    Trials of a few trees on some of the rows compare the values. First the splits are
    chosen, then the size of the leaves.
    """
    is_regression = data.values is not None
    chosen = with_given(Randomness(0.5 if is_regression else "sqrt", "best", 1), forest)
    if "auto" not in given_values(forest):
        return chosen
    if not is_regression and data.rows.n_features > MAX_FEATURES:
        return chosen
    rows = sampled_rows(data)
    if len(rows) < MIN_ROWS:
        return chosen
    some = sampled_data(data, rows)
    errors = trial_errors(forest, some, chosen)
    for stage in (SPLITS[is_regression], LEAVES):
        start = chosen
        for changes in stage:
            option = with_given(start._replace(**changes), forest)
            if option == start:
                continue
            found = trial_errors(forest, some, option)
            if is_better(found, errors, some.weights):
                chosen, errors = option, found
    return chosen


def given_values(forest: CGForest[Any]) -> list[Any]:
    """Return the parameters as the user has given them."""
    return [getattr(forest, name) for name in Randomness._fields]


def with_given(values: Randomness, forest: CGForest[Any]) -> Randomness:
    """Replace values by those that the user has given."""
    given = dict(zip(Randomness._fields, given_values(forest), strict=True))
    return values._replace(**{k: v for k, v in given.items() if v != "auto"})


def sampled_rows(data: TrainingData) -> npt.NDArray[np.intp]:
    """Return the sorted indices of the rows of the trials."""
    rows = np.arange(len(data.rows))
    if data.weights is not None:
        rows = rows[data.weights > 0]
    n_rows = min(MAX_ROWS, int(ROW_FRACTION * len(rows)))
    return np.sort(np.random.default_rng(data.seed).permutation(rows)[:n_rows])


def sampled_data(data: TrainingData, rows: npt.NDArray[np.intp]) -> TrainingData:
    """Return some of the rows, in this process."""
    return data._replace(
        rows=LocalRows(data.rows.take(rows)),
        labels=None if data.labels is None else data.labels[rows],
        values=None if data.values is None else data.values[rows],
        weights=None if data.weights is None else data.weights[rows],
    )


def trial_errors(
    forest: CGForest[Any], data: TrainingData, values: Randomness
) -> FloatArray:
    """Return the out-of-bag error of each row, as that of infinitely many trees.

    The error is the mean product of the residuals of two different trees: its
    expectation is the squared error of the mean of all trees. Rows that fewer than two
    trees have left out get NaN.
    """
    trial = shallow_copy(forest)
    vars(trial).update(values._asdict(), n_estimators=N_TREES, ccp_alpha=0, verbose=0)
    n_rows = len(data.rows)
    trial.plan_ = TreePlan.of(trial, data, n_rows)
    trees = trial._grow(data, n_rows, 0)
    truth = data.values
    if truth is None:
        assert data.labels is not None
        truth = np.eye(data.n_classes)[data.labels]
    sums, squares, n_trees = np.zeros(truth.shape), np.zeros(n_rows), np.zeros(n_rows)
    X = data.rows.take()
    counts = sample_counts(data.seed, range(N_TREES), n_rows, n_rows, data.weights)
    for t, sampled in enumerate(counts):
        rows = np.flatnonzero(sampled == 0).astype(np.uint32)
        predicted = np.zeros((len(rows), truth.shape[1]))
        where: dict[str, Any] = {"n_threads": data.n_threads, "rows": rows}
        if data.values is None:
            trees[t].add_votes(X, predicted, hard=False, **where)
        else:
            trees[t].add_values(X, predicted, **where)
        residuals = truth[rows] - predicted
        sums[rows] += residuals
        squares[rows] += (residuals**2).sum(axis=1)
        n_trees[rows] += 1
    pairs = np.where(n_trees > 1, n_trees * (n_trees - 1), np.nan)
    errors: FloatArray = ((sums**2).sum(axis=1) - squares) / pairs
    return errors


def is_better(
    first: FloatArray, second: FloatArray, weights: npt.NDArray[Any] | None
) -> bool:
    """Return True if the first errors are lower by more than chance."""
    gain = second - first
    seen = np.isfinite(gain)
    if seen.sum() < 2:
        return False
    gain = gain[seen]
    if weights is not None:
        gain = gain * (weights[seen] / weights[seen].mean())
    return bool(gain.mean() > MIN_GAIN * gain.std() / np.sqrt(len(gain)))

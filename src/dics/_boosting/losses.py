"""Losses of boosting outside the core: units, start scores, predictions."""

from __future__ import annotations

import functools
import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dics import _core
from dics._boosting.rows import RowValues
from dics._input.checks import FloatArray
from dics._model.checks import check_vector, require

if TYPE_CHECKING:
    from dics._boosting.rows import CodedRows
    from dics._training import TrainingData


# Start probability of a class without any weight.
LEAST_PRIOR = 1e-9
# Scores of float32 that differ by less than 1e-15 may give equal probabilities. All of
# them are smaller than this.
TIED_SCORES = 1e-7

Scores = npt.NDArray[np.float32]
FloatScores = npt.NDArray[np.floating[Any]]  # float64 if an offset was added

# Largest offset of logarithms and margins: exp(80) fits into single precision.
LARGEST_LOG_OFFSET = 80.0
# Largest number and change of the steps that fit a start to an offset.
START_STEPS, START_TOLERANCE = 50, 1e-6

# Losses whose scores are logarithms of predictions.
LOG_LINK_LOSSES = ("poisson", "gamma", "tweedie")
LOSSES = ("squared_error", "absolute_error", "huber", "quantile", *LOG_LINK_LOSSES)


def logarithms(values: FloatArray) -> FloatArray:
    """Return natural logarithms that are bit-identical on every processor.

    Those of NumPy depend on AVX-512, and the start of a model would depend on them.
    """
    return np.array([math.log(value) for value in values])


def rounded(shift: FloatArray) -> FloatArray:
    """Round to multiples of 2^-16.

    The last digit of exp in NumPy depends on AVX-512; the result does not.
    """
    result: FloatArray = np.rint(shift * 2**16) / 2**16
    return result


class Loss:
    """Base class of all losses; by default, the core has the units of the model."""

    def score_unit(self) -> FloatArray | None:
        """Return the unit of the scores of the core, for each output; None for 1."""
        return None

    def loss_unit(self) -> float:
        """Return the unit of the loss of the core."""
        return 1.0


class LogLoss(Loss):
    """Log-loss of classification: scores are logarithms of probabilities.

    Two classes have a single score, the margin of the second class.

    Parameters
    ----------
    n_classes : int
    """

    name = "log_loss"
    subtracts_offset = False
    largest_offset = LARGEST_LOG_OFFSET

    @classmethod
    @functools.cache  # the prediction of one row takes 20 us
    def of(cls, n_classes: int) -> LogLoss:
        """Return the loss for this number of classes."""
        return cls(n_classes)

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes
        self.n_outputs: int = _core.log_loss(n_classes).n_outputs
        self.n_offsets = self.n_outputs

    def is_constant(self, data: TrainingData) -> bool:
        """Return True if there is nothing to learn."""
        return data.n_classes == 1

    def begin(self, data: TrainingData, weights: FloatArray | None) -> Scores:
        """Return F_0: the logarithms of the class fractions, or their margin."""
        assert data.labels is not None
        sums = np.bincount(data.labels, weights, minlength=self.n_classes)
        fractions = np.maximum(sums / sums.sum(), LEAST_PRIOR)
        logs = logarithms(fractions)
        if data.offset is not None:
            logs += self._shift(logs, fractions, data.offset, weights)
        return self._as_scores(logs).astype(np.float32)

    def _shift(
        self,
        logs: FloatArray,
        fractions: FloatArray,
        offset: FloatArray,
        weights: FloatArray | None,
    ) -> FloatArray:
        """Return the change of `logs` for which mean probabilities are the fractions.

        Newton steps by the diagonal, times (K - 1) / K: exact for two classes.
        """
        shift = np.zeros(self.n_classes)
        for _ in range(START_STEPS):
            p = self.probabilities(self._as_scores(logs + shift) + offset)
            missing = fractions - np.average(p, axis=0, weights=weights)
            slope = np.average(p * (1 - p), axis=0, weights=weights)
            step = (1 - 1 / self.n_classes) * missing / np.maximum(slope, LEAST_PRIOR)
            shift += np.clip(step, -2, 2)  # a step could overshoot
            if np.abs(step).max() < START_TOLERANCE:
                break
        return rounded(shift)

    def _as_scores(self, logs: FloatArray) -> FloatArray:
        return logs if self.n_outputs == self.n_classes else logs[1:] - logs[:1]

    def core_values(self, data: TrainingData) -> RowValues:
        """Return the values of the rows for the core."""
        return RowValues(data.labels, None, data.weights, data.offset)

    def objective(
        self, sets: list[CodedRows]
    ) -> tuple[Callable[[], _core.Objective], list[CodedRows]]:
        """Return a factory of the objective of the core, and the rows for it."""
        return functools.partial(core_log_loss, self.n_classes), sets

    def origin(self) -> FloatArray:
        """Return the origin of the scores: zero."""
        return np.zeros(self.n_outputs)

    def decision(self, scores: FloatScores) -> FloatArray:
        """Return scores in the shape of scikit-learn: a single one is a vector."""
        return squeezed(scores.astype(np.float64))

    def probabilities(self, scores: FloatScores) -> FloatArray:
        """Return the class probabilities of scores."""
        wide: FloatArray = scores.astype(np.float64)
        # Half of the margin for each class: the softmax is then the logistic function.
        if self.n_outputs < self.n_classes:
            wide = np.column_stack([-wide[:, 0] / 2, wide[:, 0] / 2])
        wide -= wide.max(axis=1, keepdims=True)  # exp cannot overflow
        np.exp(wide, out=wide)
        wide /= wide.sum(axis=1, keepdims=True)
        return wide

    def most_probable(self, scores: FloatScores) -> npt.NDArray[np.intp]:
        """Return the index of the most probable class of each row.

        This is the first of the largest probabilities, mostly without computing them.
        """
        if self.n_outputs < self.n_classes:
            top = scores[:, 0]
            indices = (top > 0).astype(np.intp)
        else:
            indices = scores.argmax(axis=1)
            top = np.take_along_axis(scores, indices[:, None], axis=1)[:, 0]
        tied = np.flatnonzero(np.abs(top) < TIED_SCORES)
        if len(tied):
            indices[tied] = self.probabilities(scores[tied]).argmax(axis=1)
        return indices


def core_log_loss(n_classes: int) -> _core.Objective:
    """Return the objective of the core; a function of Python can be pickled."""
    return _core.log_loss(n_classes)


def targets_of(data: TrainingData) -> FloatArray:
    """Return targets as numbers, [row][target]; for a classifier, class indices."""
    if data.values is not None:
        return data.values
    assert data.labels is not None
    return data.labels[:, None].astype(np.float64)


class RegressionLoss(Loss, ABC):
    """Base class of custom losses, and of the built-in losses of regression.

    Attributes
    ----------
    n_offsets : int
        Number of columns of an offset.
    subtracts_offset : bool
        Whether an offset is subtracted from y, and added to the predictions. Otherwise
        it is part of the scores of the core.
    largest_offset : float
        Largest absolute value.
    """

    name: str
    n_outputs: int
    n_offsets: int
    subtracts_offset: bool
    largest_offset: float
    start: Scores

    @abstractmethod
    def _begin(
        self, y: FloatArray, weights: FloatArray | None, offset: FloatArray | None
    ) -> None:
        """Choose the units and the start scores from the training rows."""

    @abstractmethod
    def targets(self, y: FloatArray) -> npt.NDArray[np.float32]:
        """Return y in the units of the core."""

    def is_constant(self, data: TrainingData) -> bool:
        """Return True if all targets are equal, and no offset changes the scores."""
        if self.core_offset(data) is not None:
            return False
        assert data.values is not None
        # Rows of weight zero, such as held-out ones, have no influence.
        used = data.values if data.weights is None else data.values[data.weights > 0]
        return bool((used == used[0]).all())

    def core_values(self, data: TrainingData) -> RowValues:
        """Return the values of the rows for the core."""
        targets = self.targets(targets_of(data))
        return RowValues(None, targets, data.weights, self.core_offset(data))

    def core_offset(self, data: TrainingData) -> FloatArray | None:
        """Return the offset of the scores of the core."""
        return None if self.subtracts_offset else data.offset

    def begin(self, data: TrainingData, weights: FloatArray | None) -> Scores:
        """Choose the units from the training rows, and return the start scores."""
        y, offset = targets_of(data), self.core_offset(data)
        if weights is not None:
            used = weights > 0
            y, weights = y[used], weights[used]
            offset = None if offset is None else offset[used]
        self._begin(y, weights, offset)
        return self.start


class NumberLoss(RegressionLoss):
    """A built-in loss of regression.

    The core uses ``(y - centre) / unit``, with a power of two for each target. So its
    results do not depend on the scale of y, and a y far from 0 loses no digit. Scores
    begin at `start`, one for each output, in units of y.

    Parameters
    ----------
    name : str
    levels : ndarray or None
        Quantiles of "quantile", one per output.
    alpha : float
        Fraction of rows that are not outliers, for "huber"; power, for "tweedie".
    n_targets : int
    """

    centre: FloatArray
    unit: FloatArray
    start: npt.NDArray[np.float32]

    def __init__(
        self, name: str, levels: FloatArray | None, alpha: float, n_targets: int
    ) -> None:
        self.name = name
        self.levels = levels
        self.alpha = alpha
        self.n_outputs = n_targets if levels is None else len(levels)

    @property
    def has_log_link(self) -> bool:
        """True if scores are logarithms of predictions."""
        return self.name in LOG_LINK_LOSSES

    @property
    def subtracts_offset(self) -> bool:  # type: ignore[override]
        """True for the identity link."""
        return not self.has_log_link

    @property
    def largest_offset(self) -> float:  # type: ignore[override]
        """Trees hold differences in single precision."""
        return LARGEST_LOG_OFFSET if self.has_log_link else 1e30

    @property
    def n_offsets(self) -> int:  # type: ignore[override]
        """One per target: quantiles share that of their target."""
        return self.n_outputs if self.levels is None else 1

    def objective(
        self, sets: list[CodedRows]
    ) -> tuple[Callable[[], _core.Objective], list[CodedRows]]:
        """Return a factory of the objective of the core, and the rows for it."""
        return self.core, sets

    def core(self) -> _core.Objective:
        """Return the objective of the core."""
        if self.levels is not None:
            return _core.quantile_loss(self.levels.tolist())
        kind = getattr(_core.RegressionLoss, self.name)
        return _core.regression_loss(kind, self.n_outputs, self.alpha)

    def _begin(
        self, y: FloatArray, weights: FloatArray | None, offset: FloatArray | None
    ) -> None:
        """Choose centre, unit and start from y, of shape (n_samples, n_targets)."""
        if self.has_log_link:
            # A power of two divides y without a rounding error.
            unit = power_of_two(np.average(y, axis=0, weights=weights))
            mean = np.average(y / unit, axis=0, weights=weights)
            self.centre, self.unit = np.zeros(y.shape[1]), unit
            # The mean is 0 if all rows with y > 0 are held out or have weight zero.
            start = logarithms(np.maximum(mean, 1e-30))
            if offset is not None:
                start += self._shift(y / unit, weights, offset)
            self.start = start.astype(np.float32)
            return
        if self.name == "squared_error":
            centre = mean_of(y, weights)
        else:  # the median does not depend on outliers
            centre = weighted_quantile(y, weights, 0.5)
        unit = power_of_two(spread_of(y - centre, weights))
        start = np.zeros(self.n_outputs)
        if self.levels is not None:
            start = np.array(
                [weighted_quantile(y - centre, weights, q)[0] for q in self.levels]
            )
        self.centre, self.unit = centre, unit
        self.start = start.astype(np.float32)

    def _shift(
        self, y: FloatArray, weights: FloatArray | None, offset: FloatArray
    ) -> FloatArray:
        """Return the change of the start for which an offset has the smallest loss."""
        # Tweedie losses: with scores s + offset, the derivative by s is zero where
        # sum(y exp((1 - p) (s + offset))) = sum(exp((2 - p) (s + offset))).
        power = {"poisson": 1.0, "gamma": 2.0}.get(self.name, self.alpha)
        parts = (y * np.exp((1 - power) * offset), np.exp((2 - power) * offset), y)
        above, below, mean = (np.average(v, axis=0, weights=weights) for v in parts)
        least = np.finfo(np.float64).tiny
        return rounded(
            np.log(np.maximum(above, least) / below / np.maximum(mean, least))
        )

    def loss_unit(self) -> float:
        """Return the unit of the loss of the core: a mean over outputs, in units of y.

        With several targets, the loss stays in the units of each of them.
        """
        unit = float(self.unit[0]) if len(self.unit) == 1 else 1.0
        # Losses are homogeneous in y: of this degree.
        powers = {"squared_error": 2, "huber": 2, "gamma": 0, "tweedie": 2 - self.alpha}
        return float(unit ** powers.get(self.name, 1) / self.n_outputs)

    def targets(self, y: FloatArray) -> npt.NDArray[np.float32]:
        """Return y in the units of the core."""
        scaled = (y - self.centre) / self.unit
        return np.ascontiguousarray(scaled, dtype=np.float32)

    def original(self, targets: npt.NDArray[np.float32]) -> FloatArray:
        """Return y from the result of `targets`, to single precision."""
        return targets.astype(np.float64) * self.unit + self.centre

    def score_unit(self) -> FloatArray | None:
        # Scores with a log link are logarithms of ratios, which have no unit.
        if self.has_log_link:
            return None
        return np.broadcast_to(self.unit, self.n_outputs).astype(np.float64)

    def predictions(self, scores: FloatScores) -> FloatArray:
        """Return the predictions of scores, [row][output]."""
        wide = scores.astype(np.float64)
        if self.has_log_link:
            return np.exp(wide) * self.unit
        if self.levels is not None:
            # Each quantile is fitted separately, so they can cross. Sorting them never
            # increases the error (Chernozhukov et al. 2010).
            order = np.argsort(np.argsort(self.levels, kind="stable"), kind="stable")
            wide = np.sort(wide, axis=1)[:, order]
        return wide + self.centre

    def origin(self) -> FloatArray:
        """Return the origin of scores: of the prediction, or of its logarithm."""
        return np.log(self.unit) if self.has_log_link else self.centre

    def check_model(self, n_targets: int) -> None:
        """Check the loss of an untrusted model."""
        require(self.name in LOSSES, f"loss {self.name!r} is unknown")
        # The core uses levels, and alpha of "huber", as positions in sorted residuals.
        is_quantile = self.name == "quantile"
        require((self.levels is not None) == is_quantile, "levels do not fit the loss")
        if is_quantile:
            levels = check_vector("levels", self.levels, self.n_outputs)
            require((levels > 0) & (levels < 1), "levels are not between 0 and 1")
            require(n_targets == 1, "quantiles are of one target")
        else:
            require(self.n_outputs == n_targets, "targets and outputs differ")
        alpha: Any = self.alpha
        least = 1 if self.name == "tweedie" else 0
        require(
            isinstance(alpha, float) and least < alpha < least + 1,
            "alpha is out of range",
        )
        check_vector("centre", self.centre, n_targets)
        require(check_vector("unit", self.unit, n_targets) > 0, "unit is not above 0")

    def check(self, y: FloatArray) -> None:
        """Raise if the loss does not support the targets."""
        if self.name in ("poisson", "tweedie") and not (
            (y >= 0).all() and (y.sum(axis=0) > 0).all()
        ):
            raise ValueError(
                f"loss={self.name!r} requires y >= 0 with at least one positive value; "
                f"min(y) is {y.min()}."
            )
        if self.name == "gamma" and not (y > 0).all():
            raise ValueError(f"loss='gamma' requires y > 0; min(y) is {y.min()}.")


# Squares of gradients must not overflow single precision in the core.
MAX_GRADIENT = 1e18


class CustomLoss(RegressionLoss):
    """A custom loss.

    Parameters
    ----------
    given : object
        With ``gradients(y, raw, weight)``, ``start(y, weight)``, ``link(raw)`` and,
        for scores and early stopping by the loss, ``loss(y, raw, weight)``.
    n_outputs : int
    """

    centre: FloatArray
    start: npt.NDArray[np.float32]

    name = "loss"
    subtracts_offset = False
    largest_offset = MAX_GRADIENT

    def __init__(self, given: Any, n_outputs: int) -> None:
        self.given = given
        self.n_outputs = self.n_offsets = n_outputs

    def is_constant(self, data: TrainingData) -> bool:  # noqa: ARG002
        """Return False: a custom loss may need rounds for equal targets."""
        return False

    def _begin(
        self,
        y: FloatArray,
        weights: FloatArray | None,
        offset: FloatArray | None,  # noqa: ARG002 (the start is that of the custom loss)
    ) -> None:
        """Let scores begin at the start of the custom loss."""
        start = np.asarray(self.given.start(squeezed(y), weights), dtype=np.float64)
        centre = np.broadcast_to(start, self.n_outputs).astype(np.float64)
        if not np.isfinite(centre).all():
            raise ValueError(
                f"Custom loss: start() returned {centre}; expected finite values."
            )
        self.centre = centre
        self.start = np.zeros(self.n_outputs, dtype=np.float32)

    def targets(self, y: FloatArray) -> npt.NDArray[np.float32]:
        """Return y as two float32 parts, so that no digit is lost."""
        high = y.astype(np.float32)
        low = (y - high).astype(np.float32)
        return np.concatenate([high, low], axis=1)

    def original(self, targets: npt.NDArray[np.float32]) -> FloatArray:
        """Return y from the result of `targets`."""
        high, low = np.split(targets.astype(np.float64), 2, axis=1)
        return high + low

    def predictions(self, scores: FloatScores) -> FloatArray:
        """Return the predictions of scores, by the link of the custom loss."""
        raw = squeezed(scores.astype(np.float64) + self.centre)
        linked = np.asarray(self.given.link(raw), dtype=np.float64)
        if linked.size != scores.size:
            raise ValueError(
                f"Custom loss: link() returned shape {linked.shape} for {raw.shape}; "
                "both must be equal."
            )
        return linked.reshape(len(scores), self.n_outputs)

    def origin(self) -> FloatArray:
        """Return the origin of scores."""
        return self.centre

    def check_model(self, n_targets: int) -> None:
        """Check the loss of an untrusted model."""
        require(self.n_outputs == n_targets, "targets and outputs differ")
        check_vector("centre", self.centre, n_targets)

    def check(self, y: FloatArray) -> None:
        """Accept all targets: the custom loss checks them."""

    def objective(
        self, sets: list[CodedRows]
    ) -> tuple[Callable[[], _core.Objective], list[CodedRows]]:
        """Return a factory of the objective of the core, and the rows for it.

        The rows have no weights there, because custom gradients are weighted already.
        """
        known = [self._y_and_weights(rows) for rows in sets]
        measure: Callable[..., float] | None = getattr(self.given, "loss", None)
        rounds = itertools.count(1)  # for errors, which name the round

        def fill(
            part: int, scores: Any, gradients: Any, hessians: Any, norms: Any
        ) -> float:
            y, weights = known[part]
            raw = squeezed(scores[:, : self.n_outputs] + self.centre)
            if gradients is not None:
                g, h = self._gradients(
                    squeezed(y), raw, weights, len(scores), next(rounds)
                )
                gradients[:, : self.n_outputs] = g
                hessians[:, : self.n_outputs] = h
                # The core samples rows by this norm, as for built-in losses.
                longest = np.sqrt(np.square(g).sum(axis=1))
                norms[:, 0] = np.maximum(longest, np.abs(h).max(axis=1))
            if measure is None:
                return math.nan
            # The core divides by the number of rows.
            return float(measure(squeezed(y), raw, weights)) * len(y)

        make = functools.partial(_core.custom_loss, self.n_outputs, fill)
        return make, [rows.unweighted() for rows in sets]

    def _y_and_weights(self, rows: CodedRows) -> tuple[FloatArray, FloatArray | None]:
        assert rows.values.targets is not None
        y = self.original(rows.values.targets)
        weights = rows.core_weights()
        if weights is None:
            return y, None
        return y, weights.astype(np.float64) / rows.weight_unit

    def _gradients(
        self,
        y: FloatArray,
        raw: FloatArray,
        weights: FloatArray | None,
        n_rows: int,
        round_number: int,
    ) -> tuple[FloatArray, FloatArray]:
        found = []
        try:
            both = self.given.gradients(y, raw, weights)
        except (IndexError, ValueError) as error:  # such as arrays of other lengths
            error.add_note(
                f"gradients() got {n_rows} rows: held-out rows and rows of weight zero "
                "are left out. A custom loss that holds arrays of all rows needs "
                "early_stopping=False and positive weights."
            )
            raise
        for name, values in zip(("gradients", "hessians"), both, strict=True):
            array = np.asarray(values, dtype=np.float64)
            if array.size != n_rows * self.n_outputs:
                raise ValueError(
                    f"Custom loss: gradients() returned {name} of shape {array.shape}; "
                    f"expected {n_rows} rows and {self.n_outputs} outputs."
                )
            array = array.reshape(n_rows, self.n_outputs)
            fits = np.abs(array) <= MAX_GRADIENT  # False for NaN
            if not fits.all():
                row, output = np.argwhere(~fits)[0]
                raise ValueError(
                    f"Custom loss: gradients() returned {name} of {array[row, output]} "
                    f"for row {row} in round {round_number}. They must be finite and "
                    f"at most {MAX_GRADIENT:g}; scale the loss or the targets."
                )
            found.append(array)
        if (found[1] < 0).any():
            raise ValueError(
                "Custom loss: gradients() returned a negative second derivative "
                f"({found[1].min()}); return its expectation or an upper bound instead."
            )
        return found[0], found[1]


class CustomClassLoss(CustomLoss):
    """A custom loss of classification; its targets are the indices of the classes.

    Parameters
    ----------
    given : object
        As in `CustomLoss`; the link returns probabilities.
    n_classes : int
        Two classes have a single score, the margin of the second class.
    """

    def __init__(self, given: Any, n_classes: int) -> None:
        super().__init__(given, 1 if n_classes == 2 else n_classes)
        self.n_classes = n_classes

    def _begin(
        self, y: FloatArray, weights: FloatArray | None, offset: FloatArray | None
    ) -> None:
        super()._begin(y.astype(np.intp), weights, offset)

    def original(self, targets: npt.NDArray[np.float32]) -> npt.NDArray[Any]:
        """Return the class indices from the result of `targets`."""
        return super().original(targets).astype(np.intp)

    def decision(self, scores: FloatScores) -> FloatArray:
        """Return the scores in the shape of scikit-learn."""
        return squeezed(scores.astype(np.float64) + self.centre)

    def probabilities(self, scores: FloatScores) -> FloatArray:
        """Return the class probabilities of scores, by the link."""
        p = self.predictions(scores)
        return p if self.n_outputs > 1 else np.concatenate([1 - p, p], axis=1)

    def most_probable(self, scores: FloatScores) -> npt.NDArray[np.intp]:
        """Return the index of the most probable class of each row."""
        indices: npt.NDArray[np.intp] = self.probabilities(scores).argmax(axis=1)
        return indices


def squeezed(values: FloatArray) -> FloatArray:
    """Return a single column as a vector."""
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def mean_of(y: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Return the mean of each column, without loss of digits far from 0."""
    first = y[0]  # differences keep the digits of a y far from 0
    mean: FloatArray = first + np.average(y - first, axis=0, weights=weights)
    return mean


def spread_of(centered: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Return the root mean square of each column, without over- or underflow."""
    largest = np.abs(centered).max(axis=0)
    safe = np.where(largest > 0, largest, 1.0)
    squares = np.square(centered / safe)
    spread: FloatArray = safe * np.sqrt(np.average(squares, axis=0, weights=weights))
    return np.where(largest > 0, spread, 1.0)


def power_of_two(sizes: FloatArray) -> FloatArray:
    """Return the powers of two just above the sizes."""
    return np.ldexp(1.0, np.frexp(np.where(sizes > 0, sizes, 1.0))[1])


def weighted_quantile(
    y: FloatArray, weights: FloatArray | None, level: float
) -> FloatArray:
    """Return the smallest value of each column with the fraction `level` up to it."""
    # Stable, so that equal values with different weights keep their order.
    order = np.argsort(y, axis=0, kind="stable")
    given = np.ones(len(y)) if weights is None else weights
    found = np.empty(y.shape[1])
    for c in range(y.shape[1]):
        running = np.cumsum(given[order[:, c]])
        # Slack for rounding: exactly half of the weight must count as half.
        at = np.searchsorted(running, level * running[-1] * (1 - 1e-12), side="left")
        found[c] = y[order[min(at, len(y) - 1), c], c]
    return found

"""Losses of boosting outside the core: units, start scores, predictions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dics import _core
from dics._input.checks import FloatArray
from dics._model.checks import check_vector, require

if TYPE_CHECKING:
    from dics._boosting.rows import CodedRows


# Probability that a class without any weight begins with.
LEAST_PRIOR = 1e-9
# Scores in single precision that differ by less than 1e-15, which may give equal
# probabilities, are all smaller than this.
TIED_SCORES = 1e-7

Scores = npt.NDArray[np.float32]

# Losses whose scores are logarithms of what is predicted.
OF_LOGARITHMS = ("poisson", "gamma")
LOSSES = ("squared_error", "absolute_error", "huber", "quantile", *OF_LOGARITHMS)


def logarithms(values: FloatArray) -> FloatArray:
    """Return natural logarithms that are the same on every processor.

    NumPy's own are others where there is AVX-512, and the start of a model with them.
    """
    return np.array([math.log(value) for value in values])


class LogLoss:
    """Log-loss of classes: scores are logarithms of probabilities, up to a constant.

    Two classes have a single score, the margin of the second.

    Parameters
    ----------
    n_classes : int
    """

    @classmethod
    @functools.cache  # one row is predicted in 20 us
    def of(cls, n_classes: int) -> LogLoss:
        """Return the objective for so many classes."""
        return cls(n_classes)

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes
        self.core = _core.log_loss(n_classes)
        self.n_outputs: int = self.core.n_outputs

    def start(
        self, labels: npt.NDArray[np.uint32], weights: FloatArray | None
    ) -> Scores:
        """F_0: the logarithms of the class shares, or their margin for two classes."""
        shares = np.bincount(labels, weights, minlength=self.n_classes)
        logs = logarithms(np.maximum(shares / shares.sum(), LEAST_PRIOR))
        start = logs if self.n_outputs == self.n_classes else logs[1:] - logs[:1]
        return np.asarray(start, dtype=np.float32)

    def decision(self, scores: Scores) -> FloatArray:
        """Scores as scikit-learn gives them: a single one for each row is a vector."""
        wide: FloatArray = scores.astype(np.float64)
        return wide[:, 0] if self.n_outputs == 1 else wide

    def probabilities(self, scores: Scores) -> FloatArray:
        """Turn scores into class probabilities."""
        wide: FloatArray = scores.astype(np.float64)
        if self.n_outputs < self.n_classes:
            wide = np.column_stack([-wide[:, 0] / 2, wide[:, 0] / 2])
        wide -= wide.max(axis=1, keepdims=True)
        np.exp(wide, out=wide)
        wide /= wide.sum(axis=1, keepdims=True)
        return wide

    def most_probable(self, scores: Scores) -> npt.NDArray[np.intp]:
        """Return the number of the most probable class of each row.

        Always the first of the largest probabilities, but mostly without making them.
        """
        if self.n_outputs < self.n_classes:
            top = scores[:, 0]
            numbers = (top > 0).astype(np.intp)
        else:
            numbers = scores.argmax(axis=1)
            top = np.take_along_axis(scores, numbers[:, None], axis=1)[:, 0]
        tied = np.flatnonzero(np.abs(top) < TIED_SCORES)
        if len(tied):
            numbers[tied] = self.probabilities(scores[tied]).argmax(axis=1)
        return numbers


def core_log_loss(n_classes: int) -> _core.Objective:
    """Make the objective of the core; unlike that of the core, this can be pickled."""
    return _core.log_loss(n_classes)


class NumberLoss:
    """A loss of numbers that comes with the library.

    The core sees targets less `centre`, divided by `unit`, a power of two for each: any
    scale of y is the same to it, and no digit is lost of a y that is far from 0. Scores
    begin at `start`, one for each output, in units of y.

    Parameters
    ----------
    name : str
    levels : ndarray or None
        Of "quantile": the quantiles, an output each.
    alpha : float
        Of "huber": the share of rows that are no outliers.
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

    def core(self) -> _core.Objective:
        """Return the loss of the core."""
        if self.levels is not None:
            return _core.quantile_loss(self.levels.tolist())
        kind = getattr(_core.RegressionLoss, self.name)
        return _core.regression_loss(kind, self.n_outputs, self.alpha)

    def begin(self, y: FloatArray, weights: FloatArray | None) -> None:
        """Choose centre, unit and start from y, of shape (n_samples, n_targets)."""
        if self.name in OF_LOGARITHMS:
            unit = power_of_two(np.average(y, axis=0, weights=weights))
            mean = np.average(y / unit, axis=0, weights=weights)
            self.centre, self.unit = np.zeros(y.shape[1]), unit
            self.start = logarithms(np.maximum(mean, 1e-30)).astype(np.float32)
            return
        if self.name == "squared_error":
            centre = mean_of(y, weights)
        else:
            centre = weighted_quantile(y, weights, 0.5)
        unit = power_of_two(spread_of(y - centre, weights))
        start = np.zeros(self.n_outputs)
        if self.levels is not None:
            start = np.array(
                [weighted_quantile(y - centre, weights, q)[0] for q in self.levels]
            )
        self.centre, self.unit = centre, unit
        self.start = start.astype(np.float32)

    def loss_unit(self) -> float:
        """Return what a loss of the core is worth: a mean over outputs, in units of y.

        Of several targets it stays in the units of each of them.
        """
        unit = float(self.unit[0]) if len(self.unit) == 1 else 1.0
        power = {"squared_error": 2, "huber": 2, "gamma": 0}.get(self.name, 1)
        return unit**power / self.n_outputs

    def targets(self, y: FloatArray) -> npt.NDArray[np.float32]:
        """Return y as the core sees it."""
        scaled = (y - self.centre) / self.unit
        return np.ascontiguousarray(scaled, dtype=np.float32)

    def original(self, targets: npt.NDArray[np.float32]) -> FloatArray:
        """Return y of what `targets` made of it, to single precision."""
        return targets.astype(np.float64) * self.unit + self.centre

    def score_unit(self) -> FloatArray | None:
        """Return what scores of the core count in, for each output."""
        if self.name in OF_LOGARITHMS:
            return None
        return np.broadcast_to(self.unit, self.n_outputs).astype(np.float64)

    def predictions(self, scores: npt.NDArray[np.float32]) -> FloatArray:
        """Turn scores, [row][output], into predictions."""
        wide = scores.astype(np.float64)
        if self.name in OF_LOGARITHMS:
            return np.exp(wide) * self.unit
        if self.levels is not None:
            # Trees are fitted to each level by itself: what crosses is put in order
            # (Chernozhukov et al. 2010: never farther from the truth).
            order = np.argsort(np.argsort(self.levels, kind="stable"), kind="stable")
            wide = np.sort(wide, axis=1)[:, order]
        return wide + self.centre

    def offset(self) -> FloatArray:
        """Return what is added to scores: to the prediction, or to its logarithm."""
        return np.log(self.unit) if self.name in OF_LOGARITHMS else self.centre

    def check_model(self, n_targets: int) -> None:
        """Check the loss of an untrusted model."""
        require(self.name in LOSSES, f"loss {self.name!r} is unknown")
        if self.levels is not None:
            check_vector("levels", self.levels, self.n_outputs)
            require(n_targets == 1, "quantiles are of one target")
        else:
            require(self.n_outputs == n_targets, "targets and outputs differ")
        check_vector("centre", self.centre, n_targets)
        require(check_vector("unit", self.unit, n_targets) > 0, "unit is not above 0")

    def check(self, y: FloatArray) -> None:
        """Refuse targets that the loss has no use for."""
        if self.name == "poisson" and not (
            (y >= 0).all() and (y.sum(axis=0) > 0).all()
        ):
            raise ValueError(
                "loss='poisson' needs y of 0 or more, and not of zeros alone; the "
                f"smallest is {y.min()}."
            )
        if self.name == "gamma" and not (y > 0).all():
            raise ValueError(
                f"loss='gamma' needs y above 0; the smallest is {y.min()}."
            )


class CustomLoss:
    """A user's loss.

    Parameters
    ----------
    given : object
        With ``gradients(y, raw, weight)``, ``start(y, weight)``, ``link(raw)`` and,
        for scores and early stopping by the loss, ``loss(y, raw, weight)``.
    n_targets : int
    """

    centre: FloatArray
    start: npt.NDArray[np.float32]

    def __init__(self, given: Any, n_targets: int) -> None:
        self.given = given
        self.n_outputs = n_targets

    def begin(self, y: FloatArray, weights: FloatArray | None) -> None:
        """Let scores begin at what the loss says."""
        start = np.asarray(self.given.start(squeezed(y), weights), dtype=np.float64)
        centre = np.broadcast_to(start, self.n_outputs).astype(np.float64)
        if not np.isfinite(centre).all():
            raise ValueError(f"start of the loss gives {centre}; it must be finite.")
        self.centre = centre
        self.start = np.zeros(self.n_outputs, dtype=np.float32)

    def loss_unit(self) -> float:
        """Return one: the loss is the user's."""
        return 1.0

    def targets(self, y: FloatArray) -> npt.NDArray[np.float32]:
        """Return y in two parts, which the core carries along: no digit is lost."""
        high = y.astype(np.float32)
        low = (y - high).astype(np.float32)
        return np.concatenate([high, low], axis=1)

    def original(self, targets: npt.NDArray[np.float32]) -> FloatArray:
        """Return y of what `targets` made of it."""
        wide = targets.astype(np.float64)
        return wide[:, : self.n_outputs] + wide[:, self.n_outputs :]

    def score_unit(self) -> FloatArray | None:
        """Leave scores as they are."""
        return None

    def predictions(self, scores: npt.NDArray[np.float32]) -> FloatArray:
        """Turn scores into predictions by the user's link."""
        raw = squeezed(scores.astype(np.float64) + self.centre)
        linked = np.asarray(self.given.link(raw), dtype=np.float64)
        return linked.reshape(len(scores), self.n_outputs)

    def offset(self) -> FloatArray:
        """Return what is added to scores."""
        return self.centre

    def check_model(self, n_targets: int) -> None:
        """Check the loss of an untrusted model."""
        require(self.n_outputs == n_targets, "targets and outputs differ")
        check_vector("centre", self.centre, n_targets)

    def check(self, y: FloatArray) -> None:
        """Let the loss itself judge y."""

    def for_rows(self, parts: Sequence[CodedRows]) -> _core.Objective:
        """Return what the core calls in each round for the parts, training first."""
        known = [self._y_and_weights(rows) for rows in parts]

        def fill(
            part: int, scores: Any, gradients: Any, hessians: Any, norms: Any
        ) -> float:
            y, weights = known[part]
            raw = squeezed(scores[:, : self.n_outputs] + self.centre)
            if gradients is not None:
                g, h = self._gradients(squeezed(y), raw, weights, len(scores))
                gradients[:, : self.n_outputs] = g
                hessians[:, : self.n_outputs] = h
                longest = np.sqrt(np.square(g).sum(axis=1))
                norms[:, 0] = np.maximum(longest, np.abs(h).max(axis=1))
            # The core divides by the number of rows.
            return self._loss(squeezed(y), raw, weights) * len(y)

        return _core.custom_loss(self.n_outputs, fill)

    def _y_and_weights(self, rows: CodedRows) -> tuple[FloatArray, FloatArray | None]:
        assert rows.targets is not None
        y = self.original(rows.targets)
        weights = rows.core_weights()
        if weights is None:
            return y, None
        return y, weights.astype(np.float64) / rows.weight_unit

    def _gradients(
        self, y: FloatArray, raw: FloatArray, weights: FloatArray | None, n_rows: int
    ) -> tuple[FloatArray, FloatArray]:
        found = []
        both = self.given.gradients(y, raw, weights)
        for name, values in zip(("gradients", "hessians"), both, strict=True):
            array = np.asarray(values, dtype=np.float64)
            if array.size != n_rows * self.n_outputs:
                raise ValueError(
                    f"the loss gives {name} of shape {array.shape}; expected one for "
                    f"each of {n_rows} rows and {self.n_outputs} outputs."
                )
            if not np.isfinite(array).all():
                raise ValueError(f"the loss gives {name} that are not finite.")
            found.append(array.reshape(n_rows, self.n_outputs))
        if (found[1] < 0).any():
            raise ValueError(
                f"the loss gives a negative hessian, {found[1].min()}; use its mean or "
                "a bound of it."
            )
        return found[0], found[1]

    def _loss(
        self, y: FloatArray, raw: FloatArray, weights: FloatArray | None
    ) -> float:
        measure: Callable[..., float] | None = getattr(self.given, "loss", None)
        return float("nan") if measure is None else float(measure(y, raw, weights))


def squeezed(values: FloatArray) -> FloatArray:
    """Give a single column as a vector."""
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def mean_of(y: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Mean of each column, without loss where it is far from 0."""
    first = y[0]
    mean: FloatArray = first + np.average(y - first, axis=0, weights=weights)
    return mean


def spread_of(centred: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Root of the mean square of each column, and of tiny and huge numbers too."""
    largest = np.abs(centred).max(axis=0)
    safe = np.where(largest > 0, largest, 1.0)
    squares = np.square(centred / safe)
    spread: FloatArray = safe * np.sqrt(np.average(squares, axis=0, weights=weights))
    return np.where(largest > 0, spread, 1.0)


def power_of_two(sizes: FloatArray) -> FloatArray:
    """Powers of two just above numbers."""
    return np.ldexp(1.0, np.frexp(np.where(sizes > 0, sizes, 1.0))[1])


def weighted_quantile(
    y: FloatArray, weights: FloatArray | None, level: float
) -> FloatArray:
    """Return the smallest value of each column that has the share `level` up to it."""
    order = np.argsort(y, axis=0, kind="stable")
    given = np.ones(len(y)) if weights is None else weights
    found = np.empty(y.shape[1])
    for c in range(y.shape[1]):
        running = np.cumsum(given[order[:, c]])
        at = np.searchsorted(running, level * running[-1] * (1 - 1e-12), side="left")
        found[c] = y[order[min(at, len(y) - 1), c], c]
    return found

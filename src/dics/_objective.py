"""What boosting minimises, outside the core: the start and the predictions."""

from __future__ import annotations

import functools
import math

import numpy as np
import numpy.typing as npt

from dics import _core
from dics._validation import FloatArray

# Probability that a class without any weight begins with.
LEAST_PRIOR = 1e-9
# Scores in single precision that differ by less than 1e-15, which probabilities may not
# tell apart, are all smaller than this.
TIED_SCORES = 1e-7

Scores = npt.NDArray[np.float32]


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

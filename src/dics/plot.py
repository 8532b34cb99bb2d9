"""Pictures of fitted models: what features are worth, and how the loss went down.

Trees are drawn by `dics.export.plot_tree`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from dics._input.checks import FloatArray
from dics.export._tree_view import check_integer, read_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@contextmanager
def matplotlib_needed(by: str) -> Iterator[None]:
    """Import Matplotlib inside this; if it isn't there, say how to get it."""
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f'{by} needs Matplotlib; install it with: pip install "dics[plot]"'
        ) from error


__all__ = ["plot_importance", "plot_metric"]

# Okabe and Ito's colours, which colour-blind readers can tell apart.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
INK = "#404040"
WIDTH = 6.4  # inches
BAR_HEIGHT = 0.28  # inches
KINDS = {
    "gain": ("feature_importances_", "importance, as a share of the total", ".3f"),
    "split": ("split_counts_", "number of splits", ".0f"),
}


def plot_importance(
    model: Any,
    *,
    max_features: int | None = 20,
    kind: str = "gain",
    feature_names: npt.ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw what the features are worth to a model as bars, the best on top.

    Parameters
    ----------
    model : estimator
        Fitted: a tree, a forest or boosting.
    max_features : int or None, default=20
        Number of bars; None draws all features.
    kind : {"gain", "split"}, default="gain"
        `feature_importances_`, or the number of splits (`split_counts_` of boosting).
    feature_names : array-like of shape (n_features,), default=None
        Names of the features. If None, the names seen in `fit` if there were any,
        else "x[0]", "x[1]" and so on.
    ax : matplotlib Axes, default=None
        Where to draw. If None, a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dics import FastCGBMClassifier
    >>> from dics.plot import plot_importance
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = FastCGBMClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> ax = plot_importance(model, max_features=2)
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['petal width (cm)', 'petal length (cm)']
    """
    if max_features is not None:
        check_integer("max_features", max_features, 1)
    worth = _worth(model, kind)
    names = read_names(
        "feature_names",
        feature_names,
        len(worth),
        getattr(model, "feature_names_in_", None),
    ) or [f"x[{i}]" for i in range(len(worth))]
    best = np.argsort(-worth, kind="stable")[:max_features][::-1]
    ax = _axes(ax, "plot_importance", height=1.0 + BAR_HEIGHT * len(best))
    bars = ax.barh(np.arange(len(best)), worth[best], color=COLORS[0], height=0.7)
    labels = [format(value, KINDS[kind][2]) for value in worth[best]]
    ax.bar_label(bars, labels, padding=3, color=INK, fontsize="small")
    ax.set_yticks(np.arange(len(best)), [names[i] for i in best], parse_math=False)
    ax.set(xlabel=KINDS[kind][1], ylim=(-0.6, len(best) - 0.4))
    ax.set_xlim(0, max(float(worth.max()), 1e-9) * 1.12)  # room for the labels
    if len(best) < len(worth):
        ax.set_title(f"the best {len(best)} of {len(worth)} features", fontsize="small")
    _tidy(ax, grid="x")
    return ax


def plot_metric(
    model: Any, *, metric: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the losses of the rounds of boosting, and mark the best round.

    Parameters
    ----------
    model : FastCGBMClassifier or FastCGBMRegressor
        Fitted; what is drawn is its `evals_result_`.
    metric : str, default=None
        What to draw, such as "log_loss", or the `scoring` of early stopping. If None,
        the loss.
    ax : matplotlib Axes, default=None
        Where to draw. If None, a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dics import FastCGBMClassifier
    >>> from dics.plot import plot_metric
    >>> X, y = load_iris(return_X_y=True)
    >>> model = FastCGBMClassifier(early_stopping=True, random_state=0).fit(X, y)
    >>> ax = plot_metric(model)
    >>> ax.get_ylabel()
    'log_loss'
    >>> [line.get_label() for line in ax.get_lines()][:2]
    ['training', 'validation']
    """
    curves, metric = _curves(model, metric)
    ax = _axes(ax, "plot_metric", height=4.2)
    from matplotlib.ticker import MaxNLocator

    n_rounds = len(model.train_score_) - 1
    for i, (name, values) in enumerate(curves.items()):
        # Sets of a later fit have the last rounds alone.
        rounds = np.arange(n_rounds - len(values), n_rounds) + 1
        color = COLORS[i % len(COLORS)]
        mark = "o" if len(values) == 1 else ""
        ax.plot(rounds, values, color=color, label=name, linewidth=1.6, marker=mark)
    best = model.best_iteration_
    if best is not None:
        ax.axvline(best, color=INK, linewidth=1, linestyle="--", label=f"best: {best}")
    ax.set(xlabel="round", ylabel=metric)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    _tidy(ax, grid="y")
    ax.legend(frameon=False)
    return ax


def _worth(model: Any, kind: str) -> FloatArray:
    """Return the number that the bar of each feature shows."""
    if kind not in KINDS:
        raise ValueError(f"kind must be 'gain' or 'split', got {kind!r}")
    attribute = KINDS[kind][0]
    if not hasattr(type(model), attribute):
        raise TypeError(
            f"plot_importance needs {attribute}, which {type(model).__name__} has not"
        )
    check_is_fitted(model)
    return np.asarray(getattr(model, attribute), dtype=np.float64)


def _curves(model: Any, metric: str | None) -> tuple[dict[str, list[float]], str]:
    """Return the numbers to draw of each set, and what they are."""
    if hasattr(model, "fit"):
        check_is_fitted(model)
    history = getattr(model, "evals_result_", None)
    if history is None:
        raise TypeError(
            "model must be a fitted FastCGBMClassifier or FastCGBMRegressor, got "
            f"{type(model).__name__}"
        )
    if not history:
        raise ValueError("there is nothing to draw: y is constant, no round was done")
    known = list(dict.fromkeys(name for values in history.values() for name in values))
    metric = known[0] if metric is None else metric
    if metric not in known:
        raise ValueError(f"metric must be one of {known}, got {metric!r}")
    curves = {
        name: values[metric] for name, values in history.items() if metric in values
    }
    return curves, metric


def _axes(ax: Axes | None, by: str, height: float) -> Axes:
    """Return the axes to draw in; new ones make room for long labels."""
    if ax is not None:
        return ax
    with matplotlib_needed(by):
        import matplotlib.pyplot as plt
    return plt.subplots(figsize=(WIDTH, height), layout="constrained")[1]


def _tidy(ax: Axes, grid: Literal["x", "y"]) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis=grid, color="#dddddd", linewidth=0.8)
    ax.set_axisbelow(True)

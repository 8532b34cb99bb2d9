"""Plots of fitted models: trees, feature importances and learning curves."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from dics.export._drawing import draw_tree
from dics.export._plain_model import import_library
from dics.export._tree_view import (
    CUT,
    check_integer,
    count_levels,
    node_color,
    node_lines,
    read_names,
    read_style,
    read_tree,
    shown_nodes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation


__all__ = ["plot_importance", "plot_metric", "plot_tree"]

# Okabe and Ito's colors, which color-blind readers can distinguish.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
INK = "#404040"
WIDTH = 6.4  # inches
BAR_HEIGHT = 0.28  # inches
KINDS = {
    "gain": ("feature_importances_", "importance (fraction of the total)", ".3f"),
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
    """Draw the feature importances of a model as bars, the largest on top.

    Parameters
    ----------
    model : estimator
        Fitted tree, forest or boosting model.
    max_features : int or None, default=20
        Maximum number of bars; None draws all features.
    kind : {"gain", "split"}, default="gain"
        "gain" shows `feature_importances_`. "split" shows the number of splits
        (`split_counts_`), for boosting only.
    feature_names : array-like of shape (n_features,), default=None
        Names of the features. If None, the names from `fit` if there were any,
        else "x[0]", "x[1]" and so on.
    ax : matplotlib Axes, default=None
        Where to draw. If None, a new figure.

    Returns
    -------
    ax : matplotlib Axes
        Axes with the drawing.

    Raises
    ------
    ImportError
        If Matplotlib is not installed.
    TypeError
        If the model does not have this kind of importance.

    See Also
    --------
    plot_tree : Drawing of a tree.
    plot_metric : Loss after each round of boosting.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dics import CGBoostingClassifier
    >>> from dics.plot import plot_importance
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = CGBoostingClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> ax = plot_importance(model, max_features=2)
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['petal width (cm)', 'petal length (cm)']
    """
    if max_features is not None:
        check_integer("max_features", max_features, 1)
    if kind not in KINDS:
        raise ValueError(f"kind must be 'gain' or 'split', got {kind!r}.")
    attribute, label, number_format = KINDS[kind]
    if not hasattr(type(model), attribute):
        needed = "boosting models" if kind == "split" else "tree-based models of dics"
        raise TypeError(
            f"kind={kind!r} is available for {needed} only; got {type(model).__name__}."
        )
    check_is_fitted(model)
    worth = np.asarray(getattr(model, attribute), dtype=np.float64)
    names = read_names(
        "feature_names",
        feature_names,
        len(worth),
        getattr(model, "feature_names_in_", None),
    ) or [f"x[{i}]" for i in range(len(worth))]
    # Reversed, because Matplotlib draws the first bar at the bottom.
    best = np.argsort(-worth, kind="stable")[:max_features][::-1]
    ax = _axes(ax, "plot_importance", height=1.0 + BAR_HEIGHT * len(best), grid="x")
    bars = ax.barh(np.arange(len(best)), worth[best], color=COLORS[0], height=0.7)
    labels = [format(value, number_format) for value in worth[best]]
    ax.bar_label(bars, labels, padding=3, color=INK, fontsize="small")
    # Names are not formulas, even with dollar signs.
    ax.set_yticks(np.arange(len(best)), [names[i] for i in best], parse_math=False)
    ax.set(xlabel=label, ylim=(-0.6, len(best) - 0.4))
    ax.set_xlim(0, max(float(worth.max()), 1e-9) * 1.12)  # room for the labels
    if len(best) < len(worth):
        ax.set_title(
            f"the {len(best)} most important of {len(worth)} features", fontsize="small"
        )
    return ax


def plot_metric(
    model: Any, *, metric: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the loss after each round of boosting, and mark the best round.

    Parameters
    ----------
    model : CGBoostingClassifier or CGBoostingRegressor
        Fitted model; its `evals_result_` is drawn.
    metric : str, default=None
        Name of the metric, such as "log_loss", or the `scoring` of early stopping. If
        None, the loss.
    ax : matplotlib Axes, default=None
        Where to draw. If None, a new figure.

    Returns
    -------
    ax : matplotlib Axes
        Axes with the drawing.

    Raises
    ------
    ImportError
        If Matplotlib is not installed.
    TypeError
        If the model is not a fitted boosting model.
    ValueError
        If the model has no rounds, or no such metric.

    See Also
    --------
    plot_importance : Importances of the features.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dics import CGBoostingClassifier
    >>> from dics.plot import plot_metric
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CGBoostingClassifier(early_stopping=True, random_state=0).fit(X, y)
    >>> ax = plot_metric(model)
    >>> ax.get_ylabel()
    'log_loss'
    >>> [line.get_label() for line in ax.get_lines()][:2]
    ['training', 'validation']
    """
    curves, metric = _curves(model, metric)
    ax = _axes(ax, "plot_metric", height=4.2, grid="y")
    # Imported late: Matplotlib is optional.
    from matplotlib.ticker import MaxNLocator

    n_rounds = len(model.train_score_) - 1
    for i, (name, values) in enumerate(curves.items()):
        # Validation sets of a warm start have only the last rounds.
        rounds = np.arange(n_rounds - len(values), n_rounds) + 1
        color = COLORS[i % len(COLORS)]
        # A line through a single point would be invisible.
        mark = "o" if len(values) == 1 else ""
        ax.plot(rounds, values, color=color, label=name, linewidth=1.6, marker=mark)
    best = model.best_iteration_
    if best is not None:
        ax.axvline(best, color=INK, linewidth=1, linestyle="--", label=f"best: {best}")
    ax.set(xlabel="round", ylabel=metric)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend(frameon=False)
    return ax


def _curves(model: Any, metric: str | None) -> tuple[dict[str, list[float]], str]:
    """Return the values to draw for each set, and the name of the metric."""
    if hasattr(model, "fit"):
        check_is_fitted(model)
    history = getattr(model, "evals_result_", None)
    if history is None:
        raise TypeError(
            "model must be a fitted CGBoostingClassifier or CGBoostingRegressor, got "
            f"{type(model).__name__}."
        )
    if not history:
        raise ValueError("The model has no rounds to draw, because y is constant.")
    # A dict keeps the order, in which the loss is first.
    known = list(dict.fromkeys(name for values in history.values() for name in values))
    metric = known[0] if metric is None else metric
    if metric not in known:
        raise ValueError(f"metric must be one of {known}, got {metric!r}.")
    curves = {
        name: values[metric] for name, values in history.items() if metric in values
    }
    return curves, metric


def _axes(
    ax: Axes | None, purpose: str, height: float, grid: Literal["x", "y"]
) -> Axes:
    """Return the axes to draw in; new ones make room for long labels."""
    if ax is None:
        plt = import_library("matplotlib.pyplot", "plot", purpose)
        ax = plt.subplots(figsize=(WIDTH, height), layout="constrained")[1]
    axes: Any = ax
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis=grid, color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    return ax


def plot_tree(
    decision_tree: object,
    *,
    max_depth: int | None = 4,
    feature_names: ArrayLike | None = None,
    class_names: ArrayLike | bool | None = None,
    label: str = "all",
    filled: bool = True,
    impurity: bool = True,
    node_ids: bool = False,
    proportion: bool = False,
    rounded: bool = True,
    precision: int = 3,
    ax: Axes | None = None,
    fontsize: float | None = None,
) -> list[Annotation]:
    """Draw a tree with Matplotlib.

    With more than five classes, a node lists the fractions of its three largest
    classes instead of all counts.

    Parameters
    ----------
    decision_tree : CGTreeClassifier, CGTreeRegressor or RoundTree
        Fitted tree, or a tree of a forest or boosting model: ``forest[0]``,
        ``model[0]``. The leaves of a boosting round show the values that they add to
        the scores.
    max_depth : int or None, default=4
        Nodes below this depth are cut and marked "(...)", and a note has the number of
        levels that are not drawn. None draws all nodes; thousands take minutes.
    feature_names : array-like of shape (n_features,), default=None
        Names of the features. If None, the names from `fit` if there were any,
        else "x[0]", "x[1]" and so on.
    class_names : array-like of shape (n_classes,) or bool, default=None
        Names of the classes, in the order of `classes_`. None and True use
        `classes_`; False omits the line with the majority class.
    label : {"all", "root", "none"}, default="all"
        Nodes in which the values have names: all, the root only, or none.
    filled : bool, default=True
        Whether to color nodes by majority class, stronger for purer nodes. In a
        regression tree, larger predictions have a stronger color.
    impurity : bool, default=True
        Whether to write the impurity.
    node_ids : bool, default=False
        Whether to write the index of each node.
    proportion : bool, default=False
        Whether to write samples as percentages and classes as fractions.
    rounded : bool, default=True
        Whether to round the corners of the boxes.
    precision : int, default=3
        Maximum number of digits after the decimal point.
    ax : matplotlib Axes, default=None
        Where to draw; its content is cleared. If None, the current axes. If no figure
        is open, a new figure of the size that the tree needs.
    fontsize : float, default=None
        Size of the text in points. If None, the largest without overlaps.

    Returns
    -------
    list of matplotlib.text.Annotation
        One box per drawn node, the root first, row by row.

    Raises
    ------
    ImportError
        If Matplotlib is not installed.

    See Also
    --------
    plot_importance : Importances of the features.
    dics.export.export_text : Rules of a tree as text.

    Examples
    --------
    >>> from dics import CGTreeClassifier
    >>> from dics.plot import plot_tree
    >>> X, y = [[0.0], [1.0]] * 20, ["no", "yes"] * 20
    >>> tree = CGTreeClassifier(max_depth=1).fit(X, y)
    >>> boxes = plot_tree(tree)
    >>> [box.get_text().splitlines()[-1] for box in boxes[1:]]
    ['class = no', 'class = yes']
    """
    tree = read_tree(decision_tree, feature_names, class_names, "x[{}]")
    style = read_style(class_names, label, impurity, node_ids, proportion, precision)
    shown = shown_nodes(tree, max_depth)
    if fontsize is not None and not (isinstance(fontsize, Real) and fontsize > 0):
        raise ValueError(f"fontsize must be a number > 0 or None, got {fontsize!r}.")
    texts, colors = [], []
    for node, cut in zip(shown.node, shown.cut, strict=True):
        texts.append(CUT if cut else "\n".join(node_lines(tree, node, style)))
        colors.append(node_color(tree, node, cut) if filled else "white")
    note = ""
    if any(shown.cut):
        n_more = count_levels(tree.arrays, 0) - max(shown.depth)
        # Two short lines also fit below a tree of a few boxes.
        note = (
            f"{n_more} more level{'s' if n_more > 1 else ''}\n(max_depth={max_depth})"
        )
    return draw_tree(ax, shown, texts, colors, rounded, fontsize, note)

"""Plots of fitted models: trees, importances, learning curves, thresholds, regions."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from dics._input.sparse import SparseRows
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


__all__ = [
    "plot_boundaries",
    "plot_candidates",
    "plot_importance",
    "plot_metric",
    "plot_tree",
]

# Okabe and Ito's colors, which color-blind readers can distinguish.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
INK = "#404040"
GRAY = "#bbbbbb"
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


def plot_candidates(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    feature: int | str,
    bins: int = 40,
    ax: Axes | None = None,
) -> Axes:
    """Draw a histogram of a feature, its thresholds, and the gain of each.

    Short marks below the histogram are the candidate thresholds. A vertical line is a
    threshold that splits of the model use. Its height is the total gain of these
    splits, on the right axis. The heights sum to the importance of the feature, unless
    splits separate missing values from all others: these have no threshold.

    Parameters
    ----------
    model : estimator
        Fitted tree, forest or boosting model.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows of the histogram, such as the training rows. Models do not store them.
    y : array-like of shape (n_samples,), default=None
        Class labels; each class has a color. If None, and for regression, one color
        shows all rows. Classes after the first six share gray.
    feature : int or str
        Index of the feature, or its name if the model was fitted with names.
    bins : int, default=40
        Number of bars of the histogram.
    ax : matplotlib Axes, default=None
        Where to draw. If None, a new figure.

    Returns
    -------
    ax : matplotlib Axes
        Axes of the histogram. Those of the gains are the last of its figure.

    Raises
    ------
    ImportError
        If Matplotlib is not installed.
    TypeError
        If the model is not a tree-based model of dics.
    ValueError
        If the feature is unknown or categorical.

    See Also
    --------
    plot_boundaries : Predictions in the plane of two features.
    plot_importance : Importances of the features.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dics import CGTreeClassifier
    >>> from dics.plot import plot_candidates
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = CGTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> ax = plot_candidates(tree, X, y, feature="petal width (cm)")
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('petal width (cm)', 'rows')
    """
    if not hasattr(type(model), "feature_importances_"):
        raise TypeError(
            f"model must be a tree-based model of dics, got {type(model).__name__}."
        )
    check_is_fitted(model)
    check_integer("bins", bins, 1)
    f, name = _find_feature(model, feature)
    if model.is_categorical_ is not None and model.is_categorical_[f]:
        raise ValueError(f"Feature {name!r} is categorical; it has no thresholds.")
    rows = model._check_rows(X)
    rows = rows.to_scipy()[:, [f]].toarray() if isinstance(rows, SparseRows) else rows
    values = np.asarray(rows[:, f if rows.shape[1] > 1 else 0], dtype=np.float64)
    groups, labels = [values], ["rows"]
    if y is not None and len(getattr(model, "classes_", ())):
        groups, labels = _by_class(values, y, model.classes_)
    ax = _axes(ax, "plot_candidates", height=4.2, grid="y")
    finite = [group[np.isfinite(group)] for group in groups]
    colors = [*COLORS[: len(groups)]] if len(groups) < 7 else [*COLORS[:6], GRAY]
    ax.hist(finite, bins=bins, stacked=True, color=colors, label=labels, alpha=0.55)
    thresholds = model.candidates_.thresholds_[f]
    # In the coordinates of the axes, so that marks are below bars of any height.
    low = np.full(len(thresholds), -0.02)
    ax.plot(
        thresholds,
        low,
        "|",
        color=INK,
        markersize=6,
        transform=ax.get_xaxis_transform(),
        clip_on=False,
        label="candidate",
    )
    ax.plot([], [], "o-", color="#000000", markersize=3.5, label="gain of splits")
    used, gain = _threshold_gains(model, f)
    right: Any = ax.twinx()
    right.vlines(used, 0, gain, color="#000000", linewidth=1.4)
    right.plot(used, gain, "o", color="#000000", markersize=3.5)
    right.spines[["top", "left"]].set_visible(False)
    right.spines["right"].set_visible(True)
    right.grid(visible=False)
    right.set_ylim(0, 1.15 * max(gain.max(initial=0.0), 1e-9))
    right.set_ylabel("gain (fraction of the total)")
    ax.tick_params(axis="x", pad=9)  # below the marks
    ax.set_xlabel(name, parse_math=False)
    ax.set(ylabel="rows")
    ax.legend(frameon=False, fontsize="small")
    return ax


def _find_feature(model: Any, feature: int | str) -> tuple[int, str]:
    """Return the index and the name of a feature."""
    names = getattr(model, "feature_names_in_", None)
    n_features = model.n_features_in_
    if isinstance(feature, str):
        if names is None or feature not in names:
            raise ValueError(f"feature={feature!r} is not a feature of the model.")
        return int(np.flatnonzero(names == feature)[0]), feature
    if not isinstance(feature, Integral) or not 0 <= feature < n_features:
        raise ValueError(
            f"feature must be a name or an index below {n_features}, got {feature!r}."
        )
    return int(feature), f"x[{feature}]" if names is None else str(names[feature])


def _by_class(
    values: npt.NDArray[np.float64], y: Any, classes: npt.NDArray[Any]
) -> tuple[list[npt.NDArray[np.float64]], list[str]]:
    """Return the values of each class; those after the sixth together."""
    y = column_or_1d(y)
    check_consistent_length(values, y)
    groups = [values[y == label] for label in classes[:6]]
    labels = [str(label) for label in classes[:6]]
    if len(classes) > 6:
        groups.append(values[~np.isin(y, classes[:6])])
        labels.append("other classes")
    return groups, labels


def _threshold_gains(
    model: Any, f: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the thresholds of the splits by a feature, and the gain of each."""
    is_boosting, trees = hasattr(model, "evals_result_"), model.trees_
    used, gains, total = [np.empty(0)], [np.empty(0)], 0.0
    for t in range(len(trees)):
        tree = trees[t]
        gain = tree.split_gains()
        # As in `feature_importances_`: trees of a forest count equally.
        weight = 1.0 if is_boosting else 1.0 / (gain.sum() or 1.0)
        here = tree.feature[tree.inner] == f
        used.append(tree.threshold[tree.inner][here])
        gains.append(weight * gain[here])
        total += weight * gain.sum()
    threshold, gain = np.concatenate(used), np.concatenate(gains) / (total or 1.0)
    # A split of missing values from all others has the threshold -inf.
    finite = np.isfinite(threshold)
    unique, index = np.unique(threshold[finite], return_inverse=True)
    totals: npt.NDArray[np.float64] = np.zeros(len(unique))
    np.add.at(totals, index, gain[finite])
    return unique, totals


def plot_boundaries(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    features: tuple[int | str, int | str] = (0, 1),
    resolution: int = 200,
    ax: Axes | None = None,
) -> Axes:
    """Draw the predictions of a model in the plane of two features.

    For a classifier, each region has the color of its predicted class. For a regressor,
    lighter colors are larger predictions. Other features have their medians.

    Parameters
    ----------
    model : estimator
        Fitted classifier or regressor with one target, of any library with the
        interface of scikit-learn.
    X : array-like of shape (n_samples, n_features)
        Numeric rows, drawn as points. They set the range of the axes.
    y : array-like of shape (n_samples,), default=None
        Targets of the rows, which color the points. If None, no points are drawn.
    features : tuple of two int or str, default=(0, 1)
        Index of each feature, or its name if the model was fitted with names.
    resolution : int, default=200
        Number of predictions along each axis.
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
    ValueError
        If X is not numeric, or the model predicts several targets.

    See Also
    --------
    plot_candidates : Thresholds of a feature.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dics import CGTreeClassifier
    >>> from dics.plot import plot_boundaries
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> X = X[["petal length (cm)", "petal width (cm)"]]
    >>> tree = CGTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    >>> plot_boundaries(tree, X, y).get_xlabel()
    'petal length (cm)'
    """
    check_is_fitted(model)
    check_integer("resolution", resolution, 2)
    (a, a_name), (b, b_name) = (_find_feature(model, f) for f in features)
    rows = np.asarray(X, dtype=np.float64)
    targets = None if y is None else column_or_1d(y)
    check_consistent_length(rows, targets)
    lines = [_axis_values(rows[:, f], resolution) for f in (a, b)]
    grid = np.tile(np.nanmedian(rows, axis=0), (resolution**2, 1))
    grid[:, a], grid[:, b] = (plane.ravel() for plane in np.meshgrid(*lines))
    with warnings.catch_warnings():
        # The columns are those of X, also if the model was fitted with names.
        warnings.filterwarnings("ignore", ".*valid feature names")
        predicted = np.asarray(model.predict(grid))
    if predicted.ndim > 1:
        raise ValueError(f"model predicts {predicted.shape[1]} targets instead of one.")
    ax = _axes(ax, "plot_boundaries", height=4.8, grid="x")
    ax.grid(visible=False)
    regions = predicted.reshape(resolution, resolution)
    classes = getattr(model, "classes_", None)
    if classes is None:
        _draw_levels(ax, lines, regions, rows[:, [a, b]], targets)
    else:
        _draw_classes(ax, lines, regions, rows[:, [a, b]], targets, classes)
    ax.set_xlabel(a_name, parse_math=False)
    ax.set_ylabel(b_name, parse_math=False)
    ax.set(xlim=lines[0][[0, -1]], ylim=lines[1][[0, -1]])
    return ax


def _axis_values(
    values: npt.NDArray[np.float64], resolution: int
) -> npt.NDArray[np.float64]:
    """Return equally spaced values over the range of a feature, with margins."""
    low, high = np.nanmin(values), np.nanmax(values)
    margin = 0.05 * (high - low) or 0.5  # a constant feature has no range
    return np.linspace(low - margin, high + margin, resolution)


def _draw_levels(ax: Any, lines: Any, regions: Any, points: Any, y: Any) -> None:
    """Draw the predictions of a regressor, and its rows in the same colors."""
    known = regions if y is None else np.append(regions, y)
    colors = {"cmap": "cividis", "vmin": known.min(), "vmax": known.max()}
    mesh = ax.pcolormesh(*lines, regions, shading="nearest", rasterized=True, **colors)
    ax.figure.colorbar(mesh, ax=ax, label="prediction")
    if y is not None:
        ax.scatter(*points.T, c=y, s=18, edgecolors="white", linewidths=0.6, **colors)


def _draw_classes(
    ax: Any, lines: Any, regions: Any, points: Any, y: Any, classes: Any
) -> None:
    """Draw the regions of a classifier; colors repeat after seven classes."""
    from matplotlib.colors import to_rgb

    # Mixed with white, so that points of the same class are visible.
    colors = np.array([to_rgb(COLORS[i % len(COLORS)]) for i in range(len(classes))])
    pale = 1 - 0.3 * (1 - colors)
    ax.imshow(
        pale[np.searchsorted(classes, regions)],
        extent=[line[end] for line in lines for end in (0, -1)],
        origin="lower",
        aspect="auto",
        interpolation="nearest",
    )
    if y is None:
        return
    for label, color in zip(classes, colors, strict=True):
        here = points[y == label]
        ax.scatter(*here.T, s=16, color=color, lw=0.5, ec="white", label=str(label))
    ax.legend(frameon=True, framealpha=0.8, edgecolor="none", fontsize="small")


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

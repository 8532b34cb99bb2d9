"""Names, lines of text and colors of a tree for the exporters."""

from __future__ import annotations

import colorsys
import re
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from dics._boosting.fit import RoundTree
from dics._input.categories import Categories
from dics._model.trees import NodeSets

CUT = "(...)"
_CUT_COLOR = "#d9d9d9"
_MOST_LISTED_CLASSES = 5
_TOP_CLASSES = 3
_MOST_LISTED_CATEGORIES = 4
# Okabe and Ito's colors, which color-blind readers can distinguish.
_PALETTE = ("e69f00", "56b4e9", "009e73", "cc79a7", "0072b2", "d55e00", "f0e442")
_STRONGEST = 0.75  # black text has to stay readable on the purest nodes


@dataclass(frozen=True)
class Tree:
    """Arrays and names of a fitted tree, one row per node."""

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    missing_left: NDArray[np.bool_]
    n_samples: NDArray[np.int32]
    weight: NDArray[np.float64]
    values: NDArray[np.float64]
    impurities: NDArray[np.float64]
    criterion: str
    feature_names: list[str]
    class_names: list[str]  # none if numbers are predicted
    is_named: bool
    adds: bool = False  # a round of boosting: values are added to scores
    is_drawn: bool = False  # rows were drawn, some of them several times
    categories: Categories | None = None
    sets: NodeSets | None = None

    @property
    def is_regression(self) -> bool:
        """Whether nodes predict numbers."""
        return self.adds or not self.class_names


@dataclass(frozen=True)
class Style:
    """What a box tells about its node."""

    label: str
    impurity: bool
    node_ids: bool
    proportion: bool
    precision: int
    show_majority: bool


@dataclass(frozen=True)
class Shown:
    """Nodes to draw, row by row; `left` counts within these lists, -1 if none."""

    node: list[int]
    depth: list[int]
    left: list[int]
    cut: list[bool]


def read_tree(
    estimator: Any,
    feature_names: ArrayLike | None,
    class_names: ArrayLike | bool | None,
    generic_name: str,
) -> Tree:
    if hasattr(estimator, "fit") and not isinstance(estimator, type):
        check_is_fitted(estimator)
        estimator = _only_tree(estimator)
    adds = isinstance(estimator, RoundTree)
    is_tree = hasattr(estimator, "trees_") and hasattr(estimator, "criterion")
    if not (adds or is_tree) or isinstance(estimator, type):
        raise TypeError(
            "decision_tree must be a fitted CGTreeClassifier or CGTreeRegressor, or a "
            "tree of a forest or of boosting (model[0]), got "
            f"{reprlib.repr(estimator)} of type {type(estimator).__name__}"
        )
    n_features = int(estimator.n_features_in_)
    seen = getattr(estimator, "feature_names_in_", None)
    features = read_names("feature_names", feature_names, n_features, seen)
    labels = None if isinstance(class_names, bool) else class_names
    classes = getattr(estimator, "classes_", None)
    if classes is None or not len(classes):
        labels, classes = None, ()  # numbers have no names
    names = features or [generic_name.format(i) for i in range(n_features)]
    categories = getattr(estimator, "_categories", None)
    for pair in [] if categories is None else categories.pairs:
        names = [*names, f"mean of {names[pair.first]} & {names[pair.second]}"]
    trees = estimator.trees_
    return Tree(
        feature=trees.feature,
        threshold=trees.threshold,
        left=trees.left,
        missing_left=np.asarray(trees.missing_left, dtype=bool),
        n_samples=trees.n_samples,
        weight=np.asarray(trees.weight, dtype=np.float64),
        values=np.nan_to_num(trees.node_values()),
        impurities=np.asarray(trees.gain if adds else trees.impurity, dtype=np.float64),
        criterion="gain" if adds else trees.criterion,
        feature_names=names,
        class_names=read_names("class_names", labels, len(classes), classes),
        is_named=bool(features),
        adds=adds,
        is_drawn=bool(getattr(estimator, "_is_drawn", False)),
        categories=categories,
        sets=trees.sets,
    )


def _only_tree(model: Any) -> Any:
    """Return the tree of a forest, or of boosting, that has one alone."""
    if not hasattr(model, "__getitem__"):
        return model
    if len(model) == 1:
        return model[0]
    name = type(model).__name__
    if len(model) == 0:
        raise ValueError(f"this {name} has no trees: it predicts a constant.")
    raise ValueError(
        f"this {name} has {len(model)} trees; choose one of them by its number, such "
        f"as {'forest' if 'Forest' in name else 'model'}[0]."
    )


def read_names(
    parameter: str, names: Any, expected: int, default: Sequence[Any] | None
) -> list[str]:
    if names is None:
        names = () if default is None else default
    elif isinstance(names, str) or not hasattr(names, "__len__"):
        raise ValueError(f"{parameter} must be a list of names, got {names!r}")
    elif len(names) != expected:
        raise ValueError(
            f"{parameter} has {len(names)} names, but the tree has {expected} "
            f"{'features' if parameter == 'feature_names' else 'classes'}"
        )
    # Control characters would break lines of text and HTML-like labels.
    return [re.sub(r"[\x00-\x1f\x7f]", " ", str(name)) for name in names]


def read_style(
    class_names: ArrayLike | bool | None,
    label: str,
    impurity: bool,
    node_ids: bool,
    proportion: bool,
    precision: int,
) -> Style:
    if label not in ("all", "root", "none"):
        raise ValueError(f"label must be 'all', 'root' or 'none', got {label!r}")
    check_integer("precision", precision, 0)
    show_majority = class_names is not False
    return Style(label, impurity, node_ids, proportion, precision, show_majority)


def check_integer(parameter: str, value: Any, least: int) -> None:
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or value < least:
        raise ValueError(f"{parameter} must be an integer >= {least}, got {value!r}")


def shown_nodes(tree: Tree, max_depth: int | None) -> Shown:
    if max_depth is not None:
        check_integer("max_depth", max_depth, 0)
    shown = Shown([0], [0], [], [])
    # Both lists grow while they are read: breadth first, without recursion.
    for node, depth in zip(shown.node, shown.depth, strict=True):
        cut = max_depth is not None and depth > max_depth
        is_end = cut or tree.feature[node] < 0
        shown.cut.append(cut)
        shown.left.append(-1 if is_end else len(shown.node))
        if not is_end:
            left = int(tree.left[node])
            shown.node.extend((left, left + 1))
            shown.depth.extend((depth + 1, depth + 1))
    return shown


def fixed(value: float, decimals: int) -> str:
    """Decimal notation unless the value is too small or too large for it."""
    text = f"{value + 0.0:.{decimals}f}"
    if (value != 0 and float(text) == 0) or 1e12 <= abs(value) < np.inf:
        return f"{value:.{max(decimals, 1)}g}"
    return text


def _short(value: float, decimals: int) -> str:
    text = fixed(value, decimals)
    if "." not in text or "e" in text:
        return text
    return text.rstrip("0").rstrip(".")


def class_weights(tree: Tree, node: int) -> list[float]:
    """Weighted class counts, whole where only 32-bit rounding made them broken."""
    weights = tree.values[node] * tree.weight[node]
    whole = np.round(weights)
    is_whole = np.abs(weights - whole) <= 1e-6 * tree.weight[node]
    return [float(w) for w in np.where(is_whole, whole, weights)]


def prediction(tree: Tree, node: int, decimals: int) -> str:
    """Numbers that a node of a regression tree predicts."""
    numbers = [fixed(float(value), decimals) for value in tree.values[node]]
    return numbers[0] if len(numbers) == 1 else f"[{', '.join(numbers)}]"


def spread(tree: Tree, node: int) -> float | None:
    """Find the standard deviation of the targets in a node, if its impurity tells."""
    if tree.criterion not in ("squared_error", "friedman_mse"):
        return None
    return float(np.sqrt(tree.impurities[node])) if tree.values.shape[1] == 1 else None


def majority(tree: Tree, node: int) -> str:
    return tree.class_names[int(tree.values[node].argmax())]


def node_lines(tree: Tree, node: int, style: Style) -> list[str]:
    named = style.label == "all" or (style.label == "root" and node == 0)
    rows: list[tuple[str, str]] = []
    is_leaf = bool(tree.feature[node] < 0)
    if style.impurity and not (tree.adds and is_leaf):
        number = _short(float(tree.impurities[node]), style.precision)
        rows.append((tree.criterion, number))
    samples = str(tree.n_samples[node])
    if style.proportion:
        samples = f"{100 * tree.n_samples[node] / tree.n_samples[0]:.1f}%"
    rows.append(("distinct rows" if tree.is_drawn else "samples", samples))
    many = len(tree.class_names) > _MOST_LISTED_CLASSES
    if tree.adds and not is_leaf:
        many = False  # only leaves add anything
    elif tree.is_regression and not many:
        rows.append(("adds" if tree.adds else "value", _number_text(tree, node, style)))
    elif not many:
        counts_draws = tree.is_drawn and not style.proportion
        name = "rows drawn" if counts_draws else "value"
        rows.append((name, _value_text(tree, node, style)))
    if not many and style.show_majority and not tree.is_regression:
        rows.append(("class", majority(tree, node)))
    lines = [f"{name} = {text}" if named else text for name, text in rows]
    if many:
        top = _top_added(tree, node, style) if tree.adds else _top(tree, node)
        lines += [f"class {line}" if named else line for line in top]
    if tree.feature[node] >= 0:
        number = _short(float(tree.threshold[node]), style.precision)
        lines.insert(0, test_texts(tree, node, number)[0])
    if style.node_ids:
        lines.insert(0, f"node #{node}" if named else f"#{node}")
    return lines


def asks_for_missing(tree: Tree, node: int) -> bool:
    """Tell whether nothing but what is missing goes left."""
    return bool(tree.threshold[node] == -np.inf and tree.missing_left[node])


def test_texts(tree: Tree, node: int, number: str) -> tuple[str, str]:
    """Say what goes left and what goes right; `number` is the threshold as text."""
    feature = int(tree.feature[node])
    name = tree.feature_names[feature]
    known = None if tree.categories is None else tree.categories.find(feature)
    if asks_for_missing(tree, node):
        return f"{name} is missing", f"{name} is not missing"
    if known is None:
        return f"{name} < {number}", f"{name} >= {number}"
    members = None if tree.sets is None else tree.sets.members(node)
    if members is None:
        left = known.categories_below(float(tree.threshold[node]))
    else:
        left = members[known.values.astype(np.intp)]
    return (
        f"{name} in {_set_text(known.categories[left])}",
        f"{name} in {_set_text(known.categories[~left])}",
    )


def _category_text(category: str | bool) -> str:
    """Return a category as text; in quotes if it is blank or not printable."""
    text = str(category)
    return text if text.strip() and text.isprintable() else repr(text)


def _set_text(categories: NDArray[Any]) -> str:
    shown = [
        _short(category, 3) if isinstance(category, float) else _category_text(category)
        for category in categories.tolist()
    ]
    if len(shown) > _MOST_LISTED_CATEGORIES:
        n_more = len(shown) - _MOST_LISTED_CATEGORIES + 1
        shown = [*shown[: _MOST_LISTED_CATEGORIES - 1], f"{n_more} more"]
    return f"{{{', '.join(shown)}}}"


def _number_text(tree: Tree, node: int, style: Style) -> str:
    numbers = [_short(float(value), style.precision) for value in tree.values[node]]
    text = numbers[0] if len(numbers) == 1 else f"[{', '.join(numbers)}]"
    deviation = spread(tree, node)
    if deviation is None:
        return text
    return f"{text} \N{PLUS-MINUS SIGN} {_short(deviation, style.precision)}"


def _value_text(tree: Tree, node: int, style: Style) -> str:
    weights = class_weights(tree, node)
    values = tree.values[node].tolist() if style.proportion else weights
    return f"[{', '.join(_short(value, style.precision) for value in values)}]"


def _top(tree: Tree, node: int) -> list[str]:
    """Largest classes, one per line: wide boxes would make the tree too wide."""
    shares = tree.values[node]
    best = np.argsort(-shares, kind="stable")[:_TOP_CLASSES]
    return [f"{tree.class_names[k]}: {_percent(shares[k])}" for k in best if shares[k]]


def _top_added(tree: Tree, node: int, style: Style) -> list[str]:
    """Classes whose scores change most."""
    added = tree.values[node]
    best = np.argsort(-np.abs(added), kind="stable")[:_TOP_CLASSES]
    return [
        f"{tree.class_names[k]}: {_short(float(added[k]), style.precision)}"
        for k in best
        if added[k]
    ]


def _percent(share: float) -> str:
    return "<1%" if share < 0.005 else f"{100 * share:.0f}%"


def node_color(tree: Tree, node: int, cut: bool) -> str:
    if cut:
        return _CUT_COLOR
    if tree.adds and tree.class_names:
        return _added_color(tree, node)
    if tree.is_regression:
        return _number_color(tree, node)
    shares = tree.values[node]
    n_classes, best = len(shares), int(shares.argmax())
    even = 1 / n_classes
    purity = 1.0 if n_classes == 1 else (shares[best] - even) / (1 - even)
    # The power keeps classes distinct in nodes that hold many of them.
    strength = min(max(float(purity), 0.0), 1.0) ** 0.7
    return _mixed(_hue(best, n_classes), strength)


def _added_color(tree: Tree, node: int) -> str:
    """Colour of the class that gains most, stronger the more it gains."""
    added, most = tree.values[node], float(tree.values.max())
    best = int(added.argmax())
    strength = max(float(added[best]), 0.0) / most if most > 0 else 0.0
    return _mixed(_hue(best, len(added)), strength)


def _number_color(tree: Tree, node: int) -> str:
    """Stronger for larger numbers, between the smallest and the largest of a leaf."""
    values = tree.values[:, 0]
    width = float(np.ptp(values))
    share = float(values[node] - values.min()) / width if width > 0 else 0.0
    return _mixed(_hue(0, 1), share)


def _mixed(hue: tuple[float, ...], strength: float) -> str:
    """Mix a colour with white."""
    mixed = [round(255 * (1 - _STRONGEST * strength * (1 - c))) for c in hue]
    return "#" + "".join(f"{c:02x}" for c in mixed)


def _hue(k: int, n_classes: int) -> tuple[float, ...]:
    if n_classes <= len(_PALETTE):
        return tuple(c / 255 for c in bytes.fromhex(_PALETTE[k]))
    return colorsys.hls_to_rgb(k / n_classes, (0.42, 0.62)[k % 2], 0.8)

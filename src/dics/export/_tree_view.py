"""A tree with names: the text lines and colors of its nodes, for the exporters."""

from __future__ import annotations

import colorsys
import re
import reprlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from dics._boosting.model import RoundTree
from dics._input.categories import CategoricalFeature, Categories
from dics._model.trees import Trees

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
    """A fitted tree, with the names of its features and classes."""

    arrays: Trees  # a single tree
    values: NDArray[np.float64]  # of all nodes, inner nodes included
    impurities: NDArray[np.float64]  # for boosting, the gains
    criterion: str
    feature_names: list[str]
    class_names: list[str]  # empty for regression
    is_named: bool  # False if the names of features are generic
    adds: bool  # a round of boosting: values are added to scores
    is_sampled: bool  # some rows may have been sampled several times
    categories: Categories | None

    @property
    def is_regression(self) -> bool:
        """Return True if the values of nodes are not class fractions."""
        return self.adds or not self.class_names


@dataclass(frozen=True)
class Style:
    """Options for the content of a box."""

    label: str
    impurity: bool
    node_ids: bool
    proportion: bool
    precision: int
    show_majority: bool


@dataclass(frozen=True)
class Shown:
    """Nodes to draw, row by row; `left` is an index into these lists, -1 for none."""

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
    """Check the arguments of an exporter, and return the tree with its names."""
    # Rounds of boosting have no `fit`, and classes are rejected below.
    if hasattr(estimator, "fit") and not isinstance(estimator, type):
        check_is_fitted(estimator)
        estimator = _only_tree(estimator)
    adds = isinstance(estimator, RoundTree)
    is_tree = hasattr(estimator, "trees_") and hasattr(estimator, "criterion")
    if not (adds or is_tree) or isinstance(estimator, type):
        raise TypeError(
            "decision_tree must be a fitted CGTreeClassifier or CGTreeRegressor, or a "
            "tree of a forest or boosting model (model[0]), got "
            f"{reprlib.repr(estimator)} of type {type(estimator).__name__}."
        )
    n_features = int(estimator.n_features_in_)
    seen = getattr(estimator, "feature_names_in_", None)
    features = read_names("feature_names", feature_names, n_features, seen)
    labels = None if isinstance(class_names, bool) else class_names
    classes = getattr(estimator, "classes_", None)
    if classes is None or not len(classes):
        labels, classes = None, ()  # regression targets have no names
    names = features or [generic_name.format(i) for i in range(n_features)]
    categories = getattr(estimator, "_categories", None)
    # Columns of pairs follow those of the features.
    for pair in [] if categories is None else categories.pairs:
        names = [*names, f"mean of {names[pair.first]} & {names[pair.second]}"]
    trees = estimator.trees_
    return Tree(
        arrays=trees,
        values=np.nan_to_num(trees.node_values()),
        impurities=np.asarray(trees.gain if adds else trees.impurity, dtype=np.float64),
        criterion="gain" if adds else trees.criterion,
        feature_names=names,
        class_names=read_names("class_names", labels, len(classes), classes),
        is_named=bool(features),
        adds=adds,
        is_sampled=bool(getattr(estimator, "_samples_rows", False)),
        categories=categories,
    )


def _only_tree(model: Any) -> Any:
    """Return the tree of a forest or boosting model that has a single tree."""
    if not hasattr(model, "__getitem__"):
        return model
    if len(model) == 1:
        return model[0]
    name = type(model).__name__
    if len(model) == 0:
        raise ValueError(f"This {name} has no trees: it predicts a constant.")
    raise ValueError(
        f"This {name} has {len(model)} trees; choose one of them by its index, such "
        f"as {'forest' if 'Forest' in name else 'model'}[0]."
    )


def read_names(
    parameter: str, names: Any, expected: int, default: Sequence[Any] | None
) -> list[str]:
    """Check the names that a user gives, and return them or the default as text."""
    if names is None:
        names = () if default is None else default
    elif isinstance(names, str) or not hasattr(names, "__len__"):
        raise ValueError(f"{parameter} must be a list of names, got {names!r}.")
    elif len(names) != expected:
        raise ValueError(
            f"{parameter} has {len(names)} names, but the tree has {expected} "
            f"{'features' if parameter == 'feature_names' else 'classes'}."
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
    """Check the options for the content of boxes, and return them."""
    if label not in ("all", "root", "none"):
        raise ValueError(f"label must be 'all', 'root' or 'none', got {label!r}.")
    check_integer("precision", precision, 0)
    return Style(
        label, impurity, node_ids, proportion, precision, class_names is not False
    )


def check_integer(parameter: str, value: Any, least: int) -> None:
    """Raise an error unless a parameter is an integer that is large enough."""
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_integer or value < least:
        raise ValueError(f"{parameter} must be an integer >= {least}, got {value!r}.")


def shown_nodes(tree: Tree, max_depth: int | None) -> Shown:
    """Return the nodes down to a depth; the nodes below it are marked as cut."""
    if max_depth is not None:
        check_integer("max_depth", max_depth, 0)
    shown = Shown([0], [0], [], [])
    # Both lists grow while they are read: breadth first, without recursion.
    for node, depth in zip(shown.node, shown.depth, strict=True):
        cut = max_depth is not None and depth > max_depth
        is_end = cut or tree.arrays.feature[node] < 0
        shown.cut.append(cut)
        shown.left.append(-1 if is_end else len(shown.node))
        if not is_end:
            left = int(tree.arrays.left[node])
            shown.node.extend((left, left + 1))
            shown.depth.extend((depth + 1, depth + 1))
    return shown


def count_levels(trees: Trees, node: int) -> int:
    """Return the number of levels of a subtree."""
    nodes, levels = np.array([node]), 0
    while nodes.size:
        levels += 1
        left = trees.left[nodes[trees.feature[nodes] >= 0]]
        nodes = np.concatenate([left, left + 1])
    return levels


def fixed(value: float, decimals: int) -> str:
    """Return decimal notation unless the value is too small or too large for it."""
    text = f"{value + 0.0:.{decimals}f}"  # adding 0.0 turns -0.0 into 0.0
    if (value != 0 and float(text) == 0) or 1e12 <= abs(value) < np.inf:
        return f"{value:.{max(decimals, 1)}g}"
    return text


def _short(value: float, decimals: int) -> str:
    """Return the same without zeros at the end."""
    text = fixed(value, decimals)
    if "." not in text or "e" in text:
        return text
    return text.rstrip("0").rstrip(".")


def class_weights(tree: Tree, node: int) -> list[float]:
    """Return weighted class counts; integers if only float32 rounding differs."""
    total = float(tree.arrays.weight[node])
    weights = tree.values[node] * total
    integers = np.round(weights)
    is_integer = np.abs(weights - integers) <= 1e-6 * total
    return [float(w) for w in np.where(is_integer, integers, weights)]


def number_text(
    tree: Tree, node: int, write: Callable[[float], str], *, deviation: bool
) -> str:
    """Return the values of a node of a regression tree.

    With `deviation`, the standard deviation of its targets follows, if the impurity
    is their variance.
    """
    numbers = [write(float(value)) for value in tree.values[node]]
    if len(numbers) > 1:
        return f"[{', '.join(numbers)}]"
    if not deviation or tree.criterion not in ("squared_error", "friedman_mse"):
        return numbers[0]
    spread = write(float(np.sqrt(tree.impurities[node])))
    return f"{numbers[0]} \N{PLUS-MINUS SIGN} {spread}"


def majority(tree: Tree, node: int) -> str:
    """Return the name of the most frequent class in a node."""
    return tree.class_names[int(tree.values[node].argmax())]


def node_lines(tree: Tree, node: int, style: Style) -> list[str]:
    """Return the lines of the box of a node."""
    named = style.label == "all" or (style.label == "root" and node == 0)
    write = partial(_short, decimals=style.precision)
    rows: list[tuple[str, str]] = []
    n_samples = tree.arrays.n_samples
    is_leaf = bool(tree.arrays.feature[node] < 0)
    if style.impurity and not (tree.adds and is_leaf):  # only splits have a gain
        rows.append((tree.criterion, write(float(tree.impurities[node]))))
    samples = str(n_samples[node])
    if style.proportion:
        samples = f"{100 * n_samples[node] / n_samples[0]:.1f}%"
    rows.append(("distinct rows" if tree.is_sampled else "samples", samples))
    # Many classes are listed one per line: a wide box would make the tree too wide.
    has_values = is_leaf or not tree.adds  # only leaves add to scores
    many = has_values and len(tree.class_names) > _MOST_LISTED_CLASSES
    if has_values and not many and tree.is_regression:
        text = number_text(tree, node, write, deviation=True)
        rows.append(("adds" if tree.adds else "value", text))
    elif has_values and not many:
        counts_samples = tree.is_sampled and not style.proportion
        values = tree.values[node] if style.proportion else class_weights(tree, node)
        text = ", ".join(write(value) for value in values)
        rows.append(("sampled rows" if counts_samples else "value", f"[{text}]"))
        if style.show_majority:
            rows.append(("class", majority(tree, node)))
    lines = [f"{name} = {text}" if named else text for name, text in rows]
    if many:
        values = tree.values[node]
        size = np.abs(values) if tree.adds else values
        for k in np.argsort(-size, kind="stable")[:_TOP_CLASSES]:
            if values[k]:
                text = f"{100 * values[k]:.0f}%" if values[k] >= 0.005 else "<1%"
                text = write(float(values[k])) if tree.adds else text
                start = "class " if named else ""
                lines.append(f"{start}{tree.class_names[k]}: {text}")
    if not is_leaf:
        number = write(float(tree.arrays.threshold[node]))
        lines.insert(0, test_texts(tree, node, number)[0])
    if style.node_ids:
        lines.insert(0, f"node #{node}" if named else f"#{node}")
    return lines


def asks_for_missing(tree: Tree, node: int) -> bool:
    """Return True if only missing values go left."""
    arrays = tree.arrays
    return bool(arrays.threshold[node] == -np.inf and arrays.missing_left[node])


def test_texts(tree: Tree, node: int, number: str) -> tuple[str, str]:
    """Return the conditions to go left and right; `number` is the threshold as text."""
    feature = int(tree.arrays.feature[node])
    name = tree.feature_names[feature]
    known = None if tree.categories is None else tree.categories.find(feature)
    if asks_for_missing(tree, node):
        return f"{name} is missing", f"{name} is not missing"
    if known is None:
        return f"{name} < {number}", f"{name} >= {number}"
    left = left_categories(tree, node, known)
    return (
        f"{name} in {_set_text(known.categories[left])}",
        f"{name} in {_set_text(known.categories[~left])}",
    )


def left_categories(
    tree: Tree, node: int, known: CategoricalFeature
) -> NDArray[np.bool_]:
    """Return a mask of the categories of a feature that go left."""
    sets = tree.arrays.sets
    members = None if sets is None else sets.members(node)
    if members is not None:
        return members[known.values.astype(np.intp)]
    left: NDArray[np.bool_] = known.values < float(tree.arrays.threshold[node])
    return left


def _set_text(categories: NDArray[Any]) -> str:
    shown = []
    for category in categories.tolist():
        text = _short(category, 3) if isinstance(category, float) else str(category)
        # Quotes make blank and control characters visible.
        shown.append(text if text.strip() and text.isprintable() else repr(text))
    if len(shown) > _MOST_LISTED_CATEGORIES:
        n_more = len(shown) - _MOST_LISTED_CATEGORIES + 1
        shown = [*shown[: _MOST_LISTED_CATEGORIES - 1], f"{n_more} more"]
    return f"{{{', '.join(shown)}}}"


def node_color(tree: Tree, node: int, cut: bool) -> str:
    """Return the color of a box: one per class, stronger for purer nodes.

    In regression trees, larger predictions have a stronger color. In rounds of
    boosting, it is the color of the class whose score increases most.
    """
    if cut:
        return _CUT_COLOR
    values = tree.values[node]
    best, n_classes = int(values.argmax()), len(values)
    if tree.adds and tree.class_names:
        most = float(tree.values.max())
        strength = max(float(values[best]), 0.0) / most if most > 0 else 0.0
    elif tree.is_regression:
        best, n_classes = 0, 1
        first = tree.values[:, 0]
        width = float(np.ptp(first))
        strength = float(values[0] - first.min()) / width if width > 0 else 0.0
    else:
        even = 1 / n_classes
        purity = 1.0 if n_classes == 1 else (values[best] - even) / (1 - even)
        # The power keeps classes distinct in nodes that contain many of them.
        strength = min(max(float(purity), 0.0), 1.0) ** 0.7
    # Beyond the palette, hues are spread evenly and alternate in lightness.
    hue: tuple[float, ...] = colorsys.hls_to_rgb(
        best / n_classes, (0.42, 0.62)[best % 2], 0.8
    )
    if n_classes <= len(_PALETTE):
        hue = tuple(c / 255 for c in bytes.fromhex(_PALETTE[best]))
    mixed = [round(255 * (1 - _STRONGEST * strength * (1 - c))) for c in hue]
    return "#" + "".join(f"{c:02x}" for c in mixed)

"""Export of a tree as text and in the DOT language of Graphviz."""

from __future__ import annotations

import os
import re
from functools import partial
from html import escape
from pathlib import Path
from typing import TextIO

from numpy.typing import ArrayLike

from dics.export._tree_view import (
    CUT,
    Style,
    Tree,
    asks_for_missing,
    check_integer,
    class_weights,
    count_levels,
    fixed,
    majority,
    node_color,
    node_lines,
    number_text,
    read_style,
    read_tree,
    shown_nodes,
    test_texts,
)


def export_text(
    decision_tree: object,
    *,
    feature_names: ArrayLike | None = None,
    class_names: ArrayLike | None = None,
    max_depth: int = 10,
    spacing: int = 3,
    decimals: int = 2,
    show_weights: bool = False,
    show_missing: bool = False,
) -> str:
    """Return the rules of a tree as indented text.

    Parameters
    ----------
    decision_tree : CGTreeClassifier, CGTreeRegressor or RoundTree
        Fitted tree, or a tree of a forest or boosting model: ``forest[0]``,
        ``model[0]``. The leaves of a boosting round show the values that they add to
        the scores.
    feature_names : array-like of shape (n_features,), default=None
        Names of the features. If None, the names from `fit` if there were any,
        else "feature_0", "feature_1" and so on.
    class_names : array-like of shape (n_classes,), default=None
        Names of the classes, in the order of `classes_`. If None, `classes_`.
    max_depth : int, default=10
        Splits deeper than this are left out and marked with "...".
    spacing : int, default=3
        Width of one level of indentation, at least 1.
    decimals : int, default=2
        Digits after the decimal point. Numbers that would round to zero are
        written in scientific notation instead.
    show_weights : bool, default=False
        Whether to write the weighted count of every class at the leaves. For a
        regression tree, the weight of each leaf and the standard deviation of its
        targets are written.
    show_missing : bool, default=False
        Whether to mark the side of missing values.

    Returns
    -------
    str
        One line per rule and per leaf.

    See Also
    --------
    export_graphviz : The tree for Graphviz.
    dics.plot.plot_tree : Drawing of a tree.

    Examples
    --------
    >>> from dics import CGTreeClassifier
    >>> from dics.export import export_text
    >>> X, y = [[0.0], [1.0]] * 20, ["no", "yes"] * 20
    >>> tree = CGTreeClassifier(max_depth=1).fit(X, y)
    >>> report = export_text(tree, feature_names=["answer"])
    >>> print(report, end="")  # doctest: +ELLIPSIS
    |--- answer < ...
    |   |--- class: no
    |--- answer >= ...
    |   |--- class: yes
    """
    tree = read_tree(decision_tree, feature_names, class_names, "feature_{}")
    check_integer("max_depth", max_depth, 0)
    check_integer("spacing", spacing, 1)
    check_integer("decimals", decimals, 0)
    lines: list[str] = []
    # A stack, because trees may be deeper than the recursion limit of Python.
    todo: list[str | tuple[int, int]] = [(0, 0)]
    arrays = tree.arrays
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            lines.append(item)
            continue
        node, depth = item
        start = ("|" + " " * spacing) * depth + "|" + "-" * spacing + " "
        if arrays.feature[node] < 0:
            lines.append(start + _leaf_text(tree, node, decimals, show_weights))
        elif depth > max_depth:
            lines.append(f"{start}... ({count_levels(arrays, node)} more levels)")
        else:
            below, above = _rule_texts(tree, node, decimals, show_missing)
            left = int(arrays.left[node])
            # The last entry comes first: the rule and the nodes of the left side.
            todo += [(left + 1, depth + 1), start + above]
            todo += [(left, depth + 1), start + below]
    return "\n".join(lines) + "\n"


def export_graphviz(
    decision_tree: object,
    out_file: str | os.PathLike[str] | TextIO | None = None,
    *,
    max_depth: int | None = None,
    feature_names: ArrayLike | None = None,
    class_names: ArrayLike | bool | None = None,
    label: str = "all",
    filled: bool = False,
    leaves_parallel: bool = False,
    impurity: bool = True,
    node_ids: bool = False,
    proportion: bool = False,
    rotate: bool = False,
    rounded: bool = False,
    special_characters: bool = False,
    precision: int = 3,
    fontname: str = "helvetica",
) -> str | None:
    r"""Write a tree in the DOT language of Graphviz.

    With more than five classes, a node lists the fractions of its three largest
    classes instead of all counts.

    Parameters
    ----------
    decision_tree : CGTreeClassifier, CGTreeRegressor or RoundTree
        Fitted tree, or a tree of a forest or boosting model: ``forest[0]``,
        ``model[0]``. The leaves of a boosting round show the values that they add to
        the scores.
    out_file : path or text file, default=None
        Where to write. If None, the text is returned.
    max_depth : int, default=None
        Nodes below this depth are left out, and marked "(...)". None draws all nodes.
    feature_names : array-like of shape (n_features,), default=None
        Names of the features. If None, the names from `fit` if there were any,
        else "x[0]", "x[1]" and so on.
    class_names : array-like of shape (n_classes,) or bool, default=None
        Names of the classes, in the order of `classes_`. None and True use
        `classes_`; False omits the line with the majority class.
    label : {"all", "root", "none"}, default="all"
        Nodes in which the values have names: all, the root only, or none.
    filled : bool, default=False
        Whether to color nodes by majority class, stronger for purer nodes. In a
        regression tree, larger predictions have a stronger color.
    leaves_parallel : bool, default=False
        Whether to draw all leaves in one row at the bottom.
    impurity : bool, default=True
        Whether to write the impurity.
    node_ids : bool, default=False
        Whether to write the index of each node.
    proportion : bool, default=False
        Whether to write samples as percentages and classes as fractions.
    rotate : bool, default=False
        Whether to draw from left to right.
    rounded : bool, default=False
        Whether to round the corners of the boxes.
    special_characters : bool, default=False
        Whether to write HTML-like labels, with subscripts for unnamed features.
    precision : int, default=3
        Maximum number of digits after the decimal point.
    fontname : str, default="helvetica"
        Font of all text.

    Returns
    -------
    str or None
        The DOT text, or None if it was written to `out_file`.

    See Also
    --------
    export_text : Rules of the tree as text.
    dics.plot.plot_tree : Drawing of a tree without Graphviz.

    Examples
    --------
    >>> from dics import CGTreeClassifier
    >>> from dics.export import export_graphviz
    >>> X, y = [[0.0], [1.0]] * 20, ["no", "yes"] * 20
    >>> tree = CGTreeClassifier(max_depth=1).fit(X, y)
    >>> dot = export_graphviz(tree, feature_names=["answer"])
    >>> print(dot.splitlines()[-2])
    0 -> 2 [labeldistance=2.5, labelangle=-45, headlabel="False"] ;
    """
    tree = read_tree(decision_tree, feature_names, class_names, "x[{}]")
    style = read_style(class_names, label, impurity, node_ids, proportion, precision)
    shown = shown_nodes(tree, max_depth)
    # Graphviz needs one attribute for both styles.
    styles = ["filled"] * filled + ["rounded"] * rounded
    shape = f', style="{", ".join(styles)}"' if styles else ""
    font = f'fontname="{_quote(fontname)}"'
    lines = [
        "digraph Tree {",
        f'node [shape=box{shape}, color="black", {font}] ;',
        f"edge [{font}] ;",
    ]
    if rotate:
        lines.append("rankdir=LR ;")
    if leaves_parallel:
        lines.append("graph [ranksep=equally, splines=polyline] ;")
    for node, cut in zip(shown.node, shown.cut, strict=True):
        text = _dot_label(tree, node, cut, style, special_characters)
        color = node_color(tree, node, cut)
        fill = f', fillcolor="{color}"' if filled else ""
        lines.append(f"{node} [label={text}{fill}] ;")
    for node, child in zip(shown.node, shown.left, strict=True):
        for side, answer in enumerate(() if child < 0 else ("True", "False")):
            # Rotation swaps the sides of the labels.
            angle = 45 if (side == 0) != rotate else -45
            place = f"labeldistance=2.5, labelangle={angle}"
            # Only the edges of the root are labeled: the others follow the same rule.
            mark = f' [{place}, headlabel="{answer}"]' if node == 0 else ""
            lines.append(f"{node} -> {tree.arrays.left[node] + side}{mark} ;")
    if leaves_parallel:
        ends = [n for n, kid in zip(shown.node, shown.left, strict=True) if kid < 0]
        lines.append("{rank=same ; " + " ; ".join(map(str, ends)) + " ;}")
    text = "\n".join([*lines, "}"])
    if out_file is None:
        return text
    if isinstance(out_file, str | os.PathLike):
        Path(out_file).write_text(text, encoding="utf-8")
    elif hasattr(out_file, "write"):
        out_file.write(text)
    else:
        raise TypeError(f"out_file must be a path or a text file, got {out_file!r}.")
    return None


def _rule_texts(
    tree: Tree, node: int, decimals: int, show_missing: bool
) -> tuple[str, str]:
    """Return the conditions to go left and right."""
    number = fixed(float(tree.arrays.threshold[node]), decimals)
    below, above = test_texts(tree, node, number)
    if not show_missing or asks_for_missing(tree, node):
        return below, above
    if tree.arrays.missing_left[node]:
        return f"{below} or missing", above
    return below, f"{above} or missing"


def _leaf_text(tree: Tree, node: int, decimals: int, show_weights: bool) -> str:
    # Fixed decimals align the numbers of a report.
    write = partial(fixed, decimals=decimals)
    if tree.is_regression:
        name = "adds" if tree.adds else "value"
        text = f"{name}: {number_text(tree, node, write, deviation=show_weights)}"
        weight = write(float(tree.arrays.weight[node]))
        return f"weight: {weight} {text}" if show_weights else text
    text = f"class: {majority(tree, node)}"
    if not show_weights:
        return text
    return f"weights: [{', '.join(map(write, class_weights(tree, node)))}] {text}"


def _quote(text: str) -> str:
    """Escape text for a quoted string of DOT."""
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    # Graphviz replaces entities such as &lt; in plain labels too.
    return text.replace("&", "&amp;")


def _dot_label(tree: Tree, node: int, cut: bool, style: Style, html: bool) -> str:
    """Return the content of a box as a string of DOT, or as an HTML-like label."""
    lines = [CUT] if cut else node_lines(tree, node, style)
    if not html:
        return '"' + "\\n".join(map(_quote, lines)) + '"'
    # Readers differ in whether a backslash is an escape; all support the entity.
    text = "<br/>".join(
        escape(line, quote=False).replace("\\", "&#92;") for line in lines
    )
    if not tree.is_named and tree.arrays.feature[node] >= 0:
        # Only the first match: class names may look like features.
        text = re.sub(r"x\[(\d+)\] &lt;", r"x<sub>\1</sub> &lt;", text, count=1)
    return f"<{text}>"

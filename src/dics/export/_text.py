"""A tree as text and as Graphviz source."""

from __future__ import annotations

import os
import re
from html import escape
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import ArrayLike

from dics.export._tree_view import (
    CUT,
    Shown,
    Style,
    Tree,
    asks_for_missing,
    check_integer,
    class_weights,
    fixed,
    majority,
    node_color,
    node_lines,
    prediction,
    read_style,
    read_tree,
    shown_nodes,
    spread,
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
    """Write the rules of a tree as indented text.

    Parameters
    ----------
    decision_tree : CGTreeClassifier, CGTreeRegressor or RoundTree
        Fitted tree, or one of a forest or of boosting: ``forest[0]``, ``model[0]``. A
        round of boosting shows what its leaves add to the scores.
    feature_names : array-like of shape (n_features,), default=None
        Names of the features. If None, the names seen in `fit` if there were any,
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
        Whether to write the weighted count of every class at the leaves; of a
        regression tree, the weight of each leaf and the spread of its targets.
    show_missing : bool, default=False
        Whether to mark the side that missing values take.

    Returns
    -------
    str
        One line per rule and per leaf.

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
    # A stack, as trees may be deeper than Python's recursion allows.
    todo: list[str | tuple[int, int]] = [(0, 0)]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            lines.append(item)
            continue
        node, depth = item
        start = ("|" + " " * spacing) * depth + "|" + "-" * spacing + " "
        if tree.feature[node] < 0:
            lines.append(start + _leaf_text(tree, node, decimals, show_weights))
        elif depth > max_depth:
            lines.append(f"{start}... ({_count_levels(tree, node)} more levels)")
        else:
            below, above = _rule_texts(tree, node, decimals, show_missing)
            left = int(tree.left[node])
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

    With more than five classes a node lists the shares of its three largest
    classes instead of all counts.

    Parameters
    ----------
    decision_tree : CGTreeClassifier, CGTreeRegressor or RoundTree
        Fitted tree, or one of a forest or of boosting: ``forest[0]``, ``model[0]``. A
        round of boosting shows what its leaves add to the scores.
    out_file : path or text file, default=None
        Where to write. If None, the text is returned.
    max_depth : int, default=None
        Nodes below this depth are cut and marked "(...)". None draws all.
    feature_names : array-like of shape (n_features,), default=None
        Names of the features. If None, the names seen in `fit` if there were any,
        else "x[0]", "x[1]" and so on.
    class_names : array-like of shape (n_classes,) or bool, default=None
        Names of the classes, in the order of `classes_`. None and True take
        `classes_`; False leaves out the line with the majority class.
    label : {"all", "root", "none"}, default="all"
        Nodes in which the numbers are named: all, the root only, or none.
    filled : bool, default=False
        Whether to colour nodes by majority class, stronger for purer nodes; of a
        regression tree, stronger for larger predictions.
    leaves_parallel : bool, default=False
        Whether to draw all leaves in one row at the bottom.
    impurity : bool, default=True
        Whether to write the impurity.
    node_ids : bool, default=False
        Whether to write the number of each node.
    proportion : bool, default=False
        Whether to write samples as percentages and classes as fractions.
    rotate : bool, default=False
        Whether to draw from left to right.
    rounded : bool, default=False
        Whether to round the corners of the boxes.
    special_characters : bool, default=False
        Whether to write HTML-like labels, with subscripts for unnamed features.
    precision : int, default=3
        Most digits after the decimal point.
    fontname : str, default="helvetica"
        Font of all text.

    Returns
    -------
    str or None
        The DOT text, or None when it was written to `out_file`.

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
    lines = ["digraph Tree {", *_dot_defaults(filled, rounded, fontname)]
    if rotate:
        lines.append("rankdir=LR ;")
    if leaves_parallel:
        lines.append("graph [ranksep=equally, splines=polyline] ;")
    for node, cut in zip(shown.node, shown.cut, strict=True):
        text = _dot_label(tree, node, cut, style, special_characters)
        color = node_color(tree, node, cut)
        fill = f', fillcolor="{color}"' if filled else ""
        lines.append(f"{node} [label={text}{fill}] ;")
    lines += _dot_edges(tree, shown, rotate)
    if leaves_parallel:
        ends = [n for n, kid in zip(shown.node, shown.left, strict=True) if kid < 0]
        lines.append("{rank=same ; " + " ; ".join(map(str, ends)) + " ;}")
    text = "\n".join([*lines, "}"])
    if out_file is None:
        return text
    _write(out_file, text)
    return None


def _count_levels(tree: Tree, node: int) -> int:
    nodes, levels = np.array([node]), 0
    while nodes.size:
        levels += 1
        left = tree.left[nodes[tree.feature[nodes] >= 0]]
        nodes = np.concatenate([left, left + 1])
    return levels


def _rule_texts(
    tree: Tree, node: int, decimals: int, show_missing: bool
) -> tuple[str, str]:
    number = fixed(float(tree.threshold[node]), decimals)
    below, above = test_texts(tree, node, number)
    if not show_missing or asks_for_missing(tree, node):
        return below, above
    if tree.missing_left[node]:
        return f"{below} or missing", above
    return below, f"{above} or missing"


def _leaf_text(tree: Tree, node: int, decimals: int, show_weights: bool) -> str:
    if tree.is_regression:
        name = "adds" if tree.adds else "value"
        text = f"{name}: {prediction(tree, node, decimals)}"
        deviation = spread(tree, node) if show_weights else None
        if deviation is not None:
            text += f" \N{PLUS-MINUS SIGN} {fixed(deviation, decimals)}"
        weight = fixed(float(tree.weight[node]), decimals)
        return f"weight: {weight} {text}" if show_weights else text
    text = f"class: {majority(tree, node)}"
    if not show_weights:
        return text
    weights = ", ".join(fixed(w, decimals) for w in class_weights(tree, node))
    return f"weights: [{weights}] {text}"


def _quote(text: str) -> str:
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    # Graphviz reads entities such as &lt; in plain labels too.
    return text.replace("&", "&amp;")


def _dot_defaults(filled: bool, rounded: bool, fontname: str) -> list[str]:
    styles = ["filled"] * filled + ["rounded"] * rounded
    style = f', style="{", ".join(styles)}"' if styles else ""
    font = f'fontname="{_quote(fontname)}"'
    return [f'node [shape=box{style}, color="black", {font}] ;', f"edge [{font}] ;"]


def _dot_label(tree: Tree, node: int, cut: bool, style: Style, html: bool) -> str:
    lines = [CUT] if cut else node_lines(tree, node, style)
    if not html:
        return '"' + "\\n".join(map(_quote, lines)) + '"'
    # The entity is safe whether or not a reader takes backslashes as escapes.
    text = "<br/>".join(
        escape(line, quote=False).replace("\\", "&#92;") for line in lines
    )
    if not tree.is_named and tree.feature[node] >= 0:
        text = re.sub(r"x\[(\d+)\] &lt;", r"x<sub>\1</sub> &lt;", text, count=1)
    return f"<{text}>"


def _dot_edges(tree: Tree, shown: Shown, rotate: bool) -> list[str]:
    lines = []
    for node, child in zip(shown.node, shown.left, strict=True):
        if child < 0:
            continue
        for side, answer in enumerate(("True", "False")):
            angle = 45 if (side == 0) != rotate else -45
            place = f"labeldistance=2.5, labelangle={angle}"
            mark = f' [{place}, headlabel="{answer}"]' if node == 0 else ""
            lines.append(f"{node} -> {tree.left[node] + side}{mark} ;")
    return lines


def _write(out_file: Any, text: str) -> None:
    if isinstance(out_file, str | os.PathLike):
        Path(out_file).write_text(text, encoding="utf-8")
    elif hasattr(out_file, "write"):
        out_file.write(text)
    else:
        raise TypeError(f"out_file must be a path or a text file, got {out_file!r}")

"""The text, Graphviz and Matplotlib exporters."""

import html
import io
import itertools
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from export_models import CATEGORICAL, fitted_categorical
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from dics import (
    CGBoostingClassifier,
    CGBoostingRegressor,
    CGForestClassifier,
    CGTreeClassifier,
    CGTreeRegressor,
)
from dics.export import export_graphviz, export_text
from dics.plot import plot_tree

EXPORTERS = [export_text, export_graphviz, plot_tree]
NASTY = 'a "b" \\N <c> & &lt; $d$ \n e'


class FakeTrees:
    """A tree from given arrays."""

    def __init__(self, feature, threshold, left, n_samples, values):
        self.feature = np.array(feature, dtype=np.int32)
        self.threshold = np.array(threshold, dtype=np.float64)
        self.left = np.array(left, dtype=np.int32)
        self.n_samples = np.array(n_samples, dtype=np.int32)
        self.weight = self.n_samples.astype(np.float32)
        self.missing_left = np.arange(len(feature)) % 2
        self._values = np.array(values, dtype=float)
        self.leaf_values = self._values[self.feature < 0].astype(np.float32)
        self.n_nodes = len(feature)
        self.impurity = 1 - (self._values**2).sum(axis=1)
        self.criterion = "gini"
        self.sets = None

    def node_values(self):
        """Return class fractions of all nodes."""
        return self._values


class FakeClassifier(BaseEstimator):
    """The attributes of a fitted classifier that the exporters read."""

    def __init__(self, trees=None, classes=(), n_features=2):
        self.trees_ = trees
        self.classes_ = np.array(classes)
        self.n_features_in_ = n_features
        self.criterion = "gini"

    def fit(self, X, y):
        """Make the class look like an estimator."""
        return self


@pytest.fixture
def small():
    """Return a tree of two splits, three leaves and three classes."""
    trees = FakeTrees(
        feature=[1, -1, 0, -1, -1],
        threshold=[0.8, np.nan, -1.5, np.nan, np.nan],
        left=[1, 0, 3, 1, 2],
        n_samples=[10, 4, 6, 2, 4],
        values=[
            [0.4, 0.3, 0.3],
            [1, 0, 0],
            [0, 0.5, 0.5],
            [0, 1, 0],
            [0, 0.25, 0.75],
        ],
    )
    return FakeClassifier(trees, ["red", "green", "blue"])


@pytest.fixture
def single():
    """Return a tree of one leaf."""
    trees = FakeTrees([-1], [np.nan], [0], [7], [[1.0, 0.0]])
    return FakeClassifier(trees, [0, 1])


@pytest.fixture(scope="module")
def iris_tree():
    """Return a full tree on the iris data."""
    return CGTreeClassifier().fit(*load_iris(return_X_y=True))


@pytest.fixture(scope="module")
def wide_tree():
    """Return a tree of depth five on thirty classes."""
    X, y = make_classification(
        1500, 20, n_informative=12, n_classes=30, n_clusters_per_class=1, random_state=0
    )
    return CGTreeClassifier(max_depth=5).fit(X, y)


@pytest.fixture
def plt():
    """Return pyplot without a window and without open figures."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    yield plt
    plt.close("all")


def test_text_of_a_known_tree(small):
    """Rules, indentation and majority classes."""
    assert export_text(small) == (
        "|--- feature_1 < 0.80\n"
        "|   |--- class: red\n"
        "|--- feature_1 >= 0.80\n"
        "|   |--- feature_0 < -1.50\n"
        "|   |   |--- class: green\n"
        "|   |--- feature_0 >= -1.50\n"
        "|   |   |--- class: blue\n"
    )


def test_text_options(small):
    """Names, width, digits, weights and the side of missing values."""
    small.trees_.missing_left = np.array([1, 0, 0, 0, 0])
    report = export_text(
        small,
        feature_names=["age", "height"],
        class_names=["R", "G", "B"],
        spacing=1,
        decimals=1,
        show_weights=True,
        show_missing=True,
    )
    assert report.splitlines() == [
        "|- height < 0.8 or missing",
        "| |- weights: [4.0, 0.0, 0.0] class: R",
        "|- height >= 0.8",
        "| |- age < -1.5",
        "| | |- weights: [0.0, 2.0, 0.0] class: G",
        "| |- age >= -1.5 or missing",
        "| | |- weights: [0.0, 1.0, 3.0] class: B",
    ]


def test_text_cut(small):
    """A cut branch has the number of missing levels; a leaf is never cut."""
    assert export_text(small, max_depth=0).splitlines() == [
        "|--- feature_1 < 0.80",
        "|   |--- class: red",
        "|--- feature_1 >= 0.80",
        "|   |--- ... (2 more levels)",
    ]


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [(1e-5, "1e-05"), (-0.0, "0.00"), (3e20, "3e+20"), (np.inf, "inf"), (12, "12.00")],
)
def test_text_thresholds_keep_their_size(small, threshold, expected):
    """Small thresholds do not turn into zero, large ones stay short."""
    small.trees_.threshold[0] = threshold
    assert export_text(small).splitlines()[0] == f"|--- feature_1 < {expected}"


def test_text_of_a_deep_tree():
    """A chain deeper than the recursion limit."""
    depth = 2 * sys.getrecursionlimit()
    feature = [0] + [-1, 0] * (depth - 1) + [-1, -1]
    inner = np.array(feature) == 0
    left = np.where(inner, 2 * inner.cumsum() - 1, (~inner).cumsum() - 1)
    n_nodes = len(feature)
    trees = FakeTrees(feature, [0] * n_nodes, left, [1] * n_nodes, [[1.0]] * n_nodes)
    tree = FakeClassifier(trees, ["a"])
    assert export_text(tree, max_depth=depth).count("class: a") == depth + 1
    assert f"... ({depth - 1} more levels)" in export_text(tree, max_depth=1)
    assert export_graphviz(tree).count("->") == 2 * depth


def test_text_of_a_single_leaf(single):
    """No rules, one class."""
    assert export_text(single) == "|--- class: 0\n"


def test_text_of_a_fitted_tree(iris_tree):
    """One line per leaf and two per split."""
    lines = export_text(iris_tree, max_depth=50).splitlines()
    n_leaves = iris_tree.get_n_leaves()
    assert sum("class:" in line for line in lines) == n_leaves
    assert len(lines) == n_leaves + 2 * (n_leaves - 1)


@pytest.mark.parametrize("exporter", [export_text, export_graphviz])
def test_names_seen_in_fit_are_used(exporter, small):
    """The names in `feature_names_in_` are the default."""
    small.feature_names_in_ = np.array(["age", "height"], dtype=object)
    assert "height < 0.8" in exporter(small)
    assert "width < 0.8" in exporter(small, feature_names=["age", "width"])


@pytest.mark.parametrize("name", CATEGORICAL)
def test_splits_name_categories(plt, name):
    model = fitted_categorical(name)
    tree = model if name.startswith("tree") else model[0]
    for text in (export_text(tree), export_graphviz(tree)):
        assert " in {" in text
    assert any(" in {" in box.get_text() for box in plot_tree(tree))


def test_dot_of_a_known_tree(small):
    """The whole document."""
    assert export_graphviz(small, impurity=False).splitlines() == [
        "digraph Tree {",
        'node [shape=box, color="black", fontname="helvetica"] ;',
        'edge [fontname="helvetica"] ;',
        r'0 [label="x[1] < 0.8\nsamples = 10\nvalue = [4, 3, 3]\nclass = red"] ;',
        r'1 [label="samples = 4\nvalue = [4, 0, 0]\nclass = red"] ;',
        r'2 [label="x[0] < -1.5\nsamples = 6\nvalue = [0, 3, 3]\nclass = green"] ;',
        r'3 [label="samples = 2\nvalue = [0, 2, 0]\nclass = green"] ;',
        r'4 [label="samples = 4\nvalue = [0, 1, 3]\nclass = blue"] ;',
        '0 -> 1 [labeldistance=2.5, labelangle=45, headlabel="True"] ;',
        '0 -> 2 [labeldistance=2.5, labelangle=-45, headlabel="False"] ;',
        "2 -> 3 ;",
        "2 -> 4 ;",
        "}",
    ]


def test_dot_options(small):
    """Everything that can be switched on."""
    dot = export_graphviz(
        small,
        class_names=False,
        label="root",
        filled=True,
        leaves_parallel=True,
        node_ids=True,
        proportion=True,
        rotate=True,
        rounded=True,
        precision=1,
        fontname="times",
    )
    assert 'style="filled, rounded"' in dot
    assert dot.count('fontname="times"') == 2
    assert "rankdir=LR" in dot
    assert "{rank=same ; 1 ; 3 ; 4 ;}" in dot
    assert r"node #0\nx[1] < 0.8\ngini = 0.7\nsamples = 100.0%\nvalue = [0.4," in dot
    assert r'4 [label="#4\n0.4\n40.0%\n[0, 0.2, 0.8]", fillcolor="#' in dot
    assert "class" not in dot
    assert 'labelangle=-45, headlabel="True"' in dot


def test_dot_colors(small):
    """Pure nodes of one class have the same color; mixed ones are lighter."""
    dot = export_graphviz(small, filled=True)
    colors = re.findall(r'fillcolor="#(\w{6})"', dot)
    brightness = [sum(bytes.fromhex(color)) for color in colors]
    assert len(set(colors)) == 5
    assert brightness[0] > brightness[2] > brightness[3]


def test_dot_subscripts(small):
    """Unnamed features get subscripts in HTML-like labels, named ones do not."""
    dot = export_graphviz(small, special_characters=True)
    assert "0 [label=<x<sub>1</sub> &lt; 0.8<br/>gini = 0.66<br/>" in dot
    dot = export_graphviz(small, special_characters=True, feature_names=["a", "x[7]"])
    assert "0 [label=<x[7] &lt; 0.8<br/>" in dot


def read_label(line):
    """Return the text of a label as Graphviz would show it."""
    match = re.fullmatch(r'\d+ \[label=(?:"((?:[^"\\]|\\.)*)"|<(.*)>)\] ;', line)
    assert match, line
    if match[2] is None:
        unquoted = re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), match[1])
        return html.unescape(unquoted)
    parsed = ET.fromstring(f"<p>{match[2].replace('<br/>', chr(10))}</p>")
    return "".join(parsed.itertext())


@pytest.mark.parametrize("special_characters", [False, True])
def test_dot_escaping(small, special_characters):
    """Names are unchanged, except for the line break."""
    dot = export_graphviz(
        small,
        feature_names=["b", NASTY],
        class_names=[NASTY, "g", "b"],
        special_characters=special_characters,
        fontname='a"b',
    )
    lines = read_label(dot.splitlines()[3]).split("\n")
    clean = NASTY.replace("\n", " ")
    assert lines[0] == f"{clean} < 0.8"
    assert lines[-1] == f"class = {clean}"
    assert r'fontname="a\"b"' in dot
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tplain"], input=dot, text=True, check=True)


def test_dot_cut(small):
    """Nodes below the depth are placeholders."""
    dot = export_graphviz(small, max_depth=0, filled=True)
    assert dot.count('label="(...)"') == 2
    assert re.findall(r"^(\d+) -> (\d+)", dot, re.MULTILINE) == [("0", "1"), ("0", "2")]


def test_dot_of_a_single_leaf(single):
    """One node, no edges."""
    dot = export_graphviz(single)
    assert r'0 [label="gini = 0\nsamples = 7\nvalue = [7, 0]\nclass = 0"] ;' in dot
    assert "->" not in dot


def test_dot_output(small, tmp_path):
    """Paths and text files get the returned text."""
    expected = export_graphviz(small)
    path, file = tmp_path / "tree.dot", io.StringIO()
    assert export_graphviz(small, path) is None
    assert export_graphviz(small, file) is None
    assert path.read_text(encoding="utf-8") == file.getvalue() == expected
    with pytest.raises(TypeError, match=r"out_file .* got 3"):
        export_graphviz(small, 3)


def test_many_classes_show_the_top_three():
    """A hundred classes do not make a hundred entries."""
    shares = np.zeros(100)
    shares[[7, 3, 50, 99]] = 0.6, 0.3, 0.098, 0.002
    trees = FakeTrees([-1], [np.nan], [0], [1000], [shares])
    dot = export_graphviz(FakeClassifier(trees, np.arange(100)))
    assert r"samples = 1000\nclass 7: 60%\nclass 3: 30%\nclass 50: 10%" in dot
    assert "value" not in dot
    trees.node_values()[0, [3, 50]] = 0
    dot = export_graphviz(FakeClassifier(trees, np.arange(100)), label="none")
    assert r'1000\n7: 60%\n99: <1%"' in dot


@pytest.mark.parametrize("exporter", EXPORTERS)
def test_errors_shared_by_all(exporter, small):
    """Wrong trees, wrong names, wrong depth."""
    with pytest.raises(NotFittedError):
        exporter(CGTreeClassifier())
    with pytest.raises(TypeError, match="got 'oak' of type str"):
        exporter("oak")
    other = DecisionTreeClassifier().fit([[0], [1]], [0, 1])
    with pytest.raises(TypeError, match="got DecisionTreeClassifier"):
        exporter(other)
    with pytest.raises(TypeError):
        exporter(CGTreeClassifier)
    with pytest.raises(ValueError, match="3 names, but the tree has 2 features"):
        exporter(small, feature_names=["a", "b", "c"])
    with pytest.raises(ValueError, match="1 names, but the tree has 3 classes"):
        exporter(small, class_names=["a"])
    with pytest.raises(ValueError, match=r"feature_names .* got 'ab'"):
        exporter(small, feature_names="ab")
    with pytest.raises(ValueError, match=r"max_depth .* got -1"):
        exporter(small, max_depth=-1)
    with pytest.raises(ValueError, match=r"max_depth .* got 1\.5"):
        exporter(small, max_depth=1.5)


@pytest.mark.parametrize(
    ("exporter", "name", "value"),
    [
        (export_text, "spacing", 0),
        (export_text, "decimals", -1),
        (export_text, "max_depth", None),
        (export_graphviz, "precision", -1),
        (export_graphviz, "label", "leaf"),
        (plot_tree, "precision", -1),
        (plot_tree, "label", "leaf"),
        (plot_tree, "fontsize", 0),
    ],
)
def test_wrong_values_are_named(exporter, name, value, small):
    """The message contains the parameter and the value."""
    with pytest.raises(ValueError, match=f"{name} must .* got {value!r}"):
        exporter(small, **{name: value})


def box_areas(boxes):
    """Return the rectangles of the boxes in pixels."""
    figure = boxes[0].figure
    figure.canvas.draw()
    areas = [box.get_bbox_patch().get_window_extent() for box in boxes]
    return figure.bbox, [(a.x0, a.y0, a.x1, a.y1) for a in areas]


def assert_no_overlap(boxes):
    """Check that no two boxes overlap and that all are inside the figure."""
    page, areas = box_areas(boxes)
    for x0, y0, x1, y1 in areas:
        assert page.x0 <= x0 < x1 <= page.x1
        assert page.y0 <= y0 < y1 <= page.y1
    for a, b in itertools.combinations(areas, 2):
        assert a[2] < b[0] or b[2] < a[0] or a[3] < b[1] or b[3] < a[1]


@pytest.mark.parametrize(
    ("name", "figsize"),
    [
        ("iris_tree", None),
        ("iris_tree", (6.4, 4.8)),
        ("iris_tree", (20, 3)),
        ("wide_tree", None),
        ("wide_tree", (30, 20)),
    ],
)
def test_plot_boxes_do_not_overlap(plt, request, name, figsize):
    """Boxes do not overlap in new and in given figures."""
    tree = request.getfixturevalue(name)
    if figsize:
        plt.figure(figsize=figsize)
    boxes = plot_tree(tree, max_depth=None)
    assert len(boxes) == tree.trees_.n_nodes
    assert_no_overlap(boxes)


def test_plot_places(plt, small):
    """Parents are above and midway between their children."""
    boxes = plot_tree(small, feature_names=["age", "height"])
    x, y = np.transpose([box.get_position() for box in boxes])
    assert x[0] == pytest.approx(x[1:3].mean())
    assert x[2] == pytest.approx(x[3:5].mean())
    assert y[0] > y[1] == y[2] > y[3] == y[4]
    assert boxes[0].get_text() == (
        "height < 0.8\ngini = 0.66\nsamples = 10\nvalue = [4, 3, 3]\nclass = red"
    )
    answers = {text.get_text(): text for text in boxes[0].axes.texts}
    assert answers["True"].get_position()[0] < x[0]
    assert answers["False"].get_position()[0] > x[0]


def test_plot_cut(plt, wide_tree):
    """Placeholders below the depth are gray."""
    boxes = plot_tree(wide_tree, max_depth=1)
    cut = [box for box in boxes if box.get_text() == "(...)"]
    assert len(boxes) == 7
    assert len(cut) == 4
    assert len({box.get_bbox_patch().get_facecolor() for box in cut}) == 1
    assert_no_overlap(boxes)


@pytest.mark.parametrize("max_depth", [0, 1, 4])
def test_plot_counts_the_levels_that_are_cut(plt, wide_tree, max_depth):
    """A note below the tree is inside the picture; a whole tree has none."""
    boxes = plot_tree(wide_tree, max_depth=max_depth)
    n_more = wide_tree.get_depth() - max_depth
    (note,) = [text for text in boxes[0].axes.texts if "more level" in text.get_text()]
    plural = "s" if n_more > 1 else ""
    assert note.get_text() == f"{n_more} more level{plural}\n(max_depth={max_depth})"
    page, areas = box_areas(boxes)
    area = note.get_window_extent()
    assert page.x0 <= area.x0 < area.x1 <= page.x1
    assert page.y0 <= area.y0 < area.y1 < min(y0 for _, y0, _, _ in areas)
    whole = plot_tree(wide_tree, max_depth=5)[0].axes.texts
    assert not any("more level" in text.get_text() for text in whole)


def test_plot_of_a_single_leaf(plt, single):
    """One box and no answers."""
    (box,) = plot_tree(single, filled=False, rounded=False)
    assert list(box.axes.texts) == [box]
    assert box.get_bbox_patch().get_facecolor() == (1, 1, 1, 1)
    assert_no_overlap([box])


def test_plot_axes(plt, small):
    """Use the given axes, then the current ones, then a new figure."""
    boxes = plot_tree(small)
    assert plt.get_fignums() == [boxes[0].figure.number]
    _, (first, second) = plt.subplots(1, 2)
    second.plot([1, 2])
    assert plot_tree(small)[0].axes is second
    assert len(second.lines) == 1
    assert plot_tree(small, ax=first)[0].axes is first
    assert len(plt.get_fignums()) == 2


def test_plot_without_pyplot(small):
    """Axes of a plain figure need no pyplot."""
    figure = pytest.importorskip("matplotlib.figure").Figure()
    boxes = plot_tree(small, ax=figure.subplots(), fontsize=5)
    assert {box.get_fontsize() for box in boxes} == {5}


def test_plot_names_are_not_formulas(plt, small):
    """Dollar signs and other marks are drawn as they are."""
    boxes = plot_tree(small, feature_names=["$", "$x_{$"], class_names=["$$"] * 3)
    assert_no_overlap(boxes)
    assert boxes[0].get_text().startswith("$x_{$ < 0.8")


def test_plot_needs_matplotlib(monkeypatch, small):
    """The message contains the package to install."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'dics\[plot\]'"):
        plot_tree(small)


# --- regression trees -----------------------------------------------------------------


def regression_tree(**parameters):
    X = np.arange(40.0)[:, None]
    y = np.where(X[:, 0] < 20, 1.5, 7.0) + (X[:, 0] % 2)
    return CGTreeRegressor(max_depth=1, **parameters).fit(X, y)


def test_text_of_a_regression_tree():
    assert export_text(regression_tree(), feature_names=["x"]) == (
        "|--- x < 19.50\n|   |--- value: 2.00\n|--- x >= 19.50\n|   |--- value: 7.50\n"
    )
    weighted = export_text(regression_tree(), show_weights=True)
    assert "weight: 20.00 value: 2.00 ± 0.50" in weighted


def test_pictures_of_a_regression_tree():
    dot = export_graphviz(regression_tree(), filled=True)
    assert "squared_error = 0.25\\nsamples = 20\\nvalue = 7.5 ± 0.5" in dot
    colors = re.findall(r'fillcolor="(#\w+)"', dot)
    assert colors[1] == "#ffffff" != colors[2]
    boxes = plot_tree(regression_tree(criterion="poisson"))
    assert boxes[1].get_text().splitlines()[-1] == "value = 2"


def test_several_targets_in_a_picture():
    X = np.arange(10.0)[:, None]
    tree = CGTreeRegressor(max_depth=1).fit(X, np.column_stack([X[:, 0], -X[:, 0]]))
    assert "value: [2.00, -2.00]" in export_text(tree)


# --- forests and boosting -------------------------------------------------------------


@pytest.fixture(scope="module")
def iris_boosting():
    """Return boosting for three classes, with names of features."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    return CGBoostingClassifier(n_estimators=3, max_depth=2, random_state=0).fit(X, y)


def test_rounds_by_index(iris_boosting):
    assert len(iris_boosting) == 3
    assert [tree.trees_.n_nodes for tree in iris_boosting] == np.diff(
        iris_boosting.trees_.node_starts
    ).tolist()
    assert iris_boosting[-1].get_n_leaves() == iris_boosting[2].get_n_leaves()
    assert len(iris_boosting[:2]) == 2
    assert 0 < iris_boosting[0].get_depth() <= 2
    with pytest.raises(IndexError):
        iris_boosting[3]
    with pytest.raises(NotFittedError):
        CGBoostingClassifier()[0]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_leaves_of_a_round(n_classes):
    """The text of the leaves is the step of the decision function."""
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    model = CGBoostingClassifier(n_estimators=2, max_depth=2, random_state=0).fit(X, y)
    first, second = model.staged_decision_function(X)
    steps = (second - first).reshape(len(X), -1)
    leaves = re.findall(r"adds: \[?(.*?)\]?\n", export_text(model[1], decimals=3))
    shown = {tuple(float(v) for v in leaf.split(", ")) for leaf in leaves}
    assert {tuple(row) for row in (steps.round(3) + 0.0).tolist()} == shown


def test_round_of_regression():
    X, y = load_iris(return_X_y=True)
    model = CGBoostingRegressor(n_estimators=1, max_depth=1, random_state=0).fit(X, y)
    assert export_text(model).count("adds: ") == 2  # its only tree
    assert model.predict(X).min() == pytest.approx(
        model._start[0] + model._loss.centre[0] + model.trees_.leaf_values.min(),
        abs=1e-4,
    )


def test_boxes_of_a_round(iris_boosting, plt):
    """Splits show their gain, leaves their values."""
    boxes = [box.get_text() for box in plot_tree(iris_boosting[0])]
    assert re.fullmatch(
        r"petal \w+ \(cm\) < [\d.]+\ngain = [\d.]+\nsamples = 150", boxes[0]
    )
    ends = [box for box in boxes if "adds" in box]
    assert len(ends) == iris_boosting[0].get_n_leaves()
    assert all(re.match(r"samples = \d+\nadds = \[.*, .*, .*\]$", end) for end in ends)
    dot = export_graphviz(iris_boosting[0], filled=True)
    assert dot.count("adds = ") == len(ends)


def test_round_of_many_classes(plt):
    """Leaves show the classes with the largest changes of scores."""
    X, y = make_classification(
        400, 12, n_informative=8, n_classes=8, n_clusters_per_class=1, random_state=0
    )
    model = CGBoostingClassifier(n_estimators=1, max_depth=2, random_state=0).fit(X, y)
    names = [f"kind {k}" for k in range(8)]
    boxes = [box.get_text() for box in plot_tree(model[0], class_names=names)]
    leaves = [box for box in boxes if "gain" not in box]
    assert all(leaf.count("class kind ") == 3 for leaf in leaves)
    assert not any("class" in box for box in boxes if "gain" in box)


@pytest.mark.parametrize("export", EXPORTERS)
def test_forest_is_not_a_tree(export, iris_boosting, plt):
    X, y = load_iris(return_X_y=True)
    forest = CGForestClassifier(n_estimators=3, max_depth=2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"has 3 trees; .* such as forest\[0\]"):
        export(forest)
    with pytest.raises(ValueError, match=r"has 3 trees; .* such as model\[0\]"):
        export(iris_boosting)
    alone = CGForestClassifier(n_estimators=1, max_depth=2, random_state=0).fit(X, y)
    assert len(export(alone)) == len(export(alone[0]))
    constant = CGBoostingClassifier(n_estimators=3).fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="has no trees"):
        export(constant)
    assert constant  # although its length is 0


def test_sampled_and_distinct_rows(plt):
    """A bootstrap sample has fewer distinct rows than its size."""
    X, y = load_iris(return_X_y=True)
    drawn = CGForestClassifier(
        n_estimators=2, max_depth=1, max_samples=60, random_state=0
    )
    root = plot_tree(drawn.fit(X, y)[0])[0].get_text()
    counts = re.search(r"sampled rows = \[(.*)\]", root)[1]
    assert sum(map(int, counts.split(", "))) == 60
    assert int(re.search(r"distinct rows = (\d+)", root)[1]) < 60
    root = plot_tree(drawn[0], proportion=True)[0].get_text()
    assert "value = " in root
    whole = CGForestClassifier(
        n_estimators=2, max_depth=1, bootstrap=False, random_state=0
    )
    root = plot_tree(whole.fit(X, y)[0])[0].get_text()
    assert "samples = 150\nvalue = [50, 50, 50]" in root


def test_huge_pictures_warn(plt):
    X, y = make_classification(3000, 10, flip_y=0.4, random_state=0)
    tree = CGTreeClassifier(random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match=r"leaves is \d+ inches wide; max_depth=3"):
        plot_tree(tree, max_depth=None)
    plt.close("all")
    assert len(plot_tree(tree)) < 2**6

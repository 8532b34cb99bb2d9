"""Plots of models."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from dics import (
    CGBoostingClassifier,
    CGBoostingRegressor,
    CGForestClassifier,
    CGForestRegressor,
    CGTreeClassifier,
    CGTreeRegressor,
)
from dics.plot import plot_boundaries, plot_candidates, plot_importance, plot_metric


@pytest.fixture(autouse=True)
def plt():
    """Return pyplot without a window and without open figures."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    yield plt
    plt.close("all")


@pytest.fixture(scope="module")
def stopped():
    """Return boosting with early stopping, on columns with names."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = CGBoostingClassifier(
        n_estimators=60, learning_rate=0.3, early_stopping=True, random_state=0
    )
    return model.fit(X, y)


def names(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_bars_are_the_best_features(stopped):
    ax = plot_importance(stopped, max_features=5)
    best = np.argsort(-stopped.feature_importances_)[:5]
    assert names(ax)[::-1] == stopped.feature_names_in_[best].tolist()
    widths = [bar.get_width() for bar in ax.patches][::-1]
    assert widths == stopped.feature_importances_[best].tolist()
    assert ax.get_title() == "the 5 most important of 30 features"


@pytest.mark.parametrize(
    "model",
    [CGTreeClassifier(), CGForestRegressor(n_estimators=5), CGBoostingRegressor()],
)
def test_bars_of_every_model(model):
    model.fit(*load_iris(return_X_y=True))
    ax = plot_importance(model, max_features=None)
    assert sorted(names(ax)) == ["x[0]", "x[1]", "x[2]", "x[3]"]
    assert ax.get_title() == ""
    given = plot_importance(model, feature_names=list("abcd"))
    assert sorted(names(given)) == list("abcd")


def test_bars_count_splits(stopped):
    ax = plot_importance(stopped, kind="split", max_features=None)
    widths = [bar.get_width() for bar in ax.patches]
    assert sum(widths) == stopped.split_counts_.sum()
    assert ax.get_xlabel() == "number of splits"


def test_labels_are_not_cut(stopped, plt):
    """Long names, and names that look like formulas, are inside the figure."""
    long = [f"$x_{i}$ " + "feature of a long name " * 2 for i in range(30)]
    bars, curves = plot_importance(stopped, feature_names=long), plot_metric(stopped)
    for ax, more in (bars, [*bars.get_yticklabels(), *bars.texts]), (curves, []):
        ax.figure.canvas.draw()
        for text in (ax.xaxis.label, ax.yaxis.label, ax.title, *more):
            if not text.get_text():
                continue
            area, page = text.get_window_extent(), ax.figure.bbox
            assert area.x0 >= 0
            assert area.y0 >= 0
            assert area.x1 <= page.x1
            assert area.y1 <= page.y1


def test_curves(stopped):
    ax = plot_metric(stopped)
    training, validation, best = ax.get_lines()
    history = stopped.evals_result_
    assert training.get_ydata().tolist() == history["training"]["log_loss"]
    assert validation.get_ydata().tolist() == history["validation"]["log_loss"]
    assert training.get_xdata()[0] == 1
    assert best.get_xdata()[0] == stopped.best_iteration_
    assert best.get_label() == f"best: {stopped.best_iteration_}"
    lowest = np.argmin(validation.get_ydata())
    assert validation.get_xdata()[lowest] == stopped.best_iteration_
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("round", "log_loss")


def test_curves_of_a_score():
    X, y = load_iris(return_X_y=True)
    model = CGBoostingClassifier(
        n_estimators=20, scoring="accuracy", early_stopping=True
    )
    model.fit(X, y)
    ax = plot_metric(model, metric="accuracy")
    assert ax.get_lines()[0].get_label() == "validation"
    with pytest.raises(ValueError, match=r"one of \['log_loss', 'accuracy'\]"):
        plot_metric(model, metric="auc")


def test_curves_of_a_warm_start():
    """The rounds of the last fit have their indices in the model."""
    X, y = load_diabetes(return_X_y=True)
    model = CGBoostingRegressor(n_estimators=5, warm_start=True).fit(X, y)
    model.set_params(n_estimators=8).fit(X, y)
    (line,) = plot_metric(model).get_lines()
    assert line.get_xdata().tolist() == [6, 7, 8]


def test_given_axes_are_used(stopped, plt):
    figure, axes = plt.subplots(1, 2)
    assert plot_importance(stopped, ax=axes[0]) is axes[0]
    assert plot_metric(stopped, ax=axes[1]) is axes[1]
    assert plt.get_fignums() == [figure.number]


def test_errors(stopped):
    with pytest.raises(NotFittedError):
        plot_importance(CGBoostingClassifier())
    with pytest.raises(NotFittedError):
        plot_metric(CGBoostingClassifier())
    with pytest.raises(ValueError, match="kind must be"):
        plot_importance(stopped, kind="weight")
    with pytest.raises(ValueError, match="max_features must be an integer"):
        plot_importance(stopped, max_features=0)
    tree = CGTreeClassifier(max_depth=1).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(TypeError, match="available for boosting models only; got"):
        plot_importance(tree, kind="split")
    with pytest.raises(TypeError, match="must be a fitted CGBoosting"):
        plot_metric(tree)
    constant = CGBoostingClassifier().fit([[0.0], [1.0]], [1, 1])
    with pytest.raises(ValueError, match="y is constant"):
        plot_metric(constant)


@pytest.mark.parametrize(
    "model",
    [
        CGTreeClassifier(),
        CGForestClassifier(n_estimators=5),
        CGForestRegressor(n_estimators=5),
        CGBoostingClassifier(n_estimators=5),
    ],
)
def test_gains_of_thresholds_sum_to_the_importance(model):
    X, y = load_iris(return_X_y=True, as_frame=True)
    model.set_params(random_state=0).fit(X, y)
    ax = plot_candidates(model, X, y, feature="petal width (cm)", bins=10)
    gains = ax.figure.axes[-1]
    heights = [line[1][1] for line in gains.collections[0].get_segments()]
    assert sum(heights) == pytest.approx(model.feature_importances_[3])
    assert ax.get_xlabel() == "petal width (cm)"
    marks = ax.get_lines()[0].get_xdata()
    assert marks.tolist() == model.candidates_.thresholds_[3].tolist()
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    is_classifier = hasattr(model, "classes_")
    groups = ["0", "1", "2"] if is_classifier else ["rows"]
    assert sorted(texts) == sorted([*groups, "candidate", "gain of splits"])
    # Each bar is a rectangle; all bars together count each row once.
    bars = [bar for bar in ax.patches if bar.get_height() > 0]
    assert sum(bar.get_height() for bar in bars) == len(X)


def test_candidates_of_many_classes_and_a_sparse_x():
    rng = np.random.default_rng(0)
    X = scipy.sparse.csr_array(rng.poisson(1.0, (400, 3)).astype(np.float32))
    tree = CGTreeClassifier(max_depth=4).fit(X, np.arange(400) % 9)
    ax = plot_candidates(tree, X, np.arange(400) % 9, feature=1)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "5" in texts
    assert "6" not in texts
    assert "other classes" in texts
    assert ax.get_xlabel() == "x[1]"


def test_candidates_skip_missing_values():
    X = np.array([[np.nan, 0.0], [1.0, 0.0]] * 20)
    tree = CGTreeClassifier().fit(X, [0, 1] * 20)
    ax = plot_candidates(tree, X, feature=0, bins=3)
    assert sum(bar.get_height() for bar in ax.patches) == 20
    # The split has the threshold -inf, which has no place on the axis.
    assert not ax.figure.axes[-1].collections[0].get_segments()


def test_regions_are_the_predictions():
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X[["petal length (cm)", "petal width (cm)"]]
    tree = CGTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    ax = plot_boundaries(tree, X, y, resolution=50)
    image = ax.get_images()[0].get_array()
    assert image.shape == (50, 50, 3)
    assert len(np.unique(image.reshape(-1, 3), axis=0)) == 3
    assert len(ax.collections) == 3
    assert ax.get_ylabel() == "petal width (cm)"
    assert not plot_boundaries(tree, X).collections


def test_regions_of_some_features():
    """Other features have their medians."""
    X, y = load_diabetes(return_X_y=True)
    model = CGBoostingRegressor(n_estimators=5, random_state=0).fit(X, y)
    ax = plot_boundaries(model, X, y, features=(8, 2), resolution=20)
    low = np.median(X, axis=0)
    low[8], low[2] = ax.get_xlim()[0], ax.get_ylim()[0]
    expected = model.predict(low[None])[0]
    assert ax.collections[0].get_array().ravel()[0] == pytest.approx(expected)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x[8]", "x[2]")


def test_regions_of_another_library():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    model = DecisionTreeClassifier(max_depth=2).fit(X[:, :2], names[y])
    ax = plot_boundaries(model, X[:, :2], names[y], resolution=20)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(names)


def test_errors_of_candidates_and_boundaries(stopped):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    with pytest.raises(NotFittedError):
        plot_candidates(CGTreeClassifier(), X, feature=0)
    with pytest.raises(TypeError, match="tree-based model of dics, got Frame"):
        plot_candidates(type("Frame", (), {})(), X, feature=0)
    with pytest.raises(ValueError, match="'size' is not a feature"):
        plot_candidates(stopped, X, feature="size")
    with pytest.raises(ValueError, match="an index below 30, got 30"):
        plot_candidates(stopped, X, feature=30)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        plot_candidates(stopped, X, y[:-1], feature=0)
    pd = pytest.importorskip("pandas")
    colors = pd.DataFrame({"color": ["red", "blue"] * 50, "size": np.arange(100.0)})
    tree = CGTreeClassifier().fit(colors, [0, 1] * 50)
    with pytest.raises(ValueError, match="'color' is categorical"):
        plot_candidates(tree, colors, feature="color")
    both = CGTreeRegressor().fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="predicts 2 targets instead of one"):
        plot_boundaries(both, X, resolution=5)

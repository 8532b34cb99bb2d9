"""Plots of models."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError

from dics import (
    CGBoostingClassifier,
    CGBoostingRegressor,
    CGForestRegressor,
    CGTreeClassifier,
)
from dics.plot import plot_importance, plot_metric


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

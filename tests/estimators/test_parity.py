"""Names and attributes of the trees and forests in scikit-learn."""

import io
import pickle

import numpy as np
import pytest
from checks import digest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestClassifier

import dics
from dics import (
    CGBoostingClassifier,
    CGForestClassifier,
    CGForestRegressor,
    CGTreeClassifier,
)

X, Y = load_iris(return_X_y=True)


@pytest.mark.parametrize("two", [False, True])
@pytest.mark.parametrize(
    "model",
    [
        CGTreeClassifier(random_state=0),
        CGForestClassifier(n_estimators=5, random_state=0),
    ],
)
def test_log_loss_is_entropy(model, two):
    """Test it with monotonic constraints also, which two classes support."""
    rows = slice(50, 150) if two else slice(None)
    constraint = [1, 0, 0, 0] if two else None
    fits = [
        model.set_params(criterion=name, monotonic_cst=constraint)
        .fit(X[rows], Y[rows])
        .trees_
        for name in ("entropy", "log_loss")
    ]
    assert digest_of(fits[0]) == digest_of(fits[1])
    assert fits[1].criterion == "entropy"


def digest_of(trees):
    return [getattr(trees, name).tobytes() for name in ("nodes", "leaf_values")]


def test_log_loss_in_a_file():
    tree = CGTreeClassifier(criterion="log_loss", random_state=0).fit(X, Y)
    file = io.BytesIO()
    tree.save(file)
    file.seek(0)
    loaded = dics.load(file)
    assert loaded.criterion == "log_loss"
    assert digest(loaded) == digest(tree)


@pytest.mark.parametrize(
    "model",
    [
        CGTreeClassifier(),
        CGForestClassifier(n_estimators=2),
        CGBoostingClassifier(n_estimators=2),
    ],
)
def test_classifiers_have_one_output(model):
    assert not hasattr(model, "n_outputs_")
    assert model.fit(X, Y).n_outputs_ == 1
    if isinstance(model, CGForestClassifier):
        assert model[0].n_outputs_ == 1


@pytest.mark.parametrize(
    ("asked", "drawn"), [("sqrt", 2), ("log2", 2), (3, 3), (0.5, 2), (None, 4)]
)
def test_sampled_features(asked, drawn):
    forest = CGForestClassifier(n_estimators=2, max_features=asked).fit(X, Y)
    assert forest.max_features_ == drawn
    forest.set_params(max_features=1)
    assert forest.max_features_ == drawn  # of the fit


@pytest.mark.parametrize("weights", [None, np.arange(len(X)) % 4])
@pytest.mark.parametrize("max_samples", [None, 40])
def test_sampled_rows(weights, max_samples):
    """Each tree has exactly its sample."""
    forest = CGForestClassifier(n_estimators=4, max_samples=max_samples, random_state=0)
    assert not hasattr(forest, "estimators_samples_")
    forest.fit(X, Y, weights)
    samples = forest.estimators_samples_
    assert len(samples) == 4
    for tree, rows in zip(forest, samples, strict=True):
        assert len(rows) == (max_samples or len(X))
        assert tree.trees_.n_samples[0] == len(np.unique(rows))
        shares = np.bincount(Y[rows], minlength=3) / len(rows)
        assert tree.trees_.node_values()[0] == pytest.approx(shares, abs=1e-6)
        if weights is not None:
            assert (weights[rows] > 0).all()
    assert any(len(np.unique(rows)) < len(rows) for rows in samples)


def test_sampled_rows_are_in_the_bag():
    """A row that every tree sampled has no out-of-bag estimate."""
    X, y = load_diabetes(return_X_y=True)
    forest = CGForestRegressor(n_estimators=3, oob_score=True, random_state=0)
    with pytest.warns(UserWarning, match="OOB"):
        forest.fit(X, y)
    in_all = set.intersection(*map(set, map(tuple, forest.estimators_samples_)))
    assert set(np.flatnonzero(np.isnan(forest.oob_prediction_))) == in_all


def test_all_rows_without_bootstrap():
    ours = (
        CGForestClassifier(n_estimators=2, bootstrap=False)
        .fit(X, Y)
        .estimators_samples_
    )
    theirs = RandomForestClassifier(2, bootstrap=False).fit(X, Y).estimators_samples_
    assert [a.tolist() for a in ours] == [sorted(a.tolist()) for a in theirs]


def saved_and_loaded(model):
    file = io.BytesIO()
    model.save(file)
    file.seek(0)
    return dics.load(file)


@pytest.mark.parametrize("weights", [None, np.arange(len(X))])
def test_files_have_no_sampled_rows(weights):
    """Predictions do not need them; a pickle has them."""
    forest = CGForestClassifier(n_estimators=3, random_state=0).fit(X, Y, weights)
    loaded = saved_and_loaded(forest)
    with pytest.raises(AttributeError, match="model files do not store"):
        _ = loaded.estimators_samples_
    assert digest(loaded) == digest(forest)
    unpickled = pickle.loads(pickle.dumps(forest))
    for a, b in zip(
        forest.estimators_samples_, unpickled.estimators_samples_, strict=True
    ):
        assert (a == b).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [("_n_rows", -1), ("_sample_size", 2.5), ("_sampling_weights", "no")],
)
def test_contradictory_samples_are_rejected(name, value):
    forest = CGForestClassifier(n_estimators=2, random_state=0).fit(
        X, Y, np.arange(len(X))
    )
    setattr(forest, name, value)
    content = pickle.dumps(forest)
    with pytest.raises(ValueError, match=r"^Invalid model: the "):
        pickle.loads(content)


def test_first_arguments_by_position():
    """Use the order of scikit-learn; trees have none."""
    assert CGForestClassifier(n_estimators=7).n_estimators == 7
    assert CGForestRegressor(n_estimators=7).n_estimators == 7
    with pytest.raises(TypeError):
        CGTreeClassifier("gini")

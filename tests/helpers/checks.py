"""Assertions and helpers of several test files."""

import hashlib
import io
from typing import ClassVar

import numpy as np

from dics import GOSS, CategoricalOptions
from dics._dictionary import Dictionary
from dics.candidates import BaseCandidates

ARRAYS = (
    "feature",
    "threshold",
    "left",
    "missing_left",
    "n_samples",
    "weight",
    "leaf_values",
    "node_starts",
    "leaf_starts",
)

# Parameters of a forest without trials, which other tests compare with a reference.
UNTRIED = {"max_features": "sqrt", "splitter": "best", "min_samples_leaf": 1}


class GivenCandidates(BaseCandidates):
    """Candidates from given thresholds: one sorted array per feature."""

    _parameter_constraints: ClassVar[dict] = {}

    def __init__(self, thresholds=(), *, random_state=None, n_jobs=None):
        self.thresholds = thresholds
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _make_dictionary(self, data):
        taus = [np.asarray(tau, dtype=np.float64) for tau in self.thresholds]
        offsets = np.cumsum([0] + [len(tau) for tau in taus]).astype(np.int64)
        return Dictionary(np.concatenate(taus), offsets)


def changed_parameters(model):
    """Return the parameters without defaults; objects as their parameters."""
    default = type(model)().get_params(deep=False)
    set_ = model.get_params(deep=False)
    changed = {name: set_[name] for name in set_ if set_[name] != default[name]}
    return {
        name: value.get_params() if hasattr(value, "get_params") else value
        for name, value in changed.items()
    }


def check_sound(candidates, n_features):
    """Check the properties of thresholds for any data."""
    assert len(candidates.thresholds_) == n_features
    for f, tau in enumerate(candidates.thresholds_):
        assert tau.dtype == np.float64
        assert len(tau) == candidates.n_thresholds_[f] <= 254
        assert not np.isnan(tau).any()
        assert (tau[1:] > tau[:-1]).all()


def same_tree(fitted, expected, n_rows=None):
    """Check that a fitted tree equals the tree of the reference.

    `n_rows` is the weight of its root: the number of rows or the sample size.
    """
    trees = fitted.trees_
    for name in ("feature", "threshold", "left", "missing_left", "n_samples"):
        np.testing.assert_array_equal(
            getattr(trees, name), getattr(expected, name), err_msg=name
        )
    np.testing.assert_allclose(trees.leaf_values, expected.leaf_values, atol=1e-6)
    mean = expected.weight[0] / (n_rows or expected.n_samples[0])
    np.testing.assert_allclose(trees.weight, expected.weight / mean, rtol=1e-5)


def same_bytes(one, other):
    """Check that two fitted models are bit-identical."""
    for name in (*ARRAYS, "impurity", "gain"):
        a, b = getattr(one.trees_, name), getattr(other.trees_, name)
        assert a.dtype == b.dtype, name
        assert a.shape == b.shape, name
        assert a.tobytes() == b.tobytes(), name


def file_bytes(model):
    """Return the bytes of a model file."""
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def digest(*fitted):
    """Return a digest of all bytes of fitted models or candidates."""
    sha = hashlib.sha256()
    for estimator in fitted:
        if hasattr(estimator, "trees_"):
            for name in ARRAYS:
                sha.update(getattr(estimator.trees_, name).tobytes())
            estimator = estimator.candidates_
        for name in ("centroids_", "scales_", "pairs_"):
            if hasattr(estimator, name):
                sha.update(np.ascontiguousarray(getattr(estimator, name)).tobytes())
        for tau in estimator.thresholds_:
            sha.update(tau.tobytes())
    return sha.hexdigest()


def write_spambase(directory, X, y):
    """Write a file that load_dataset reads as Spambase."""
    (directory / "spambase").mkdir(exist_ok=True)
    np.savez(directory / "spambase" / "spambase.npz", X=X, y=y)


def make(cls, **parameters):
    """Make an estimator; options of its groups can have their short names."""
    model = cls()
    groups = {"categorical": CategoricalOptions(), "advanced": model._options}
    if hasattr(model, "sampling"):
        groups["sampling"] = GOSS()
    grouped = {
        name: f"{group}__{name}"
        for group, options in groups.items()
        for name in options.get_params()
    }
    return model.set_params(**{grouped.get(k, k): v for k, v in parameters.items()})


def training_data(model, X, y, sample_weight=None):
    """Return the training data of a fit, with its columns of pairs."""
    checked = model._check_input(X, y, sample_weight)
    pairs = "categorical.pairs" not in model._unsupported and model._categorical.pairs
    return model._training_data(checked, takes_pairs=pairs)

"""BDTKSClassifier, compared with its reference, and through the API."""

import pickle
import sys

import numpy as np
import pytest
import reference_baselines as reference
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import train_test_split
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from dics._boosting.rows import hold_out
from dics_paper.baselines import _bisect
from dics_paper.baselines._bdtks import LAMBDAS, BDTKSClassifier
from dics_paper.baselines._bisect import NodeRows, bisect, first_component
from dics_paper.baselines._bisecting_tree import ALWAYS, NEVER, stop_bound


def noisy(n_rows, n_features, n_classes, seed):
    return make_classification(
        n_rows,
        n_features,
        n_informative=n_features,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        flip_y=0.2,
        random_state=seed,
    )


@pytest.fixture
def exact_components(monkeypatch):
    """Run Lanczos to the end: 2-means may depend on its start."""
    monkeypatch.setattr(_bisect, "RESIDUAL", 1e-6)
    monkeypatch.setattr(_bisect, "MOST_STEPS", 60)


def same_partition(fitted, root, X):
    """Check that leaves have the same rows as those of the reference."""
    leaves = fitted.apply(X)
    found = sorted(np.flatnonzero(leaves == leaf).tolist() for leaf in set(leaves))
    assert found == sorted(leaf.rows.tolist() for leaf in root.leaves())


def same_model(one, other):
    for name in ("left", "depth", "counts", "normals", "offsets"):
        a, b = getattr(one.tree_, name), getattr(other.tree_, name)
        assert a.dtype == b.dtype, name
        assert a.tobytes() == b.tobytes(), name
    assert one.lambda_ == other.lambda_


# --- compared with the reference ------------------------------------------------------


@pytest.mark.quick(20)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shape", [(40, 3), (150, 5), (400, 4), (70, 60), (200, 60)])
@pytest.mark.parametrize("reg_lambda", [0, 0.05, 3.0])
@pytest.mark.usefixtures("exact_components")
def test_tree_of_the_reference(shape, reg_lambda, seed):
    X, y = noisy(*shape, 3, seed)
    root = reference.grow(X, y, 3, reg_lambda)
    fitted = BDTKSClassifier(reg_lambda=reg_lambda).fit(X, y)
    same_partition(fitted, root, X)
    assert fitted.get_n_leaves() == len(root.leaves())
    assert fitted.get_depth() == root.depth
    new = noisy(*shape, 3, seed + 100)[0]
    np.testing.assert_array_equal(fitted.predict(new), reference.predict(root, new))
    shares = fitted.predict_proba(new)
    for x, share in zip(new[:20], shares, strict=False):
        counts = reference.find_leaf(root, x).counts
        np.testing.assert_allclose(share, counts / counts.sum())


@pytest.mark.parametrize(
    "parameters", [{"max_depth": 3}, {"max_iter": 1}, {"max_iter": 2}, {"tol": 0.5}]
)
@pytest.mark.parametrize("seed", range(3))
def test_parameters_of_the_reference(parameters, seed):
    X, y = noisy(200, 4, 2, seed)
    root = reference.grow(X, y, 2, 0.0, **parameters)
    fitted = BDTKSClassifier(reg_lambda=0.0, **parameters).fit(X, y)
    same_partition(fitted, root, X)
    assert fitted.n_iter_ <= parameters.get("max_iter", 100)


@pytest.mark.usefixtures("exact_components")
@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.int16])
def test_narrow_types(dtype):
    X, y = noisy(300, 60, 3, 0)
    X = np.round(255 * (X - X.min()) / np.ptp(X)).astype(dtype)
    root = reference.grow(X, y, 3, 0.05)
    fitted = BDTKSClassifier(reg_lambda=0.05).fit(X, y)
    same = fitted.predict(X) == reference.predict(root, X)
    assert same.mean() > 0.98  # integers: some distances are equal
    assert fitted.tree_.normals.dtype == np.float32


def test_any_blocks_and_copies(monkeypatch):
    """Use one block, many blocks, and a new copy for each step."""
    X, y = noisy(400, 8, 3, 0)
    whole = BDTKSClassifier(reg_lambda=0.1).fit(X, y)
    monkeypatch.setattr(_bisect, "BLOCK_BYTES", 20 * 8 * 8)
    blocks = BDTKSClassifier(reg_lambda=0.1).fit(X, y)
    monkeypatch.setattr(_bisect, "GATHERED_BYTES", 0)
    uncopied = BDTKSClassifier(reg_lambda=0.1).fit(X, y)
    same_model(blocks, uncopied)
    np.testing.assert_array_equal(whole.tree_.left, blocks.tree_.left)
    np.testing.assert_array_equal(whole.apply(X), blocks.apply(X))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("shape", [(100, 6), (20, 6), (100, 80), (20, 80)])
def test_component(shape, seed):
    """Compute it from inner products of columns or rows, and by Lanczos."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape) * np.linspace(3, 1, shape[1]) + 10
    found = first_component(NodeRows(X, np.arange(len(X))))
    exact = reference.first_component(X)
    assert abs(found @ exact) > 0.99
    spread, largest = (X @ found).var(), (X @ exact).var()
    assert spread == pytest.approx(largest, rel=1e-2)
    assert found[np.abs(found).argmax()] > 0


def test_hyperplane_is_halfway_between_centroids():
    X, _ = noisy(300, 5, 2, 1)
    cut = bisect(X, np.arange(300), 100, 0.0)
    left, right = X[~cut.right].mean(axis=0), X[cut.right].mean(axis=0)
    length = np.linalg.norm(right - left)
    np.testing.assert_allclose(cut.normal, (right - left) / length)
    np.testing.assert_allclose(cut.offset, (right @ right - left @ left) / 2 / length)
    np.testing.assert_array_equal(X @ cut.normal > cut.offset, cut.right)


# --- where to stop --------------------------------------------------------------------


def test_stop_bound_by_hand():
    totals = np.array([50, 30, 20])
    assert stop_bound(np.array([0, 7, 0]), totals) == ALWAYS
    # 5 of 10 is the fraction of class 0 in all rows, which is not enough.
    assert stop_bound(np.array([5, 3, 2]), totals) == NEVER
    # 6 of 10: class 1 has 3 * 10 / 30, class 2 has 1 * 10 / 20.
    assert stop_bound(np.array([6, 3, 1]), totals) == 1.0
    # A majority that is rare in other rows; the first of equal classes is the majority.
    assert stop_bound(np.array([1, 0, 3]), totals) == 4 / 50
    assert stop_bound(np.array([0, 2, 2]), totals) == 2 * 4 / 20
    assert stop_bound(totals, totals) == NEVER


def test_stop_rule_by_hand():
    """Clusters 0 to 3 and 10 to 13, the first with one row of the other class."""
    X = np.array([0.0, 1, 2, 3, 10, 11, 12, 13])[:, None]
    y = np.array([0, 0, 0, 1, 1, 1, 1, 1])
    # 0 to 3 is a leaf if 1 * 4 < 5 lambda, and if not, then 2 to 3 is if 1 * 2 < 5
    # lambda: 0 is the majority of two equal classes.
    for reg_lambda, n_leaves in [(0.4, 4), (0.41, 3), (0.8, 3), (0.81, 2), (99, 2)]:
        fitted = BDTKSClassifier(reg_lambda=reg_lambda).fit(X, y)
        assert fitted.get_n_leaves() == n_leaves
        assert fitted.lambda_ == reg_lambda
        assert fitted.holdout_scores_ is None
        share = {4: 1.0, 3: 0.5, 2: 0.25}[n_leaves]
        np.testing.assert_allclose(fitted.predict_proba(X)[3, 1], share)


def test_larger_lambda_smaller_tree():
    X, y = noisy(500, 5, 4, 0)
    sizes = [BDTKSClassifier(reg_lambda=v).fit(X, y).get_n_leaves() for v in LAMBDAS]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 2 * sizes[-1]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("max_depth", [None, 4])
def test_holdout_is_a_loop_over_lambdas(seed, max_depth):
    X, y = noisy(400, 5, 3, seed)
    fitted = BDTKSClassifier(random_state=seed, max_depth=max_depth).fit(X, y)
    kept, held = hold_out(np.arange(400), y.astype(np.uint32), 0.25, seed)
    assert len(held) == 100
    scores = [
        BDTKSClassifier(reg_lambda=value, max_depth=max_depth)
        .fit(X[kept], y[kept])
        .score(X[held], y[held])
        for value in LAMBDAS
    ]
    np.testing.assert_allclose(fitted.holdout_scores_, scores)
    best = max(
        value for value, s in zip(LAMBDAS, scores, strict=True) if s == max(scores)
    )
    assert fitted.lambda_ == best
    given = BDTKSClassifier(reg_lambda=best, max_depth=max_depth).fit(X, y)
    same_model(fitted, given)


def test_class_of_one_row_can_be_held_out():
    X, y = noisy(60, 4, 2, 0)
    y[0] = 7
    for seed in range(8):
        fitted = BDTKSClassifier(random_state=seed).fit(X, y)
        assert fitted.classes_.tolist() == [0, 1, 7]


# --- guards ---------------------------------------------------------------------------


@pytest.mark.parametrize("reg_lambda", ["holdout", 0.0, 5.0])
@pytest.mark.parametrize("n_rows", [2, 5, 30, 100])
def test_identical_rows(n_rows, reg_lambda):
    X = np.full((n_rows, 3), 0.1, dtype=np.float32)
    y = np.arange(n_rows) % 2
    fitted = BDTKSClassifier(reg_lambda=reg_lambda, random_state=0).fit(X, y)
    assert fitted.get_n_leaves() == 1
    assert fitted.get_depth() == 0
    np.testing.assert_allclose(fitted.predict_proba(X)[0, 1], y.mean())


@pytest.mark.parametrize("repeats", [1, 3, 200])
@pytest.mark.parametrize("gap", [1.0, 1e-7])
def test_two_distinct_rows(repeats, gap):
    X = np.repeat([[1.0, 1.0], [1.0, 1.0 + gap]], [1, repeats], axis=0)
    y = np.repeat([0, 1], [1, repeats])
    fitted = BDTKSClassifier(reg_lambda=0.0).fit(X, y)
    assert fitted.get_n_leaves() == 2
    assert fitted.score(X, y) == 1


def test_neighboring_floats():
    """The midpoint of two very close centroids equals one of them."""
    for dtype in (np.float32, np.float64):
        low = dtype(1)
        X = np.array([[low], [np.nextafter(low, dtype(2))]] * 40)
        y = np.array([0, 1] * 40)
        for n_rows in (2, 10, 80):
            fitted = BDTKSClassifier(reg_lambda=0.0).fit(X[:n_rows], y[:n_rows])
            assert fitted.score(X, y) == 1


@pytest.mark.parametrize("reg_lambda", ["holdout", 1.0])
def test_one_row_and_one_class(reg_lambda):
    one = BDTKSClassifier(reg_lambda=reg_lambda).fit([[1.0, 2.0]], ["a"])
    assert one.predict([[5.0, 5.0]]).tolist() == ["a"]
    X, _ = noisy(50, 3, 2, 0)
    same = BDTKSClassifier(reg_lambda=reg_lambda).fit(X, np.full(50, 3))
    assert same.get_n_leaves() == 1
    assert (same.predict_proba(X) == 1).all()
    if reg_lambda == "holdout":
        assert same.lambda_ == 1000
        assert (same.holdout_scores_ == 1).all()


@pytest.mark.parametrize("n_rows", [30, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_constant_columns(n_rows, dtype):
    """They must not matter, even if their mean is rounded."""
    X, y = noisy(n_rows, 4, 2, 0)
    X = X.astype(dtype)
    wide = np.column_stack([np.full(n_rows, 123456.7, dtype), X])
    plain = BDTKSClassifier(reg_lambda=0.1).fit(X, y)
    fitted = BDTKSClassifier(reg_lambda=0.1).fit(wide, y)
    assert (fitted.tree_.normals[:, 0] == 0).all()
    np.testing.assert_allclose(
        fitted.tree_.normals[:, 1:], plain.tree_.normals, atol=1e-5
    )
    np.testing.assert_array_equal(fitted.tree_.left, plain.tree_.left)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [30, 300])
def test_scales(n_rows, dtype):
    """Scaling by a power of two has no effect, up to the limits of the type."""
    X, y = noisy(n_rows, 60, 2, 0)
    X = (X / np.abs(X).max()).astype(dtype)
    plain = BDTKSClassifier(reg_lambda=0.1).fit(X, y)
    info = np.finfo(dtype)
    exponents = (info.minexp // 2, info.minexp + 30, info.maxexp // 2, info.maxexp - 5)
    for exponent in exponents:
        scaled = np.ldexp(X, exponent)
        fitted = BDTKSClassifier(reg_lambda=0.1).fit(scaled, y)
        np.testing.assert_array_equal(fitted.tree_.left, plain.tree_.left)
        np.testing.assert_array_equal(fitted.predict(scaled), plain.predict(X))


def test_rows_at_both_ends_of_the_range():
    most = np.finfo(np.float64).max
    for n_rows in (4, 100):
        X = np.linspace(-1, 1, n_rows)[:, None] * most
        y = (X[:, 0] > 0).astype(int)
        assert BDTKSClassifier(reg_lambda=0.0).fit(X, y).score(X, y) == 1


@pytest.mark.parametrize("n_rows", [30, 100])
def test_tiny_differences_next_to_a_huge_constant(n_rows):
    X = np.full((n_rows, 2), 1e300)
    X[:, 1] = 1e-200 * np.arange(n_rows)
    y = (np.arange(n_rows) < n_rows // 2).astype(int)
    fitted = BDTKSClassifier(reg_lambda=0.0).fit(X, y)
    assert fitted.score(X, y) == 1


def test_rows_beyond_the_training_rows():
    X, y = noisy(100, 4, 2, 0)
    fitted = BDTKSClassifier(random_state=0).fit(X.astype(np.float32), y)
    far = np.full((3, 4), np.finfo(np.float32).max)
    assert set(fitted.predict(far)) <= {0, 1}


def test_300_classes():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(300), 4)
    X = rng.normal(size=(300, 8))[y] + 0.01 * rng.normal(size=(1200, 8))
    fitted = BDTKSClassifier(random_state=0).fit(X, y)
    assert fitted.predict_proba(X[:5]).shape == (5, 300)
    assert fitted.score(X, y) > 0.95


def test_deep_chain():
    """Each row is an outlier compared with all smaller ones."""
    n_rows = 2100
    X = np.zeros((n_rows, 4))
    number = np.arange(n_rows)
    X[number, number % 4] = np.ldexp(1.0, number // 2 - n_rows // 4)
    y = number % 3
    fitted = BDTKSClassifier(reg_lambda=0.0).fit(X, y)
    assert fitted.get_depth() > max(2000, sys.getrecursionlimit())
    assert fitted.score(X, y) == 1
    copied = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copied.predict(X), y)


# --- as a classifier ------------------------------------------------------------------


@parametrize_with_checks([BDTKSClassifier(), BDTKSClassifier(reg_lambda=0.1)])
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", ["predict", "predict_proba"])
def test_predictions_need_a_fit(name):
    with pytest.raises(NotFittedError):
        getattr(BDTKSClassifier(), name)([[0.0]])


def test_predictions_agree():
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    model = BDTKSClassifier(random_state=0).fit(X, names)
    p = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])


def test_digits():
    X, y = load_digits(return_X_y=True)
    X, new, y, new_y = train_test_split(X, y, random_state=0, stratify=y)
    fitted = BDTKSClassifier(random_state=0).fit(X, y)
    assert fitted.score(new, new_y) > 0.9
    small = BDTKSClassifier(random_state=0).fit(X.astype(np.uint8), y)
    assert small.score(new.astype(np.uint8), new_y) > 0.9


def test_same_random_state_same_model():
    X, y = noisy(300, 60, 3, 0)
    first = BDTKSClassifier(random_state=3).fit(X, y)
    same_model(first, clone(first).fit(X, y))
    with threadpool_limits(1):
        same_model(first, clone(first).fit(X, y))
    given = BDTKSClassifier(random_state=np.random.RandomState(3)).fit(X, y)
    again = BDTKSClassifier(random_state=np.random.RandomState(3)).fit(X, y)
    same_model(given, again)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_read_only_memmap(tmp_path, dtype):
    X, y = noisy(300, 5, 3, 0)
    X = (20 * (X - X.min())).astype(dtype)
    path = tmp_path / "X.npy"
    np.save(path, X)
    mapped = np.load(path, mmap_mode="r")
    plain = BDTKSClassifier(random_state=0).fit(X, y)
    fitted = BDTKSClassifier(random_state=0).fit(mapped, y)
    same_model(plain, fitted)
    np.testing.assert_array_equal(fitted.predict(mapped), plain.predict(X))


@pytest.mark.parametrize("order", ["C", "F"])
def test_input_is_unchanged(order):
    X, y = noisy(300, 5, 3, 0)
    X = np.array(X, order=order)
    before = X.copy()
    fitted = BDTKSClassifier(random_state=0).fit(X, y)
    fitted.predict(X)
    np.testing.assert_array_equal(X, before)
    same_model(fitted, BDTKSClassifier(random_state=0).fit(X.copy(order="C"), y))


def test_pickle():
    X, y = noisy(200, 5, 3, 0)
    fitted = BDTKSClassifier(random_state=0).fit(X, y)
    copied = pickle.loads(pickle.dumps(fitted))
    same_model(fitted, copied)
    np.testing.assert_array_equal(copied.predict_proba(X), fitted.predict_proba(X))


def test_max_depth():
    X, y = noisy(300, 5, 3, 0)
    for depth in (1, 2, 5):
        fitted = BDTKSClassifier(reg_lambda=0.0, max_depth=depth).fit(X, y)
        assert fitted.get_depth() == depth
        assert fitted.get_n_leaves() <= 2**depth


def test_names_of_columns_and_classes():
    frame = load_iris(as_frame=True)
    X, y = frame.data, frame.target_names[frame.target]
    fitted = BDTKSClassifier(random_state=0).fit(X, y)
    assert fitted.feature_names_in_.tolist() == list(X.columns)
    assert fitted.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert fitted.n_classes_ == 3
    assert fitted.score(X, y) > 0.9
    leaves = fitted.apply(X)
    assert (fitted.tree_.left[leaves] == 0).all()
    np.testing.assert_array_equal(
        np.bincount(leaves),
        fitted.tree_.counts.sum(axis=1)[: leaves.max() + 1]
        * (fitted.tree_.left[: leaves.max() + 1] == 0),
    )


@pytest.mark.parametrize(
    "parameters",
    [
        {"reg_lambda": "foo"},
        {"reg_lambda": -1},
        {"reg_lambda": None},
        {"max_depth": 0},
        {"max_iter": 0},
        {"tol": -1.0},
        {"validation_fraction": 0.0},
        {"validation_fraction": 1.0},
        {"random_state": "foo"},
    ],
)
def test_bad_parameters(parameters):
    X, y = noisy(30, 3, 2, 0)
    name = next(iter(parameters))
    with pytest.raises(ValueError, match=f"The '{name}' parameter of BDTKSClassifier"):
        BDTKSClassifier(**parameters).fit(X, y)


def test_no_rows_to_grow_from():
    with pytest.raises(ValueError, match=r"validation_fraction=0\.9 of 3 rows"):
        BDTKSClassifier(validation_fraction=0.9).fit([[0], [1], [2]], [0, 1, 0])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_must_be_finite(bad):
    X, y = noisy(30, 3, 2, 0)
    fitted = BDTKSClassifier(random_state=0).fit(X, y)
    X[3, 1] = bad
    word = "NaN" if np.isnan(bad) else "infinity"
    with pytest.raises(ValueError, match=f"X contains {word}"):
        BDTKSClassifier().fit(X, y)
    with pytest.raises(ValueError, match=f"X contains {word}"):
        fitted.predict(X)

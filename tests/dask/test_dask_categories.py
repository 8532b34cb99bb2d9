"""Categorical features in Dask collections."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

pytest.importorskip("distributed")

import dask
import dask.array as da
import dask.dataframe as dd
from checks import file_bytes
from dask_cases import (
    CategoryCase,
    as_dask,
    cluster_of,
    differing,
    frame_of,
    random_cases,
)

import dics
import dics.dask
from dics._input.frames import CategoricalColumn
from dics.dask._collection import united

N_ROWS = 500
CHUNKS = (130, 0, 1, 200, 169)
WORDS = np.array([f"w{i}" for i in range(40)], dtype=object)
RNG = np.random.default_rng(0)
COLOR, WORD, OTHER = (RNG.integers(0, n, N_ROWS) for n in (4, 40, 40))
SCORE = RNG.normal(size=N_ROWS) * 0.2 + (COLOR == 2) + 2.0 * ((WORD + OTHER) % 2)
FRAME = pd.DataFrame(
    {
        "color": pd.Categorical(np.array(["red", "green", "blue", "gray"])[COLOR]),
        "x": SCORE + RNG.normal(size=N_ROWS),
        "word": WORDS[WORD],
        "other": WORDS[OTHER],
    }
)
FRAME.loc[::11, "word"] = None
NUMBERS = np.stack([COLOR, SCORE, WORD, OTHER], axis=1)
NAMES = [name[4:] for name in dics.dask.__all__ if name.startswith("Dask")]


def y_of(name):
    return np.digitize(SCORE, [0.5, 1.5]) if "Classifier" in name else SCORE


def models(name, **more):
    """Return the same model for one machine and for a cluster."""
    own = {"random_state": 0} | ({} if "Tree" in name else {"n_estimators": 4}) | more
    return getattr(dics, name)(**own), getattr(dics.dask, f"Dask{name}")(**own)


@pytest.mark.parametrize(("n_workers", "seeds"), random_cases((3,), (2, 4), 25))
def test_same_model_files_as_on_one_machine(n_workers, seeds):
    with cluster_of(n_workers):
        assert differing(seeds, CategoryCase) == []


def test_sets_of_discarded_splits(client):
    """Workers split likely nodes early; some of these become leaves."""
    rng = np.random.default_rng(2)
    categories, x = rng.integers(0, 20, (6000, 3)), rng.normal(size=(6000, 3))
    effects = rng.normal(size=(3, 20))[range(3), categories]
    # The sets depend on the sign of a number.
    y = (effects * np.sign(x)).sum(axis=1) + 0.3 * rng.normal(size=6000)
    X = np.hstack([categories, x])
    own = {
        "max_leaf_nodes": 10,
        "categorical_features": [0, 1, 2],
        "categorical": dics.CategoricalOptions(l2=1.0),
    }
    local, model = models("CGBoostingRegressor", n_estimators=15, **own)
    model.fit(da.from_array(X, chunks=(2000, 6)), y)
    assert file_bytes(model) == file_bytes(local.fit(X, y))
    pickle.loads(pickle.dumps(model))  # a leaf with a set would raise an error


def test_same_sets_as_on_one_machine(client):
    rng = np.random.default_rng(3)
    categories, x = rng.integers(0, 8, (2000, 2)), rng.normal(size=(2000, 2))
    y = (2 * rng.normal(size=8)[categories] * np.sign(x)).sum(axis=1)
    y += 0.3 * rng.normal(size=2000)
    X = np.hstack([categories, x])
    for name in NAMES:
        if "Boosting" in name:
            continue
        target = y if "Regressor" in name else np.digitize(y, [-1, 1])
        for own in ({}, {"max_samples": 0.5})[: 1 + ("Forest" in name)]:
            local, model = models(name, categorical_features=[0, 1], **own)
            expected = file_bytes(local.fit(X, target))
            assert len(local.trees_.sets.words) > 5
            model.fit(da.from_array(X, chunks=(700, 4)), target)
            assert file_bytes(model) == expected, (name, own)


# --- collections ----------------------------------------------------------------------


def objects_of(frame, convert_from=0):
    """Return objects without text in the first rows."""
    objects = frame.astype(object)
    objects.loc[: convert_from - 1, "word"] = None
    return objects


def unconverted(frame):
    """Return a Dask data frame with object columns, not converted to strings."""
    with dask.config.set({"dataframe.convert-string": False}):
        return as_dask(frame, CHUNKS)


def with_numbers_first():
    """Return objects with numeric text in the first partition."""
    objects = FRAME.astype(object)
    objects.loc[:99, "word"] = "7"
    return objects


def collections():
    """Return triples of a local X, the same X in partitions, and the categories."""
    objects = objects_of(FRAME, 131)
    narrow, byte = NUMBERS.astype("f4"), NUMBERS.clip(0, 255).astype("u1")
    text = NUMBERS.astype("U8")
    return {
        "known categories": (FRAME, dd.from_pandas(FRAME, npartitions=3)),
        "own categories": (FRAME, as_dask(FRAME, CHUNKS)),
        "objects without text": (objects, unconverted(objects)),
        "objects that look like numbers": (
            with_numbers_first(),
            unconverted(with_numbers_first()),
        ),
        "array of objects": (
            objects.to_numpy(),
            as_dask(objects.to_numpy(), CHUNKS),
        ),
        "chunks of columns": (
            objects.to_numpy(),
            da.from_array(objects.to_numpy(), chunks=(150, 2)),
        ),
        "names": (FRAME, as_dask(FRAME, CHUNKS), ["color", "word", "other"]),
        "mask": (NUMBERS, as_dask(NUMBERS, CHUNKS), [True, False, True, True]),
        "single precision": (narrow, as_dask(narrow, CHUNKS), [0, 2]),
        "bytes": (byte, as_dask(byte, CHUNKS), [2]),
        "array of text": (text, as_dask(text, CHUNKS), [0, 1, 2, 3]),
        "unknown chunks": (
            NUMBERS,
            as_dask(NUMBERS, CHUNKS)[da.from_array(np.full(N_ROWS, True), CHUNKS[0])],
            [2, 3],
        ),
        "none": (NUMBERS, as_dask(NUMBERS, CHUNKS), None),
    }


@pytest.mark.quick(6)
@pytest.mark.parametrize("kind", collections())
def test_kinds_of_collections(client, kind):
    here, given, *wanted = collections()[kind]
    more = {"categorical_features": wanted[0]} if wanted else {}
    for name in ("CGBoostingRegressor", "CGTreeClassifier"):
        local, model = models(name, **more)
        local.fit(here, y_of(name))
        model.fit(given, y_of(name))
        assert (local._categories is None) == (kind == "none")
        assert file_bytes(model) == file_bytes(local)
        np.testing.assert_array_equal(
            model.predict(given).compute(), local.predict(here)
        )


def test_rows_have_pairs_and_means():
    """Check that the rows of the other tests have pairs and mean targets."""
    model, _ = models("CGBoostingRegressor")
    model.fit(FRAME, SCORE)
    assert [c.is_ranked for c in model._categories.columns] == [True, False, False]
    assert [(pair.first, pair.second) for pair in model._categories.pairs] == [(2, 3)]


def test_validation_rows_with_new_categories(client):
    held = FRAME[:90].assign(word="new", color=pd.Categorical(["blue", None, "x"] * 30))
    local, model = models("CGBoostingRegressor", early_stopping=True)
    sets = [(FRAME[100:], SCORE[100:]), (held, SCORE[:90])]
    local.fit(FRAME, SCORE, eval_set=sets)
    lazy = [(dd.from_pandas(rows, npartitions=2), y) for rows, y in sets]
    model.fit(as_dask(FRAME, CHUNKS), SCORE, eval_set=lazy)
    assert file_bytes(model) == file_bytes(local)


@pytest.mark.quick(2)
@pytest.mark.parametrize("name", [n for n in NAMES if "Tree" not in n])
def test_warm_start_with_other_categories(client, name):
    """The model keeps the encodings of its first fit."""
    other = FRAME.assign(word=np.roll(FRAME["word"], 3), color=FRAME["color"][::-1])
    other.loc[:40, "other"] = "new"
    local, model = models(name, warm_start=True)
    y = y_of(name)
    local.fit(FRAME, y).set_params(n_estimators=7).fit(other, y)
    model.fit(as_dask(FRAME, CHUNKS), y)
    model.set_params(n_estimators=7).fit(as_dask(other, CHUNKS), y)
    assert file_bytes(model) == file_bytes(local)


def test_refit_replaces_categories(client):
    local, model = models("CGTreeRegressor")
    model.fit(as_dask(FRAME, CHUNKS), SCORE).fit(as_dask(NUMBERS, CHUNKS), SCORE)
    assert file_bytes(model) == file_bytes(local.fit(NUMBERS, SCORE))


def test_both_zeros_are_one_category(client):
    rows = np.where(COLOR == 0, -0.0, np.where(COLOR == 1, 0.0, COLOR))[:, None]
    own = {"categorical_features": [0]}
    for given in (rows, rows[::-1]):
        local, model = models("CGTreeRegressor", **own)
        local.fit(given, SCORE)
        assert not np.signbit(local.categories_[0]).any()
        model.fit(as_dask(given, CHUNKS), SCORE)
        assert file_bytes(model) == file_bytes(local)


def test_united_categories():
    parts = [
        CategoricalColumn(np.array(["b", "d"], dtype=object), np.array([1, -1, 0])),
        None,
        CategoricalColumn(np.array([], dtype=object), np.array([-1])),
        CategoricalColumn(np.array(["a", "b"], dtype=object), np.array([0, 1])),
    ]
    column = united("name", parts)
    assert column.categories.tolist() == ["a", "b", "d"]
    assert column.indices.tolist() == [2, -1, 1, -1, 0, 1]
    assert column.indices.dtype == np.int8
    assert united("name", parts[2:3]).categories.dtype == object


# --- predictions ----------------------------------------------------------------------


@pytest.mark.quick(1)
@pytest.mark.parametrize(
    ("name", "methods"),
    [
        (
            "CGBoostingClassifier",
            ["predict", "predict_proba", "apply", "predict_contributions"],
        ),
        ("CGForestRegressor", ["predict", "apply", "predict_quantiles"]),
        ("CGTreeClassifier", ["predict", "predict_proba", "decision_path"]),
    ],
)
def test_predictions(client, name, methods):
    new = FRAME.assign(word="new")
    objects = new.to_numpy(dtype=object)
    for rows, lazy in (
        (new, frame_of([new[:0], new[:7], new[7:]])),
        (objects, as_dask(objects, CHUNKS)),
    ):
        local, model = models(name)
        fitted = FRAME if rows is new else FRAME.to_numpy(dtype=object)
        local.fit(fitted, y_of(name))
        model.fit(as_dask(fitted, CHUNKS), y_of(name))
        for method in methods:
            found = getattr(model, method)(lazy).compute()
            expected = getattr(local, method)(rows)
            if method == "decision_path":
                found, expected = found.toarray(), expected.toarray()
            np.testing.assert_array_equal(found, expected)
        assert model.score(lazy, y_of(name)) == pytest.approx(
            local.score(rows, y_of(name))
        )


def test_staged_predictions(client):
    local, model = models("CGBoostingRegressor")
    local.fit(FRAME, SCORE)
    given = as_dask(FRAME, CHUNKS)
    stages = model.fit(given, SCORE).staged_predict(given)
    for found, expected in zip(stages, local.staged_predict(FRAME), strict=True):
        np.testing.assert_array_equal(found.compute(), expected)
    np.testing.assert_array_equal(
        model.predict(given, n_rounds=2).compute(), local.predict(FRAME, n_rounds=2)
    )


def test_predictions_reject_other_kinds_of_categories(client):
    _, model = models("CGTreeRegressor")
    model.fit(as_dask(FRAME, CHUNKS), SCORE)
    said = r"'word' has categories that are numbers.* in fit they were text"
    with pytest.raises(ValueError, match=said):
        model.predict(dd.from_pandas(FRAME.assign(word=1), npartitions=2)).compute()
    _, model = models("CGTreeRegressor")
    model.fit(as_dask(FRAME.to_numpy(dtype=object), CHUNKS), SCORE)
    with pytest.raises(ValueError, match="has categories that are numbers"):
        model.predict(as_dask(NUMBERS, CHUNKS))  # not lazily


# --- bad input ------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["CGBoostingClassifier", "CGTreeRegressor"])
@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ([4], "column 4, X has columns 0 to 3"),
        ([-1], "column -1"),
        ([True, False], "mask of 2 entries, X has 4 columns"),
        (["shape"], r"'shape', which X does not have.*'color', 'x', 'word', 'other'"),
        ([1.5], r"got 1\.5 of type float"),
        (
            None,
            r"partition \d of X: column '\w+' holds text, .*in categorical_features",
        ),
        (["x"], r"partition . of X: column '\w+' holds text"),
    ],
)
def test_bad_columns(client, name, wanted, message):
    _, model = models(name, categorical_features=wanted)
    with pytest.raises(ValueError, match=message):
        model.fit(as_dask(FRAME, CHUNKS), y_of(name))


def test_partitions_without_the_column(client):
    given = dd.from_delayed(
        [dask.delayed(FRAME[:9]), dask.delayed(FRAME[9:].iloc[:, :2])],
        meta=as_dask(FRAME, CHUNKS)._meta,
        verify_meta=False,
    )
    _, model = models("CGTreeRegressor")
    with pytest.raises(ValueError, match="partition 1 of X has 2 columns"):
        model.fit(given, SCORE)


def test_sparse_collections_have_no_categories(client):
    blocks = as_dask(NUMBERS, CHUNKS).map_blocks(scipy.sparse.csr_array)
    _, model = models("CGTreeRegressor", categorical_features=[2])
    with pytest.raises(ValueError, match="names columns of a sparse X"):
        model.fit(blocks, SCORE)


def test_names_need_a_frame(client):
    _, model = models("CGTreeRegressor", categorical_features=["a"])
    with pytest.raises(ValueError, match="no column names"):
        model.fit(as_dask(NUMBERS, CHUNKS), SCORE)


def test_bad_categories(client):
    _, model = models("CGTreeRegressor", categorical_features=[2])

    def fit(words):
        rows = NUMBERS.astype(object)
        rows[:, 2] = words
        model.fit(as_dask(rows, (300, 200)), SCORE)

    said = r"2 has categories that are text in partition 0, such as 'w0', numbers in"
    with pytest.raises(ValueError, match=said):
        fit([*WORDS[WORD][:300], *range(200)])
    said = r"^partition 1 of X: column 2 has categories of the types int, str;.*astype"
    with pytest.raises(ValueError, match=said):
        fit([*WORDS[WORD][:499], 1])
    with pytest.raises(ValueError, match=r"^partition 1 of X: column 2 .* 2\*\*53"):
        fit([*range(499), 2**60])
    with pytest.raises(ValueError, match=r"^partition . of X: .* cannot be categories"):
        fit([[]] * N_ROWS)


def test_bad_validation_rows(client):
    _, model = models("CGBoostingRegressor")
    given = as_dask(FRAME, CHUNKS)

    def fit(held):
        held = dd.from_pandas(held, npartitions=2)
        model.fit(given, SCORE, X_val=held, y_val=SCORE)

    with pytest.raises(ValueError, match=r"partition 0 of X: .*'word'.*were text"):
        fit(FRAME.assign(word=1))
    with pytest.raises(ValueError, match=r"X_val.* feature names"):
        fit(FRAME.rename(columns={"word": "name"}))
    with pytest.raises(ValueError, match="X_val, y_val: X has no rows"):
        model.fit(given, SCORE, X_val=as_dask(FRAME[:0], (0,)), y_val=SCORE[:0])

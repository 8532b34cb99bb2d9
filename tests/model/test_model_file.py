"""Model files and pickles: the same model again, or a clear error."""

import io
import json
import pickle
import stat
import struct
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import RegressorMixin
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import NotFittedError

import dics
import dics.model
from dics._model.file import MAGIC, NOT_STORED, PREFIX

FOLDER = Path(__file__).parent / "model_files"
X, Y = make_classification(
    200, 6, n_informative=4, n_classes=3, n_clusters_per_class=1, random_state=0
)
X = X.astype(np.float32)
X[::7, 0] = np.nan
T = make_regression(200, 6, n_targets=2, random_state=0)[1]
NAMES = np.array(["red", "green", "blue"], dtype=object)

MODELS = {
    "tree": lambda: dics.CGTreeClassifier(max_depth=4, random_state=0).fit(X, Y),
    "tree of names": lambda: dics.CGTreeClassifier(max_depth=3, random_state=0).fit(
        X, NAMES[Y]
    ),
    "tree regressor": lambda: dics.CGTreeRegressor(max_depth=4, random_state=0).fit(
        X, T[:, 0]
    ),
    "forest": lambda: dics.CGForestClassifier(
        n_estimators=30,
        oob_score=True,
        max_depth=4,
        class_weight={0: 1.0, 1: 2.0, 2: 3},
        random_state=0,
    ).fit(X, Y),
    "forest regressor": lambda: dics.CGForestRegressor(
        n_estimators=4, random_state=0
    ).fit(X, T),
    "boosting": lambda: dics.CGBoostingClassifier(n_estimators=8, random_state=0).fit(
        X, Y
    ),
    "boosting of two": lambda: dics.CGBoostingClassifier(
        n_estimators=8,
        interaction_cst=[{0, 1}, {2, 3}],
        random_state=np.random.RandomState(3),
    ).fit(X, Y == 1),
    "boosting regressor": lambda: dics.CGBoostingRegressor(
        n_estimators=8, random_state=0
    ).fit(X, T, X_val=X, y_val=T),
    "quantiles": lambda: dics.CGBoostingRegressor(
        loss="quantile", quantile=[0.1, 0.9], n_estimators=8, random_state=0
    ).fit(X, T[:, 0]),
    "tweedie": lambda: dics.CGBoostingRegressor(
        loss="tweedie",
        advanced=dics.BoostingOptions(tweedie_power=1.7),
        n_estimators=8,
        random_state=0,
    ).fit(X, np.abs(T[:, 0])),
    "options": lambda: dics.CGBoostingClassifier(
        n_estimators=4,
        sampling=dics.GOSS(top_rate=0.3),
        categorical=dics.CategoricalOptions(smooth=2.0),
        advanced=dics.BoostingOptions(leaf_values="sample"),
        random_state=0,
    ).fit(X, Y),
    "candidates": lambda: dics.CGTreeClassifier(
        candidates=dics.CentroidCandidates(n_pairs=3), random_state=0
    ).fit(X, Y),
}

WEIGHTS = np.random.default_rng(0).random(200) + 0.1
# Revision 4e736fd could write files of these models, but not read them.
ONCE_REFUSED = {
    "leaf limit": lambda: dics.CGTreeRegressor(max_leaf_nodes=20, random_state=0).fit(
        X, T[:, 0]
    ),
    "pruned leaf limit": lambda: dics.CGTreeRegressor(
        max_leaf_nodes=20, ccp_alpha=0.01, random_state=0
    ).fit(X, T[:, 0]),
    "weighted constraint": lambda: dics.CGTreeClassifier(
        monotonic_cst=[0, 1, 0, 0, 0, 0], random_state=0
    ).fit(X, Y == 1, sample_weight=WEIGHTS),
    "large targets": lambda: dics.CGTreeRegressor(random_state=0).fit(X, 1e20 * T),
    "tiny targets": lambda: dics.CGForestRegressor(n_estimators=3, random_state=0).fit(
        X, 1e-30 * T
    ),
    "one class": lambda: dics.CGForestClassifier(
        n_estimators=30,
        monotonic_cst=[1, 0, 0, 0, 0, 0],
        oob_score=True,
        random_state=0,
    ).fit(X, np.zeros(200)),
}


def outputs(model):
    """Return the results of all methods of a model."""
    names = ("predict_proba", "decision_function", "predict", "apply")
    found = [getattr(model, name)(X) for name in names if hasattr(model, name)]
    if hasattr(model, "predict_quantiles"):
        found.append(model.predict_quantiles(X))
    return [*found, model.feature_importances_, model.predict_contributions(X)]


def same_outputs(a, b):
    for mine, other in zip(outputs(a), outputs(b), strict=True):
        np.testing.assert_array_equal(mine, other)


def file_of(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


@pytest.mark.parametrize("name", MODELS | ONCE_REFUSED)
@pytest.mark.parametrize("mmap_mode", [None, "r"])
def test_a_model_comes_back(name, mmap_mode, tmp_path):
    model = (MODELS | ONCE_REFUSED)[name]()
    path = tmp_path / "model.dics"
    model.save(path)
    loaded = dics.load(path, mmap_mode=mmap_mode)
    assert type(loaded) is type(model)
    drawn = {"random_state": None}  # its state is equal, but not its address
    assert repr(loaded.get_params() | drawn) == repr(model.get_params() | drawn)
    assert set(vars(loaded)) | NOT_STORED == set(vars(model)) | NOT_STORED
    same_outputs(model, loaded)
    assert [p.name for p in tmp_path.iterdir()] == ["model.dics"]
    again = pickle.loads(pickle.dumps(loaded))
    same_outputs(model, again)


def test_equal_sets_have_equal_files():
    X = np.random.default_rng(0).normal(size=(60, 9)).round()
    first, second = (
        file_of(
            dics.CGTreeRegressor(categorical_features=wanted, random_state=0).fit(
                X, X[:, 1]
            )
        )
        for wanted in ({0, 8}, {8, 0})  # sets keep the order of colliding values
    )
    assert first == second


def test_warm_start_of_a_loaded_model():
    model = dics.CGBoostingClassifier(
        n_estimators=4, warm_start=True, random_state=0
    ).fit(X, Y)
    loaded = dics.load(io.BytesIO(file_of(model)))
    for grown in (model, loaded):
        grown.set_params(n_estimators=7).fit(X, Y)
    same_outputs(model, loaded)


def test_names_of_features(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    model = dics.CGTreeClassifier(max_depth=3).fit(frame, Y)
    loaded = dics.load(io.BytesIO(file_of(model)))
    assert list(loaded.feature_names_in_) == list("abcdef")
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))


def test_failed_save_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.dics"
    MODELS["tree"]().save(path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("full")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="full"):
        MODELS["forest"]().save(path)
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_unsupported_objects():
    def score(model, X, y):
        return 0.0

    model = dics.CGBoostingClassifier(
        n_estimators=3, scoring=score, random_state=0
    ).fit(X, Y)
    message = r"CGBoostingClassifier\.scoring is <function.*pickle the model"
    with pytest.raises(ValueError, match=message):
        model.save(io.BytesIO())


def test_unfitted_models_are_refused():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        dics.CGTreeClassifier().save(io.BytesIO())


def test_save_keeps_permissions_and_links(tmp_path):
    model, path, link = MODELS["tree"](), tmp_path / "m.dics", tmp_path / "link.dics"
    model.save(path)
    path.chmod(0o600)
    link.symlink_to(path)
    model.save(link)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    same_outputs(dics.load(path), model)


def test_save_refuses_folders_and_names_missing_ones(tmp_path):
    model = MODELS["tree"]()
    with pytest.raises(FileNotFoundError, match=r"the folder .*missing does not"):
        model.save(tmp_path / "missing" / "m.dics")
    for path in (tmp_path, "/dev/null"):
        with pytest.raises(ValueError, match="not a regular file"):
            model.save(path)


def test_bad_arguments_of_load_and_save():
    model = MODELS["tree"]()
    content = io.BytesIO(file_of(model))
    with pytest.raises(ValueError, match=r"mmap_mode must be None or 'r', got 'w'\."):
        dics.load(content, mmap_mode="w")
    with pytest.raises(ValueError, match="requires a path, got a file object"):
        dics.load(content, mmap_mode="r")

    class Subclass(dics.CGTreeClassifier):
        pass

    with pytest.raises(TypeError, match="Subclass cannot be saved"):
        Subclass().fit(X, Y).save(io.BytesIO())
    model.extra_ = np.zeros(2, dtype="V8")
    with pytest.raises(ValueError, match=r"dtype [|]V8, which model files do not"):
        model.save(io.BytesIO())


def test_bytes_after_the_end_are_rejected():
    refused(file_of(MODELS["tree"]()) + b"\0")


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.dics")), ids=lambda p: p.stem)
def test_old_files_can_be_read(path):
    model = dics.load(path)
    expected = np.load(path.with_suffix(".npz"))
    np.testing.assert_allclose(
        np.asarray(model.predict(expected["X"]), dtype=float),
        expected["predicted"],
        rtol=1e-12,
    )
    again = dics.load(io.BytesIO(file_of(model)))
    np.testing.assert_array_equal(
        again.predict(expected["X"]), model.predict(expected["X"])
    )
    assert again.trees_.nodes.tobytes() == model.trees_.nodes.tobytes()


@pytest.mark.parametrize("path", sorted(FOLDER.glob("format_1_wide*.dics")))
def test_columns_that_were_ranks(path):
    model = dics.load(path)
    expected = np.load(path.with_suffix(".npz"))
    np.testing.assert_array_equal(model.apply(expected["X"]), expected["leaves"])
    np.testing.assert_array_equal(model.trees_.threshold, expected["threshold"])
    codes = model.candidates_.transform(expected["X"])
    for f, thresholds in enumerate(model.candidates_.thresholds_):
        assert len(thresholds) == model.candidates_.n_thresholds_[f]
        for t, tau in enumerate(thresholds):
            np.testing.assert_array_equal(codes[:, f] <= t, expected["X"][:, f] < tau)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.dics")), ids=lambda p: p.stem)
def test_old_parameters_have_new_names(path):
    """Old defaults become None, and a warm start works."""
    model = dics.load(path)
    assert (model.categorical, model.advanced) == (None, None)
    if hasattr(model, "warm_start"):
        n_trees = len(model) + 2
        model.set_params(n_estimators=n_trees, warm_start=True)
        y = T[:, : model.n_outputs_] if isinstance(model, RegressorMixin) else Y
        y = Y == 1 if getattr(model, "n_classes_", 0) == 2 else y
        rows = np.load(path.with_suffix(".npz"))["X"]
        assert len(model.fit(rows, np.squeeze(y))) == n_trees


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("tree", {"cat_smooth": 3.0}, {"categorical__smooth": 3.0}),
        ("tree", {"min_cat_samples": 20}, {"categorical": None}),
        ("tree", {"min_cat_samples": 100}, {"categorical__min_samples": 100}),
        ("boosting", {"min_cat_samples": 100, "cat_l2": 30.0}, {"categorical": None}),
        ("boosting", {"cat_pairs": False}, {"categorical__pairs": False}),
        ("tree", {"max_cat_levels": 5}, {"categorical__max_categories": 5}),
        ("tree", {"reuse_splits": False}, {"advanced__reuse_splits": False}),
        (
            "tree",
            {"min_weight_fraction_leaf": 0.1, "renew_thresholds": "auto"},
            {"min_weight_fraction_leaf": 0.1, "advanced": None},
        ),
        (
            "forest",
            {"min_weight_fraction_leaf": 0.1},
            {"advanced__min_weight_fraction_leaf": 0.1},
        ),
        ("forest", {"voting": "hard"}, {"advanced__voting": "hard"}),
        ("boosting", {"tol": 0.1, "leaf_values": "all"}, {"advanced__tol": 0.1}),
        ("boosting", {"min_sum_hessian": 2.0}, {"min_child_weight": 2.0}),
        (
            "quantiles",
            {"alpha": 0.8, "loss": "huber", "quantile": 0.5},
            {"advanced__huber_quantile": 0.8},
        ),
        (
            "boosting",
            {"sampling": "goss", "top_rate": 0.3, "other_rate": "auto"},
            {"sampling__top_rate": 0.3, "sampling__other_rate": 0.1},
        ),
        (
            "boosting",
            {"sampling": "mvs", "top_rate": 0.5, "other_rate": 0.25},
            {"sampling": "mvs", "subsample": 0.75},
        ),
        (
            "boosting",
            {"sampling": "goss", "top_rate": "auto", "other_rate": "auto"},
            {"sampling": "goss", "subsample": "auto"},
        ),
    ],
)
def test_parameters_of_format_1(name, old, new):
    def change(header):
        parameters = header["model"]["parameters"]
        for moved in ("categorical", "advanced", "subsample"):
            parameters.pop(moved, None)
        parameters |= old

    model = dics.load(io.BytesIO(rewritten(file_of(MODELS[name]()), change)))
    found = model.get_params()
    assert {key: found[key] for key in new} == new
    model.fit(X, Y)


def write_files():
    """Write the files of `test_old_files_can_be_read`; only for a new format."""
    FOLDER.mkdir(exist_ok=True)
    for name, make in MODELS.items():
        if name != "tree of names":  # its predictions are not numeric
            model = make()
            path = FOLDER / f"format_2_{name.replace(' ', '_')}.dics"
            model.save(path)
            np.savez(path.with_suffix(".npz"), X=X, predicted=model.predict(X) * 1.0)


def test_there_are_old_files():
    assert len(list(FOLDER.glob("*.dics"))) >= 6


# --- hostile files --------------------------------------------------------------------


def refused(content):
    with pytest.raises(ValueError, match=r"^Cannot load the file: "):
        dics.load(io.BytesIO(content))


def rewritten(content, change):
    """Change the header and update its checksum."""
    _, version, _, length = PREFIX.unpack(content[: PREFIX.size])
    end = PREFIX.size + length
    header = json.loads(content[PREFIX.size : end])
    body = content[-(-end // 64) * 64 :]
    changed = change(header)
    header = header if changed is None else changed
    text = json.dumps(header).encode()
    front = PREFIX.pack(MAGIC, version, zlib.crc32(text), len(text)) + text
    return front + b"\0" * (-len(front) % 64) + body


@pytest.mark.parametrize("name", ["tree", "boosting", "forest regressor"])
def test_cut_files_are_rejected(name):
    content = file_of(MODELS[name]())
    for n in [0, 1, 8, 23, 24, 100, len(content) // 2, len(content) - 1]:
        refused(content[:n])


@pytest.mark.parametrize("name", ["tree", "boosting", "forest regressor"])
def test_changed_bytes_are_detected(name):
    content = bytearray(file_of(MODELS[name]()))
    _, _, _, length = PREFIX.unpack(content[: PREFIX.size])
    padding = range(PREFIX.size + length, -(-(PREFIX.size + length) // 64) * 64)
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(content), 60):
        changed = content.copy()
        changed[place] ^= 1 << int(rng.integers(8))
        try:
            model = dics.load(io.BytesIO(changed))
        except ValueError:
            continue
        # Only bytes between the arrays may differ.
        assert place in padding or file_of(model) == bytes(content)


def change_nothing(header):
    """Change nothing: rewriting alone must be harmless."""


HOSTILE = {
    "another class": lambda h: h["model"].update(object="Popen"),
    "a class of Python": lambda h: h["model"]["parameters"].update(
        verbose={"object": "subprocess.Popen", "fields": {"args": "id"}}
    ),
    "an attribute that hides a method": lambda h: h["model"]["attributes"].update(
        predict=3
    ),
    "a special attribute": lambda h: h["model"]["attributes"].update(__class__=3),
    "a missing parameter": lambda h: h["model"]["parameters"].update(abc=3),
    "an array far away": lambda h: h["arrays"][0].update(offset=2**60),
    "an array of huge size": lambda h: h["arrays"][0].update(shape=[2**40, 2**40]),
    "a negative length": lambda h: h["arrays"][0].update(shape=[-1]),
    "an array of objects": lambda h: h["arrays"][0].update(type="|O8"),
    "an odd offset": lambda h: h["arrays"][0].update(offset=1),
    "no array": lambda h: h["model"]["attributes"].update(_start={"array": 999}),
    "a list": lambda h: [h],
    "a number": lambda h: 7,
    "nothing": lambda h: {},
    "no trees": lambda h: h["model"]["attributes"].update(trees_=3),
    "other features": lambda h: h["model"]["attributes"].update(n_features_in_=99),
    "other classes": lambda h: h["model"]["attributes"].update(n_classes_=99),
    "other rounds": lambda h: h["model"]["attributes"].update(n_iter_=99),
    "a loss of a classifier": lambda h: h["model"]["attributes"].update(_loss=3),
    "a start of NaN": lambda h: h["model"]["attributes"].update(
        _start={"float": "nan"}
    ),
    "nodes of another shape": lambda h: h["model"]["attributes"]["trees_"][
        "fields"
    ].update(nodes=h["model"]["attributes"]["trees_"]["fields"]["weight"]),
    "a list without its type": lambda h: h["model"]["parameters"].update(verbose=[]),
    "two entries in one": lambda h: h["model"]["parameters"].update(
        verbose={"list": [], "dict": []}
    ),
    "a short random state": lambda h: h["model"]["parameters"].update(
        random_state={"random_state": {"tuple": ["MT19937", {"array": 0}, 9, 0, 0.0]}}
    ),
    "a loss of other fields": lambda h: h["model"]["attributes"].update(
        _loss={"object": "NumberLoss", "fields": {"name": "huber"}}
    ),
    "options instead of a model": lambda h: h.update(
        model={"object": "GOSS", "parameters": {}, "attributes": {}}
    ),
}


def test_rewritten_header():
    content = file_of(MODELS["boosting"]())
    assert dics.load(io.BytesIO(rewritten(content, change_nothing))).n_iter_ == 8


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_headers_are_rejected(name):
    refused(rewritten(file_of(MODELS["boosting"]()), HOSTILE[name]))


@pytest.mark.parametrize(
    "text", [b"[" * 10**6, b'{"a":' * 10**5, b"1" * 10**5, b"\xff"]
)
def test_headers_that_are_not_json(text):
    refused(PREFIX.pack(MAGIC, 1, zlib.crc32(text), len(text)) + text)


def test_newer_formats_are_rejected():
    content = bytearray(file_of(MODELS["tree"]()))
    content[8:12] = struct.pack("<I", 3)
    with pytest.raises(
        ValueError, match=r"newer version of dics \(format 3; dics .* reads up to 2"
    ):
        dics.load(io.BytesIO(content))


@pytest.mark.parametrize("what", [b"", b"PK\x03\x04", pickle.dumps([1]), b"{}" * 99])
def test_other_files_are_rejected(what):
    refused(what)


@pytest.mark.parametrize(
    ("loss", "field", "value"),
    [
        ("huber", "alpha", 2.0**31),
        ("huber", "alpha", None),
        ("huber", "levels", np.array([0.5])),
        ("tweedie", "alpha", 0.5),
        ("quantile", "levels", np.array([1.5])),
        ("quantile", "levels", None),
    ],
)
def test_losses_out_of_range(loss, field, value):
    """A warm start would read outside of an array."""
    model = dics.CGBoostingRegressor(loss=loss, n_estimators=2, random_state=0)
    model.fit(X, np.abs(T[:, 0]))
    setattr(model._loss, field, value)
    refused(file_of(model))


# --- changed arrays -------------------------------------------------------------------


def with_array(trees, name, change):
    array = np.array(getattr(trees, name))
    change(array)
    fields = {**vars(trees), name: array}
    return lambda: dics.model.Trees(**fields)


def set_field(field, place, value):
    def change(nodes):
        nodes[field][place] = value

    return change


def put(place, value):
    def change(array):
        array[place] = value

    return change


CHANGES = [
    ("nodes", set_field("feature", 0, 6)),
    ("nodes", set_field("feature", 0, -2)),
    ("nodes", set_field("feature", 0, -1)),
    ("nodes", set_field("left", 0, 0)),
    ("nodes", set_field("left", 0, 2)),
    ("nodes", set_field("left", -1, 10**6)),
    ("nodes", set_field("left", -1, -40)),
    ("nodes", set_field("threshold", 0, np.nan)),
    ("n_samples", put(0, -1)),
    ("missing_left", put(0, 2)),
    ("weight", put(0, np.inf)),
    ("leaf_values", put(0, np.nan)),
    ("node_starts", put(0, 1)),
    ("node_starts", put(-1, 10**9)),
    ("leaf_starts", put(-1, 10**9)),
]


@pytest.mark.parametrize("name", ["tree", "boosting", "forest", "tree regressor"])
@pytest.mark.parametrize("change", range(len(CHANGES)))
def test_inconsistent_trees(name, change):
    trees = MODELS[name]().trees_
    array, function = CHANGES[change]
    with pytest.raises(ValueError, match="Invalid model: "):
        with_array(trees, array, function)()


@pytest.mark.parametrize(
    ("array", "other"),
    [
        ("nodes", np.zeros(3)),
        ("weight", [1.0]),
        ("weight", np.zeros(2, dtype=np.float32)),
        ("leaf_values", np.zeros(3, dtype=np.float32)),
        ("node_starts", np.zeros(0, dtype=np.int64)),
        ("missing_left", np.zeros((3, 3), dtype=np.uint8)),
        ("criterion", 3),
        ("n_features", "six"),
    ],
)
def test_trees_with_wrong_arrays(array, other):
    fields = {**vars(MODELS["forest"]().trees_), array: other}
    with pytest.raises(ValueError, match="Invalid model: "):
        dics.model.Trees(**fields)


def test_trees_from_arrays():
    trees = MODELS["forest"]().trees_
    fields = {
        name: value for name, value in vars(trees).items() if name != "n_features"
    }
    by_hand = dics.model.Trees(**fields)
    np.testing.assert_array_equal(by_hand.apply(X, 1), trees.apply(X, 1))
    with pytest.raises(ValueError, match="X has 1 features, but the trees expect"):
        by_hand.apply(X[:, :1], 1)


@pytest.mark.parametrize("name", MODELS)
def test_pickles_with_changed_bytes(name):
    """None crashes; a crash would end this process."""
    model = MODELS[name]()
    content = bytearray(pickle.dumps(model))
    rng = np.random.default_rng(1)
    for _ in range(40):
        changed = content.copy()
        for place in rng.integers(0, len(content), int(rng.integers(1, 6))):
            changed[place] ^= 1 << int(rng.integers(8))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                loaded = pickle.loads(bytes(changed))
                loaded.predict(X)
            except Exception:
                continue


@pytest.mark.parametrize("name", ["tree", "boosting", "forest regressor"])
def test_pickles_of_other_versions_warn(name, monkeypatch):
    model = MODELS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pickle.loads(pickle.dumps(model))
    content = pickle.dumps(model)
    monkeypatch.setattr("dics._estimator.base.VERSION", "9.9")
    with pytest.warns(UserWarning, match=r"was pickled by dics .* and is read by 9\.9"):
        pickle.loads(content)


def test_pickled_candidates_are_checked():
    source = dics.CentroidCandidates(random_state=0).fit(X, Y)
    state = source.__getstate__()
    broken = state["_dictionary"]._replace(offsets=state["_dictionary"].offsets + 5)
    with pytest.raises(ValueError, match="Invalid model: "):
        dics.CentroidCandidates().__setstate__({**state, "_dictionary": broken})


def test_a_model_of_infinite_values_comes_back():
    X = np.linspace(-1, 1, 60)[:, None] * [1.0, -2.0]
    X[50:, 0], X[:10, 1] = np.inf, -np.inf
    model = dics.CGTreeClassifier(max_depth=3).fit(X, X[:, 0] > 1)
    assert np.isinf(model.candidates_._dictionary.values).any()
    for read in (
        dics.load(io.BytesIO(file_of(model))),
        pickle.loads(pickle.dumps(model)),
    ):
        np.testing.assert_array_equal(read.predict(X), model.predict(X))

"""Clear errors and warnings for common mistakes."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from dics import (
    CentroidCandidates,
    CGBoostingClassifier,
    CGBoostingRegressor,
    CGForestRegressor,
    CGTreeClassifier,
)

RNG = np.random.default_rng(0)
X = 1000.0 + RNG.normal(size=(300, 4))
Y = (X[:, 0] > 1000.0).astype(int)
X_VAL, Y_VAL = X[:100], Y[:100]
MODELS = [
    CGTreeClassifier(),
    CGForestRegressor(n_estimators=3),
    CGBoostingClassifier(n_estimators=5),
]

# --- validation rows on another scale -------------------------------------------------


def scaled(**options):
    model = CGBoostingClassifier(n_estimators=30, random_state=0)
    model.set_fit_request(X_val=True, y_val=True)
    steps = [("scaler", StandardScaler()), ("model", model)]
    return Pipeline(steps, **options)


def test_unscaled_validation_rows_warn():
    with sklearn.config_context(enable_metadata_routing=True):
        with pytest.warns(UserWarning, match=r"keeps none of 20 rounds.*transform_inp"):
            lost = scaled().fit(X, Y, X_val=X_VAL, y_val=Y_VAL)
        assert lost["model"].n_iter_ == 0
        found = scaled(transform_input=["X_val"]).fit(X, Y, X_val=X_VAL, y_val=Y_VAL)
        assert found["model"].n_iter_ > 0
        assert found.score(X_VAL, Y_VAL) > 0.95


def test_nothing_to_learn_warns():
    rng = np.random.default_rng(1)
    model = CGBoostingRegressor(
        learning_rate=1.0, min_samples_leaf=1, early_stopping=True, random_state=0
    )
    with pytest.warns(UserWarning, match=r"keeps none of 10 rounds.*validation_frac"):
        model.fit(rng.normal(size=(200, 3)), rng.normal(size=200))
    assert model.n_iter_ == 0


def test_warm_start_without_improvement():
    """The earlier rounds are kept, so the model is not constant."""
    model = CGBoostingClassifier(n_estimators=40, warm_start=True, random_state=0)
    model.fit(X, Y, X_val=X_VAL, y_val=Y_VAL)
    model.set_params(n_estimators=80)
    model.fit(X, Y, X_val=X_VAL, y_val=1 - Y_VAL)
    assert model.n_iter_ == 40


# --- nested parameters of default objects ---------------------------------------------


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("candidates__n_pairs", 3),
        ("categorical__smooth", 5.0),
        ("advanced__max_candidates", 9),
    ],
)
def test_default_object_is_created(model, name, value):
    given = clone(model)
    outer = name.partition("__")[0]
    assert getattr(given, outer) is None
    given.set_params(**{name: value})
    assert given.get_params()[name] == value
    assert clone(given).get_params()[name] == value
    search = GridSearchCV(model, {name: [value]}, cv=2)
    search.fit(*load_iris(return_X_y=True))
    assert search.best_estimator_.get_params()[name] == value
    assert getattr(model, outer) is None


def test_parameters_of_given_objects():
    tree = CGTreeClassifier(candidates=CentroidCandidates())
    assert tree.set_params(candidates__n_pairs=3).candidates.n_pairs == 3
    tree = CGTreeClassifier()
    tree.set_params(candidates=CentroidCandidates(), candidates__n_pairs=4)
    assert tree.candidates.n_pairs == 4
    model = CGBoostingClassifier(sampling="goss").set_params(sampling__top_rate=0.4)
    assert (model.sampling.top_rate, model.sampling.other_rate) == (0.4, 0.1)


# --- columns that are not numeric -----------------------------------------------------


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("library", ["pandas", "polars"])
class TestFrames:
    """Frames of pandas and polars, in fit and in predict."""

    def frame(self, library, name, values):
        module = pytest.importorskip(library)
        return module.DataFrame({"age": [20.0, 30.0, 40.0, 50.0], name: values})

    def refused(self, model, frame, text):
        good = frame[["age"]]
        with pytest.raises(ValueError, match=text):
            model.fit(frame, [0, 1, 0, 1])
        model.fit(good, [0, 1, 0, 1])
        bad = frame[[c for c in frame.columns if c != "age"]]
        with pytest.raises(ValueError, match=text):
            model.predict(bad)

    def test_dates(self, model, library):
        days = np.arange("2026-01-01", "2026-01-05", dtype="datetime64[D]")
        frame = self.frame(library, "day", days.astype("datetime64[ns]"))
        self.refused(model, frame, r"column 'day' holds dates .*astype.*weekday")

    def test_durations(self, model, library):
        frame = self.frame(library, "took", np.arange(4).astype("timedelta64[ns]"))
        self.refused(model, frame, r"column 'took' holds dates or times")

    def test_text(self, model, library):
        frame = self.frame(library, "town", ["1", "2", "3", "4"])
        model = clone(model).set_params(categorical_features=None)
        self.refused(model, frame, r"column 'town' holds text, such as '1'")


def test_categories_of_text_are_named():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"kind": pandas.Categorical(["a", "b"] * 5)})
    with pytest.raises(ValueError, match="column 'kind' holds text, such as 'a'"):
        CGTreeClassifier(categorical_features=None).fit(frame, [0, 1] * 5)


def test_lazy_frames():
    polars = pytest.importorskip("polars")
    frame = polars.LazyFrame({"a": [1.0, 2.0]})
    with pytest.raises(TypeError, match=r"X is a LazyFrame.*X\.collect\(\)"):
        CGTreeClassifier().fit(frame, [0, 1])


def test_structured_arrays():
    records = np.zeros(2, dtype=[("a", float), ("b", int)])
    with pytest.raises(ValueError, match=r"fields a, b; call .*_to_unstructured\(X\)"):
        CGTreeClassifier().fit(records, [0, 1])


def test_arrays_of_dates_and_text():
    days = np.array([["2026-01-01"], ["2026-01-02"]], dtype="datetime64[D]")
    with pytest.raises(ValueError, match=r"X holds dates or times \(datetime64\[D\]\)"):
        CGTreeClassifier().fit(days, [0, 1])
    words = np.array([[1, "red"], [2, "blue"]], dtype=object)
    with pytest.raises(ValueError, match="column 1 holds text, such as 'red'"):
        CGTreeClassifier(categorical_features=None).fit(words, [0, 1])
    numbers = np.array([["1", "2"], ["3", "4"]], dtype=object)
    assert CGTreeClassifier().fit(numbers, [0, 1]).n_features_in_ == 2


def test_validation_rows_are_named():
    bad = np.array([["red"] * 4] * 100)
    with pytest.raises(ValueError, match="X_val, y_val: X: column 0 holds text"):
        CGBoostingClassifier().fit(X, Y, X_val=bad, y_val=Y_VAL)

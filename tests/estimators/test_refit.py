"""Predictions during a refit."""

import threading

import numpy as np
import pytest

import dics

rng = np.random.default_rng(0)
WIDE, NARROW = rng.normal(size=(2000, 30)), rng.normal(size=(2000, 3))
Y = (WIDE[:, 0] > 0).astype(int)

MODELS = {
    "tree": lambda: dics.CGTreeClassifier(random_state=0),
    "forest": lambda: dics.CGForestClassifier(n_estimators=5, random_state=0),
    "boosting": lambda: dics.CGBoostingClassifier(n_estimators=30, random_state=0),
    "numbers": lambda: dics.CGBoostingRegressor(n_estimators=30, random_state=0),
}


@pytest.mark.quick(2)
@pytest.mark.parametrize("name", MODELS)
def test_readers_have_the_old_model_or_the_new_one(name):
    model = MODELS[name]().fit(WIDE, Y)
    done = threading.Event()
    odd = []

    def read():
        while not done.is_set():
            for rows in (WIDE, NARROW):
                try:
                    predicted = model.predict(rows)
                except ValueError as error:
                    if "features" not in str(error):
                        odd.append(error)
                else:
                    if rows is WIDE and np.mean((predicted > 0.5) == Y) < 0.9:
                        odd.append("a model that has not learned anything")

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for rows in (NARROW, WIDE) * 5:
        model.fit(rows, Y)
    done.set()
    for reader in readers:
        reader.join()
    assert not odd


@pytest.mark.parametrize("name", MODELS)
def test_rows_of_another_width_than_the_trees(name):
    model = MODELS[name]().fit(WIDE, Y)
    model.n_features_in_ = 3  # as if a narrower fit had begun
    with pytest.raises(ValueError, match="X has 3 features, but the trees expect 30"):
        model.predict(NARROW)


def test_failed_refit_keeps_the_model():
    model = MODELS["boosting"]().fit(WIDE, Y)
    before = model.predict_proba(WIDE)

    def fail(report):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        model.fit(NARROW, Y, callbacks=[fail])
    assert model.n_features_in_ == 30
    np.testing.assert_array_equal(model.predict_proba(WIDE), before)

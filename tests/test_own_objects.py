"""Equal models have equal pickles, whichever of their objects are one."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import dics
from dics._own_objects import own_objects, own_type

pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB scores")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
X[:, 3] = 1.7e9 + np.arange(300)  # in single precision many are equal
FRAME = pd.DataFrame(X, columns=["weight", "b", "c", "d"]).assign(
    e=np.array(["weight", "gini"], dtype=object)[RNG.integers(0, 2, 300)]
)
Y = np.digitize(X[:, 0], [-0.5, 0.5])
WEIGHTS = RNG.random(300)
MODELS = {
    "CGTreeClassifier": {},
    "CGTreeRegressor": {},
    "CGForestClassifier": {"n_estimators": 4, "oob_score": True},
    "CGForestRegressor": {"n_estimators": 4, "oob_score": True},
    "FastCGBMClassifier": {"n_estimators": 4},
    "FastCGBMRegressor": {"n_estimators": 4},
}


def sent(values):
    """The same values with objects of their own for types and text."""
    return pickle.loads(pickle.dumps(values))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "given",
    [X, X.astype(np.float32), FRAME, scipy.sparse.csr_array(X)],
    ids=["wide", "narrow", "frame", "sparse"],
)
def test_rows_that_were_sent(name, given):
    y = X[:, 0] if "Regressor" in name else Y
    targets = [y] if "Regressor" in name else [y, np.array(["c", "b", "gini"], "O")[y]]
    for target in targets:
        own = {"random_state": 0, **MODELS[name]}
        here = getattr(dics, name)(**own).fit(given, target, WEIGHTS)
        there = getattr(dics, name)(**own).fit(*map(sent, (given, target, WEIGHTS)))
        assert pickle.dumps(here) == pickle.dumps(there)


SCRIPT = """
import pickle, sys
import dics
X, y = [[0.0], [1.0], [2.0], [3.0]] * 9, [0, 0, 1, 1] * 9
if len(sys.argv) > 2:
    with open(sys.argv[2], "rb") as file:
        pickle.load(file)
model = getattr(dics, sys.argv[1])(random_state=0).fit(X, y)
sys.stdout.buffer.write(pickle.dumps(model))
"""


def fitted_apart(*arguments):
    """The pickle of a model that a process of its own fits."""
    command = [sys.executable, "-c", SCRIPT, *arguments]
    return subprocess.run(command, capture_output=True, check=True).stdout


@pytest.mark.parametrize("name", MODELS)
def test_a_model_was_read_before(name, tmp_path):
    """Instances share the names of attributes with the first one, read or made."""
    path = tmp_path / "model.pickle"
    path.write_bytes(fitted_apart(name))
    assert fitted_apart(name, str(path)) == path.read_bytes()


def renamed(thing):
    """The same object whose attributes have names of their own."""
    made = object.__new__(type(thing))
    vars(made).update({"".join(list(name)): v for name, v in vars(thing).items()})
    return made


@pytest.mark.parametrize("name", MODELS)
def test_names_of_attributes(name):
    model = getattr(dics, name)(random_state=0, **MODELS[name]).fit(X, Y)
    expected = pickle.dumps(model)
    vars(model).update(
        trees_=renamed(model.trees_), candidates_=renamed(model.candidates_)
    )
    assert pickle.dumps(renamed(model)) == expected


def test_own_type():
    for dtype in ("f4", "f8", "i8", "u1", "O", "U3", "M8[s]", "?"):
        given = np.zeros(3, dtype=dtype)
        found = own_type(sent(given))
        assert found.dtype == given.dtype
        if dtype not in ("U3", "M8[s]"):  # of which there are many
            assert found.dtype is given.dtype
            assert own_type(given) is given
    records = np.zeros(3, dtype=[("a", "f4")])
    assert own_type(records) is records


def test_own_objects():
    made = own_objects(np.array(["".join(["a", "b", "c"]), 3, None, (1, 2)], "O"))
    assert made.tolist() == ["abc", 3, None, (1, 2)]
    assert made[0] is sys.intern("abc")

"""A few rows, and local and Dask estimators for them."""

import numpy as np
import pandas as pd

import dics
import dics.dask

RNG = np.random.default_rng(0)
N_ROWS = 60
X = RNG.normal(size=(N_ROWS, 4))
SCORE = X[:, 0] + 0.1 * RNG.normal(size=N_ROWS)
LABELS = np.array(["low", "middle", "high"])[np.digitize(SCORE, [-0.5, 0.5])]
FRAME = pd.DataFrame(X, columns=["a", "b", "c", "d"])
NAMES = [name[4:] for name in dics.dask.__all__ if name.startswith("Dask")]
BOOSTING = ["CGBoostingClassifier", "CGBoostingRegressor"]


def y_of(name):
    return LABELS if "Classifier" in name else SCORE


def parameters_of(name):
    return {"random_state": 0} | ({} if "Tree" in name else {"n_estimators": 3})


def local_model(name, **more):
    return getattr(dics, name)(**parameters_of(name) | more)


def dask_model(name, **more):
    return getattr(dics.dask, f"Dask{name}")(**parameters_of(name) | more)

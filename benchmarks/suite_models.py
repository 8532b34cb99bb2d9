"""The models of the suite: dics, and other libraries with default and tuned parameters.

The tuned parameters are the published meta-learned defaults of pytabkit: up to 1,000
rounds with early stopping on held-out rows.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from sklearn.model_selection import train_test_split
from suite_tables import SuiteSplit

import dics

VALIDATION_FRACTION = 0.2
PATIENCE = 300  # rounds without a better loss, as in pytabkit
SPARSE_CATEGORIES = 255  # limit of HistGradientBoosting


class SuiteModel(NamedTuple):
    """A model by the package whose version its results belong to."""

    package: str
    fit: Callable[[SuiteSplit, int], Any]  # of a split and a number of threads

    @property
    def version(self) -> str:
        """Return the version; for dics, a digest of its sources."""
        if self.package == "dics":
            return digest_of_sources()
        return importlib.metadata.version(self.package)


def digest_of_sources() -> str:
    folder = Path(dics.__file__).parent
    files = [f for f in folder.rglob("*") if f.suffix in (".py", ".cpp", ".hpp")]
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.relative_to(folder).as_posix().encode() + file.read_bytes())
    return digest.hexdigest()[:10]


class Prepared(NamedTuple):
    """A fitted model that needs its features in another form."""

    model: Any
    prepare: Callable[[pd.DataFrame], pd.DataFrame]

    def predict(self, X: pd.DataFrame) -> Any:
        return self.model.predict(self.prepare(X))

    def predict_proba(self, X: pd.DataFrame) -> Any:
        return self.model.predict_proba(self.prepare(X))


# --- dics ------------------------------------------------------------------


def fit_dics(split: SuiteSplit, n_threads: int, *, kind: str, **parameters: Any) -> Any:
    cls = getattr(dics, kind + ("Regressor" if split.is_regression else "Classifier"))
    model = cls(random_state=0, n_jobs=n_threads, **parameters)
    return model.fit(split.X_train, split.y_train)


# --- other libraries -------------------------------------------------------


def held_out(split: SuiteSplit) -> tuple[Any, Any, Any, Any]:
    """Return training and validation rows for early stopping."""
    parts: tuple[Any, Any, Any, Any] = tuple(
        train_test_split(
            split.X_train,
            split.y_train,
            test_size=VALIDATION_FRACTION,
            random_state=0,
            stratify=None,
        )
    )
    return parts


def fit_lightgbm(split: SuiteSplit, n_threads: int, *, tuned: bool = False) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping

    cls = LGBMRegressor if split.is_regression else LGBMClassifier
    fixed = {"n_jobs": n_threads, "verbose": -1, "random_state": 0}
    if not tuned:
        return cls(**fixed).fit(split.X_train, split.y_train)
    rates = (
        {
            "learning_rate": 0.05,
            "num_leaves": 100,
            "subsample": 0.7,
            "min_child_samples": 3,
        }
        if split.is_regression
        else {
            "learning_rate": 0.04,
            "num_leaves": 50,
            "subsample": 0.75,
            "min_child_samples": 40,
        }
    )
    model = cls(
        **fixed, **rates, n_estimators=1000, subsample_freq=1, min_child_weight=1e-7
    )
    X, X_val, y, y_val = held_out(split)
    stop = early_stopping(PATIENCE, verbose=False)
    return model.fit(X, y, eval_set=[(X_val, y_val)], callbacks=[stop])


def fit_xgboost(split: SuiteSplit, n_threads: int) -> Any:
    from xgboost import XGBClassifier, XGBRegressor

    cls = XGBRegressor if split.is_regression else XGBClassifier
    model = cls(n_jobs=n_threads, enable_categorical=True, random_state=0)
    return model.fit(split.X_train, split.y_train)


def fit_hist(split: SuiteSplit, n_threads: int) -> Any:
    from sklearn.ensemble import (
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
    )
    from threadpoolctl import threadpool_limits

    # It refuses features with more categories; they become numeric.
    def prepare(X: pd.DataFrame) -> pd.DataFrame:
        wide = [
            name
            for name in split.categorical
            if len(split.X_train[name].cat.categories) > SPARSE_CATEGORIES
        ]
        return X.astype(dict.fromkeys(wide, "float64"))

    cls = (
        HistGradientBoostingRegressor
        if split.is_regression
        else HistGradientBoostingClassifier
    )
    with threadpool_limits(n_threads, user_api="openmp"):
        model = cls(categorical_features="from_dtype", random_state=0)
        return Prepared(model.fit(prepare(split.X_train), split.y_train), prepare)


def fit_catboost(split: SuiteSplit, n_threads: int, *, tuned: bool = False) -> Any:
    from catboost import CatBoostClassifier, CatBoostRegressor

    cls = CatBoostRegressor if split.is_regression else CatBoostClassifier
    parameters: dict[str, Any] = {
        "thread_count": n_threads,
        "verbose": False,
        "random_seed": 0,
        "allow_writing_files": False,
        "cat_features": split.categorical,
    }

    def prepare(X: pd.DataFrame) -> pd.DataFrame:
        texts = {
            name: X[name].cat.add_categories("missing").fillna("missing").astype(str)
            for name in split.categorical
        }
        return X.assign(**texts)

    if not tuned:
        model = cls(**parameters).fit(prepare(split.X_train), split.y_train)
        return Prepared(model, prepare)
    parameters |= {
        "boosting_type": "Plain",
        "bootstrap_type": "Bernoulli",
        "subsample": 0.9,
        "n_estimators": 1000,
        "l2_leaf_reg": 1e-5,
        "early_stopping_rounds": PATIENCE,
    }
    parameters |= (
        {
            "learning_rate": 0.09,
            "max_depth": 9,
            "random_strength": 0.0,
            "one_hot_max_size": 20,
            "leaf_estimation_iterations": 20,
        }
        if split.is_regression
        else {
            "learning_rate": 0.08,
            "max_depth": 7,
            "random_strength": 0.8,
            "one_hot_max_size": 15,
            "leaf_estimation_iterations": 1,
        }
    )
    X, X_val, y, y_val = held_out(split)
    model = cls(**parameters).fit(prepare(X), y, eval_set=(prepare(X_val), y_val))
    return Prepared(model, prepare)


def fit_sklearn_forest(split: SuiteSplit, n_threads: int, *, kind: str) -> Any:
    from sklearn import ensemble

    # Categories are indices here; missing values get a value of their own.
    def prepare(X: pd.DataFrame) -> pd.DataFrame:
        return X.astype("float64").fillna(-1e6)

    name = kind + ("Regressor" if split.is_regression else "Classifier")
    model = getattr(ensemble, name)(n_jobs=n_threads, random_state=0)
    return Prepared(model.fit(prepare(split.X_train), split.y_train), prepare)


MODELS = {
    "dics fast": SuiteModel(
        "dics", partial(fit_dics, kind="CGBoosting", quality="fast")
    ),
    "dics": SuiteModel("dics", partial(fit_dics, kind="CGBoosting")),
    "dics best": SuiteModel(
        "dics", partial(fit_dics, kind="CGBoosting", quality="best")
    ),
    "dics forest": SuiteModel("dics", partial(fit_dics, kind="CGForest")),
    "dics tree": SuiteModel("dics", partial(fit_dics, kind="CGTree")),
    "LightGBM": SuiteModel("lightgbm", fit_lightgbm),
    "XGBoost": SuiteModel("xgboost", fit_xgboost),
    "HistGB": SuiteModel("scikit-learn", fit_hist),
    "CatBoost": SuiteModel("catboost", fit_catboost),
    "LightGBM tuned": SuiteModel("lightgbm", partial(fit_lightgbm, tuned=True)),
    "CatBoost tuned": SuiteModel("catboost", partial(fit_catboost, tuned=True)),
    "RandomForest": SuiteModel(
        "scikit-learn", partial(fit_sklearn_forest, kind="RandomForest")
    ),
    "ExtraTrees": SuiteModel(
        "scikit-learn", partial(fit_sklearn_forest, kind="ExtraTrees")
    ),
}

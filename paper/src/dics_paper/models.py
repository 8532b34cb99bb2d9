"""The models that the tables compare: ours, the paper's peers and their fast modes."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from dics.baselines import BDTKSClassifier
from dics.boosting import FastCGBMClassifier
from dics.candidates import CentroidCandidates
from dics.forest import CGForestClassifier
from dics.tree import CGTreeClassifier

TREE_DEPTH = 8
BOOSTING_DEPTH = 3
N_TREES = 100
N_ROUNDS = 100
N_CANDIDATES = 100  # the paper's k


@dataclass(frozen=True)
class Setup:
    """What a model has to know before it is made."""

    seed: int
    n_jobs: int
    n_classes: int


@dataclass(frozen=True)
class Model:
    """A model of the tables."""

    name: str  # on the command line
    label: str  # in a table
    family: str  # "tree", "forest" or "boosting"
    package: str
    make: Callable[[Setup, dict[str, Any]], Any]  # the dict has settings to change
    ours: bool = False
    baseline: bool = False  # ours, with the paper's setting: what ratios refer to

    @cached_property
    def version(self) -> str:
        """Version of the package that it comes from."""
        return importlib.metadata.version(self.package)


def _paper_tree(setup: Setup, settings: dict[str, Any]) -> Any:
    candidates = {
        name: settings.pop(name) for name in ("n_pairs", "batch_size") & settings.keys()
    }
    options = {
        "max_depth": TREE_DEPTH,
        "max_candidates": N_CANDIDATES,
        "min_samples_split": 3,
        **settings,
    }
    return CGTreeClassifier(
        candidates=CentroidCandidates.paper(**candidates),
        random_state=setup.seed,
        n_jobs=setup.n_jobs,
        **options,
    )


def _tree(setup: Setup, settings: dict[str, Any]) -> Any:
    options = {"max_depth": TREE_DEPTH, **settings}
    return CGTreeClassifier(random_state=setup.seed, n_jobs=setup.n_jobs, **options)


def _renewed_tree(setup: Setup, settings: dict[str, Any]) -> Any:
    return _tree(setup, {"renew_thresholds": True, **settings})


def _decision_tree(setup: Setup, settings: dict[str, Any]) -> Any:
    options = {"max_depth": TREE_DEPTH, **settings}
    return DecisionTreeClassifier(random_state=setup.seed, **options)


def _random_tree(setup: Setup, settings: dict[str, Any]) -> Any:
    return _decision_tree(setup, {"splitter": "random", **settings})


def _bdtks(setup: Setup, settings: dict[str, Any]) -> Any:
    return BDTKSClassifier(random_state=setup.seed, **settings)


def _paper_forest(setup: Setup, settings: dict[str, Any]) -> Any:
    options = {
        "min_samples_split": 3,
        "max_candidates": N_CANDIDATES,
        "feature_sampling": "tree",
        "voting": "hard",
        "candidates": CentroidCandidates.paper(),
        **settings,
    }
    return _forest(setup, options)


def _forest(setup: Setup, settings: dict[str, Any]) -> Any:
    return CGForestClassifier(**_forest_options(setup, settings))


def _random_forest(setup: Setup, settings: dict[str, Any]) -> Any:
    return RandomForestClassifier(**_forest_options(setup, settings))


def _extra_trees(setup: Setup, settings: dict[str, Any]) -> Any:
    return ExtraTreesClassifier(**_forest_options(setup, settings))


def _forest_options(setup: Setup, settings: dict[str, Any]) -> dict[str, Any]:
    return {
        "n_estimators": N_TREES,
        "max_depth": TREE_DEPTH,
        "random_state": setup.seed,
        "n_jobs": setup.n_jobs,
        **settings,
    }


def _paper_boosting(setup: Setup, settings: dict[str, Any]) -> Any:
    options = {
        "n_estimators": N_ROUNDS,
        "max_depth": BOOSTING_DEPTH,
        "max_leaf_nodes": None,
        "max_candidates": N_CANDIDATES,
        "sampling": "goss",
        "leaf_values": "sample",
        "min_samples_leaf": 1,
        "candidates": CentroidCandidates.paper(),
        **settings,
    }
    return _boosting(setup, options)


def _boosting(setup: Setup, settings: dict[str, Any]) -> Any:
    return FastCGBMClassifier(random_state=setup.seed, n_jobs=setup.n_jobs, **settings)


def _xgboost(setup: Setup, settings: dict[str, Any]) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(tree_method="hist", **_peer_rounds(setup, settings))


def _fast_xgboost(setup: Setup, settings: dict[str, Any]) -> Any:
    # Trees with a value for each class; for two classes there is nothing to join.
    joined = {"multi_strategy": "multi_output_tree"} if setup.n_classes > 2 else {}
    return _xgboost(setup, {"max_bin": 16, **joined, **settings})


def _lightgbm(setup: Setup, settings: dict[str, Any]) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(verbose=-1, **_peer_rounds(setup, settings))


def _fast_lightgbm(setup: Setup, settings: dict[str, Any]) -> Any:
    return _lightgbm(setup, {"max_bin": 15, **settings})


def _peer_rounds(setup: Setup, settings: dict[str, Any]) -> dict[str, Any]:
    return {
        "n_estimators": N_ROUNDS,
        "max_depth": BOOSTING_DEPTH,
        "random_state": setup.seed,
        "n_jobs": setup.n_jobs,
        **settings,
    }


ALL: tuple[Model, ...] = (
    Model(
        "cgct-paper",
        "CGCT, paper's setting",
        "tree",
        "dics",
        _paper_tree,
        ours=True,
        baseline=True,
    ),
    Model("cgct", "CGCT, default", "tree", "dics", _tree, ours=True),
    Model("decision-tree", "DecisionTree", "tree", "scikit-learn", _decision_tree),
    Model(
        "decision-tree-random",
        "DecisionTree, random splits",
        "tree",
        "scikit-learn",
        _random_tree,
    ),
    Model("bdtks", "BDTKS", "tree", "dics", _bdtks),
    Model(
        "cgrf-paper",
        "CGRF, paper's setting",
        "forest",
        "dics",
        _paper_forest,
        ours=True,
        baseline=True,
    ),
    Model("cgrf", "CGRF, default", "forest", "dics", _forest, ours=True),
    Model("random-forest", "RandomForest", "forest", "scikit-learn", _random_forest),
    Model("extra-trees", "ExtraTrees", "forest", "scikit-learn", _extra_trees),
    Model(
        "fastcgbm-paper",
        "FastC-GBM, paper's setting",
        "boosting",
        "dics",
        _paper_boosting,
        ours=True,
        baseline=True,
    ),
    Model("fastcgbm", "FastC-GBM, default", "boosting", "dics", _boosting, ours=True),
    Model("xgboost", "XGBoost", "boosting", "xgboost", _xgboost),
    Model(
        "xgboost-fast",
        "XGBoost, 16 bins, joint trees",
        "boosting",
        "xgboost",
        _fast_xgboost,
    ),
    Model("lightgbm", "LightGBM", "boosting", "lightgbm", _lightgbm),
    Model("lightgbm-fast", "LightGBM, 15 bins", "boosting", "lightgbm", _fast_lightgbm),
)
# Settings of the comparison of split quality, which the other tables don't have.
WHOLE_PAPER_DICTIONARY = Model(
    "cgct-paper-whole",
    "CGCT, paper's dictionary, all of it",
    "split-quality",
    "dics",
    lambda setup, settings: _paper_tree(setup, {"max_candidates": None, **settings}),
    ours=True,
)
RENEWED_DICTIONARY = Model(
    "cgct-renewed",
    "CGCT, default, thresholds renewed in small nodes",
    "split-quality",
    "dics",
    _renewed_tree,
    ours=True,
)
BY_NAME = {
    model.name: model for model in (*ALL, WHOLE_PAPER_DICTIONARY, RENEWED_DICTIONARY)
}


def of_family(family: str, chosen: Iterable[str] | None = None) -> list[Model]:
    """Models of a family in the order of a table; only some of them, if chosen."""
    names = None if chosen is None else set(chosen)
    return [
        model
        for model in ALL
        if model.family == family and (names is None or model.name in names)
    ]


def check_installed(models: Iterable[Model]) -> None:
    """Raise an ImportError that says how to get what the models need."""
    for model in models:
        try:
            model.version  # noqa: B018
        except importlib.metadata.PackageNotFoundError:
            raise ImportError(
                f"the model {model.name!r} needs {model.package}: install it with "
                "pip install 'dics-paper[peers]', or choose other models with --models"
            ) from None

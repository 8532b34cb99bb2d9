"""The models that are compared: ours, the paper's peers and their fast settings."""

from __future__ import annotations

import importlib.metadata
import pkgutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

TREE_DEPTH = 8
BOOSTING_DEPTH = 3
N_TREES = 100
N_ROUNDS = 100

TREE = {"max_depth": TREE_DEPTH}
FOREST = {"n_estimators": N_TREES, "max_depth": TREE_DEPTH}
BOOSTING = {"n_estimators": N_ROUNDS, "max_depth": BOOSTING_DEPTH}


@dataclass(frozen=True)
class Model:
    """A model of the tables."""

    name: str  # on the command line
    label: str  # in a table
    family: str  # "tree", "forest" or "boosting"
    package: str
    build: str  # what makes it: "module:name", imported when it is needed
    parameters: dict[str, Any] = field(default_factory=dict)
    several: dict[str, Any] = field(default_factory=dict)  # more, for over two classes
    threads: bool = True  # whether it has n_jobs
    ours: bool = False
    baseline: bool = False  # ours, with the paper's setting: what ratios refer to

    @cached_property
    def version(self) -> str:
        """Version of the package that it comes from."""
        return importlib.metadata.version(self.package)

    def make(
        self,
        *,
        seed: int = 0,
        n_jobs: int | None = None,
        n_classes: int = 2,
        settings: dict[str, Any] | None = None,
    ) -> Any:
        """Make a new estimator; `settings` replace parameters of the model."""
        parameters = {"random_state": seed, **self.parameters}
        if self.threads:
            parameters["n_jobs"] = n_jobs
        if n_classes > 2:
            parameters |= self.several
        estimator = pkgutil.resolve_name(self.build)(**parameters)
        return estimator.set_params(**(settings or {}))


TREES = (
    Model(
        "cgct-paper",
        "CGCT, paper's setting",
        "tree",
        "dics",
        "dics:CGTreeClassifier.paper",
        ours=True,
        baseline=True,
    ),
    Model(
        "cgct",
        "CGCT, default",
        "tree",
        "dics",
        "dics:CGTreeClassifier",
        TREE,
        ours=True,
    ),
    Model(
        "decision-tree",
        "DecisionTree",
        "tree",
        "scikit-learn",
        "sklearn.tree:DecisionTreeClassifier",
        TREE,
        threads=False,
    ),
    Model(
        "decision-tree-random",
        "DecisionTree, random splits",
        "tree",
        "scikit-learn",
        "sklearn.tree:DecisionTreeClassifier",
        {**TREE, "splitter": "random"},
        threads=False,
    ),
    Model(
        "bdtks",
        "BDTKS",
        "tree",
        "dics",
        "dics.baselines:BDTKSClassifier",
        threads=False,
    ),
)
FORESTS = (
    Model(
        "cgrf-paper",
        "CGRF, paper's setting",
        "forest",
        "dics",
        "dics:CGForestClassifier.paper",
        ours=True,
        baseline=True,
    ),
    Model(
        "cgrf",
        "CGRF, default",
        "forest",
        "dics",
        "dics:CGForestClassifier",
        FOREST,
        ours=True,
    ),
    Model(
        "random-forest",
        "RandomForest",
        "forest",
        "scikit-learn",
        "sklearn.ensemble:RandomForestClassifier",
        FOREST,
    ),
    Model(
        "extra-trees",
        "ExtraTrees",
        "forest",
        "scikit-learn",
        "sklearn.ensemble:ExtraTreesClassifier",
        FOREST,
    ),
)
BOOSTERS = (
    Model(
        "fastcgbm-paper",
        "FastC-GBM, paper's setting",
        "boosting",
        "dics",
        "dics:FastCGBMClassifier.paper",
        {"n_estimators": N_ROUNDS},
        ours=True,
        baseline=True,
    ),
    Model(
        "fastcgbm",
        "FastC-GBM, default",
        "boosting",
        "dics",
        "dics:FastCGBMClassifier",
        ours=True,
    ),
    Model(
        "xgboost",
        "XGBoost",
        "boosting",
        "xgboost",
        "xgboost:XGBClassifier",
        {**BOOSTING, "tree_method": "hist"},
    ),
    # Trees with a value for each class; for two classes there is nothing to join.
    Model(
        "xgboost-fast",
        "XGBoost, 16 bins, joint trees",
        "boosting",
        "xgboost",
        "xgboost:XGBClassifier",
        {**BOOSTING, "tree_method": "hist", "max_bin": 16},
        {"multi_strategy": "multi_output_tree"},
    ),
    Model(
        "lightgbm",
        "LightGBM",
        "boosting",
        "lightgbm",
        "lightgbm:LGBMClassifier",
        {**BOOSTING, "verbose": -1},
    ),
    Model(
        "lightgbm-fast",
        "LightGBM, 15 bins",
        "boosting",
        "lightgbm",
        "lightgbm:LGBMClassifier",
        {**BOOSTING, "verbose": -1, "max_bin": 15},
    ),
)
ALL = (*TREES, *FORESTS, *BOOSTERS)
# Settings of the comparison of split quality, which the other tables don't have.
WHOLE_PAPER_DICTIONARY = Model(
    "cgct-paper-whole",
    "CGCT, paper's dictionary, all of it",
    "split-quality",
    "dics",
    "dics:CGTreeClassifier.paper",
    {"max_candidates": None},
    ours=True,
)
RENEWED_DICTIONARY = Model(
    "cgct-renewed",
    "CGCT, default, thresholds renewed in small nodes",
    "split-quality",
    "dics",
    "dics:CGTreeClassifier",
    {**TREE, "renew_thresholds": True},
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

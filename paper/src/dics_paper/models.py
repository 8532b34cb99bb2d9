"""The models of the comparisons: dics, and other libraries."""

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
LIGHTGBM_ROUNDS = {**BOOSTING, "verbose": -1}
XGBOOST_ROUNDS = {**BOOSTING, "tree_method": "hist"}

DECISION_TREE = "sklearn.tree:DecisionTreeClassifier"
RANDOM_FOREST = "sklearn.ensemble:RandomForestClassifier"
EXTRA_TREES = "sklearn.ensemble:ExtraTreesClassifier"
LIGHTGBM = "lightgbm:LGBMClassifier"
XGBOOST = "xgboost:XGBClassifier"


@dataclass(frozen=True)
class Model:
    """A model of the tables."""

    name: str  # on the command line
    label: str  # in a table
    family: str  # "tree", "forest" or "boosting"; "split-quality" for its own table
    build: str  # constructor as "module:name", imported by the first use
    parameters: dict[str, Any] = field(default_factory=dict)
    several: dict[str, Any] = field(default_factory=dict)  # with over two classes

    @property
    def package(self) -> str:
        """Package of the model."""
        module = self.build.partition(":")[0].partition(".")[0]
        names = {"dics_paper": "dics-paper", "sklearn": "scikit-learn"}
        return names.get(module, module)

    @property
    def ours(self) -> bool:
        """Whether the model is from dics."""
        return self.build.startswith("dics:")

    @property
    def baseline(self) -> bool:
        """Whether the model is the denominator of ratios: dics, the paper's setting."""
        return self.build.endswith(".paper") and self.family != "split-quality"

    @cached_property
    def version(self) -> str:
        """Version of the package."""
        return importlib.metadata.version(self.package)

    def make(
        self,
        *,
        seed: int = 0,
        n_jobs: int | None = None,
        n_classes: int = 2,
        settings: dict[str, Any] | None = None,
    ) -> Any:
        """Return a new estimator; `settings` replace parameters of the model."""
        parameters = self.parameters | (self.several if n_classes > 2 else {})
        estimator = pkgutil.resolve_name(self.build)(random_state=seed)
        estimator.set_params(**parameters)
        if "n_jobs" in estimator.get_params(deep=False):
            estimator.set_params(n_jobs=n_jobs)
        return estimator.set_params(**(settings or {}))


TREES = (
    Model("cgct-paper", "CGCT, paper's setting", "tree", "dics:CGTreeClassifier.paper"),
    Model("cgct", "CGCT, default", "tree", "dics:CGTreeClassifier", TREE),
    Model("decision-tree", "DecisionTree", "tree", DECISION_TREE, TREE),
    Model(
        "decision-tree-random",
        "DecisionTree, random splits",
        "tree",
        DECISION_TREE,
        {**TREE, "splitter": "random"},
    ),
    Model("bdtks", "BDTKS", "tree", "dics_paper.baselines:BDTKSClassifier"),
)
FORESTS = (
    Model(
        "cgrf-paper",
        "CGRF, paper's setting",
        "forest",
        "dics:CGForestClassifier.paper",
        FOREST,
    ),
    Model("cgrf", "CGRF, default", "forest", "dics:CGForestClassifier", FOREST),
    Model("random-forest", "RandomForest", "forest", RANDOM_FOREST, FOREST),
    Model("extra-trees", "ExtraTrees", "forest", EXTRA_TREES, FOREST),
)
BOOSTERS = (
    Model(
        "fastcgbm-paper",
        "FastC-GBM, paper's setting",
        "boosting",
        "dics:CGBoostingClassifier.paper",
        {"n_estimators": N_ROUNDS},
    ),
    Model("fastcgbm", "FastC-GBM, default", "boosting", "dics:CGBoostingClassifier"),
    Model("xgboost", "XGBoost", "boosting", XGBOOST, XGBOOST_ROUNDS),
    # One tree for all classes; with two classes there is one tree per round anyway.
    Model(
        "xgboost-fast",
        "XGBoost, 16 bins, joint trees",
        "boosting",
        XGBOOST,
        {**XGBOOST_ROUNDS, "max_bin": 16},
        {"multi_strategy": "multi_output_tree"},
    ),
    Model("lightgbm", "LightGBM", "boosting", LIGHTGBM, LIGHTGBM_ROUNDS),
    Model(
        "lightgbm-fast",
        "LightGBM, 15 bins",
        "boosting",
        LIGHTGBM,
        {**LIGHTGBM_ROUNDS, "max_bin": 15},
    ),
)
# Models for regression, which is not in the paper.
REGRESSORS = (
    Model(
        "cgrt-paper",
        "CG regression tree, paper's setting",
        "regression-tree",
        "dics:CGTreeRegressor.paper",
    ),
    Model(
        "cgrt",
        "CG regression tree, default",
        "regression-tree",
        "dics:CGTreeRegressor",
        TREE,
    ),
    Model(
        "decision-tree-regressor",
        "DecisionTree",
        "regression-tree",
        "sklearn.tree:DecisionTreeRegressor",
        TREE,
    ),
    Model(
        "cgrf-regressor-paper",
        "CG regression forest, paper's setting",
        "regression-forest",
        "dics:CGForestRegressor.paper",
        FOREST,
    ),
    Model(
        "cgrf-regressor",
        "CG regression forest, default",
        "regression-forest",
        "dics:CGForestRegressor",
        FOREST,
    ),
    Model(
        "random-forest-regressor",
        "RandomForest",
        "regression-forest",
        "sklearn.ensemble:RandomForestRegressor",
        FOREST,
    ),
    Model(
        "extra-trees-regressor",
        "ExtraTrees",
        "regression-forest",
        "sklearn.ensemble:ExtraTreesRegressor",
        FOREST,
    ),
    Model(
        "fastcgbm-regressor-paper",
        "FastC-GBM, paper's setting",
        "regression-boosting",
        "dics:CGBoostingRegressor.paper",
        {"n_estimators": N_ROUNDS},
    ),
    Model(
        "fastcgbm-regressor",
        "FastC-GBM, default",
        "regression-boosting",
        "dics:CGBoostingRegressor",
    ),
    Model(
        "xgboost-regressor", "XGBoost", "regression-boosting", "xgboost:XGBRegressor"
    ),
    Model(
        "lightgbm-regressor",
        "LightGBM",
        "regression-boosting",
        "lightgbm:LGBMRegressor",
        {"verbose": -1},
    ),
    Model(
        "hist-gradient-boosting",
        "HistGradientBoosting",
        "regression-boosting",
        "sklearn.ensemble:HistGradientBoostingRegressor",
    ),
)
ALL = (*TREES, *FORESTS, *BOOSTERS, *REGRESSORS)
# Models that are only in the comparison of split quality.
WHOLE_PAPER_DICTIONARY = Model(
    "cgct-paper-whole",
    "CGCT, paper's dictionary, all of it",
    "split-quality",
    "dics:CGTreeClassifier.paper",
    {"advanced__max_candidates": None},
)
RENEWED_DICTIONARY = Model(
    "cgct-renewed",
    "CGCT, default, thresholds renewed in small nodes",
    "split-quality",
    "dics:CGTreeClassifier",
    {**TREE, "advanced__renew_thresholds": True},
)
BY_NAME = {
    model.name: model for model in (*ALL, WHOLE_PAPER_DICTIONARY, RENEWED_DICTIONARY)
}


def of_family(family: str, chosen: Iterable[str] | None = None) -> list[Model]:
    """Return the models of a family in the order of a table, or the chosen ones."""
    names = None if chosen is None else set(chosen)
    return [
        model
        for model in ALL
        if model.family == family and (names is None or model.name in names)
    ]


def check_installed(models: Iterable[Model]) -> None:
    """Raise an ImportError with the install command if a package is missing."""
    for model in models:
        try:
            model.version  # noqa: B018
        except importlib.metadata.PackageNotFoundError:
            raise ImportError(
                f"The model {model.name!r} needs {model.package}. Install it with "
                "pip install 'dics-paper[peers]', or choose other models with --models."
            ) from None

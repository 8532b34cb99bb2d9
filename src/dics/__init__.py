"""Cluster-guided trees, forests and gradient boosting for scikit-learn."""

from dics._model.file import load
from dics._version import VERSION, show_versions
from dics.boosting import CGBoostingClassifier, CGBoostingRegressor
from dics.candidates import BaseCandidates, CentroidCandidates, QuantileCandidates
from dics.forest import CGForestClassifier, CGForestRegressor
from dics.options import (
    GOSS,
    BoostingOptions,
    CategoricalOptions,
    ForestOptions,
    TreeOptions,
)
from dics.tree import CGTreeClassifier, CGTreeRegressor

__version__ = VERSION

__all__ = [
    "GOSS",
    "BaseCandidates",
    "BoostingOptions",
    "CGBoostingClassifier",
    "CGBoostingRegressor",
    "CGForestClassifier",
    "CGForestRegressor",
    "CGTreeClassifier",
    "CGTreeRegressor",
    "CategoricalOptions",
    "CentroidCandidates",
    "ForestOptions",
    "QuantileCandidates",
    "TreeOptions",
    "load",
    "show_versions",
]

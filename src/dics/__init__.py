"""Trees, forests and boosting from a small dictionary of data-informed splits."""

from dics._model.file import load
from dics._version import VERSION
from dics.boosting import FastCGBMClassifier, FastCGBMRegressor
from dics.candidates import BaseCandidates, CentroidCandidates, QuantileCandidates
from dics.export import export_graphviz, export_text, plot_tree
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
    "CGForestClassifier",
    "CGForestRegressor",
    "CGTreeClassifier",
    "CGTreeRegressor",
    "CategoricalOptions",
    "CentroidCandidates",
    "FastCGBMClassifier",
    "FastCGBMRegressor",
    "ForestOptions",
    "QuantileCandidates",
    "TreeOptions",
    "export_graphviz",
    "export_text",
    "load",
    "plot_tree",
]

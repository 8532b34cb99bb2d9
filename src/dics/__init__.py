"""Cluster-guided trees, forests and gradient boosting for scikit-learn."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from dics import dask as dask
    from dics import export as export
    from dics import model as model
    from dics import plot as plot

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

# Imported at their first use: some need optional libraries.
_LAZY_MODULES = ("dask", "export", "model", "plot")

if not TYPE_CHECKING:  # otherwise, type checkers would accept any name

    def __getattr__(name: str) -> Any:
        if name in _LAZY_MODULES:
            return import_module(f"dics.{name}")
        raise AttributeError(f"module 'dics' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY_MODULES})

"""Estimators for Dask collections: bit-identical models on a cluster."""

from dics.dask._estimators import (
    DaskCGBoostingClassifier,
    DaskCGBoostingRegressor,
    DaskCGForestClassifier,
    DaskCGForestRegressor,
    DaskCGTreeClassifier,
    DaskCGTreeRegressor,
)
from dics.dask._watch import WorkersLost

__all__ = [
    "DaskCGBoostingClassifier",
    "DaskCGBoostingRegressor",
    "DaskCGForestClassifier",
    "DaskCGForestRegressor",
    "DaskCGTreeClassifier",
    "DaskCGTreeRegressor",
    "WorkersLost",
]

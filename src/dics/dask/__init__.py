"""Estimators for Dask collections: bit-identical models on a cluster."""

from dics.dask._estimators import (
    DaskCGBoostingClassifier,
    DaskCGBoostingRegressor,
    DaskCGForestClassifier,
    DaskCGForestRegressor,
    DaskCGTreeClassifier,
    DaskCGTreeRegressor,
)
from dics.dask._workers import WorkersLost

__all__ = [
    "DaskCGBoostingClassifier",
    "DaskCGBoostingRegressor",
    "DaskCGForestClassifier",
    "DaskCGForestRegressor",
    "DaskCGTreeClassifier",
    "DaskCGTreeRegressor",
    "WorkersLost",
]

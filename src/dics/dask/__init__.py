"""Estimators for Dask collections: the same models, byte for byte, on a cluster."""

from dics.dask._estimators import (
    DaskCGForestClassifier,
    DaskCGForestRegressor,
    DaskCGTreeClassifier,
    DaskCGTreeRegressor,
    DaskFastCGBMClassifier,
    DaskFastCGBMRegressor,
)
from dics.dask._workers import WorkersLost

__all__ = [
    "DaskCGForestClassifier",
    "DaskCGForestRegressor",
    "DaskCGTreeClassifier",
    "DaskCGTreeRegressor",
    "DaskFastCGBMClassifier",
    "DaskFastCGBMRegressor",
    "WorkersLost",
]

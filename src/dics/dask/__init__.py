"""Estimators for Dask collections: bit-identical models on a cluster."""

try:
    from dics.dask._estimators import (
        DaskCGBoostingClassifier,
        DaskCGBoostingRegressor,
        DaskCGForestClassifier,
        DaskCGForestRegressor,
        DaskCGTreeClassifier,
        DaskCGTreeRegressor,
    )
    from dics.dask._watch import WorkersLost
except ImportError as error:
    raise ImportError(
        f"dics.dask requires dask and distributed: pip install 'dics[dask]' ({error})"
    ) from error

__all__ = [
    "DaskCGBoostingClassifier",
    "DaskCGBoostingRegressor",
    "DaskCGForestClassifier",
    "DaskCGForestRegressor",
    "DaskCGTreeClassifier",
    "DaskCGTreeRegressor",
    "WorkersLost",
]

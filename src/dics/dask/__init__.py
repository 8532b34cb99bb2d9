"""Estimators for Dask collections: the same models, byte for byte, on a cluster."""

from dics.dask._estimators import DaskFastCGBMClassifier, DaskFastCGBMRegressor

__all__ = ["DaskFastCGBMClassifier", "DaskFastCGBMRegressor"]

"""Methods of others, to compare with."""

from dics.baselines._bdtks import BDTKSClassifier

__all__ = ["BDTKSClassifier"]

"""Methods of others, to compare with."""

from dics_paper.baselines._bdtks import BDTKSClassifier

__all__ = ["BDTKSClassifier"]

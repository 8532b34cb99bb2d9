"""Baseline methods for comparisons."""

from dics_paper.baselines._bdtks import BDTKSClassifier

__all__ = ["BDTKSClassifier"]

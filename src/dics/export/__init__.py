"""Fitted models for people and for other programs.

A tree as text and as Graphviz source; any model for ONNX, treelite, shap and skops, and
as JSON.
"""

from dics.export._interop import SKOPS_TRUSTED, to_json, to_shap, to_treelite
from dics.export._onnx import to_onnx
from dics.export._skl2onnx import register_skl2onnx
from dics.export._text import export_graphviz, export_text

__all__ = [
    "SKOPS_TRUSTED",
    "export_graphviz",
    "export_text",
    "register_skl2onnx",
    "to_json",
    "to_onnx",
    "to_shap",
    "to_treelite",
]

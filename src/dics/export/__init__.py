"""Export of fitted models.

`export_text` and `export_graphviz` describe a single tree. The other functions convert
any model to ONNX, treelite, shap or JSON. `SKOPS_TRUSTED` is for files of skops.
"""

from dics.export._interop import SKOPS_TRUSTED, to_json, to_shap, to_treelite
from dics.export._onnx import register_skl2onnx, to_onnx
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

"""Export of fitted models.

`export_text` and `export_graphviz` describe a single tree. `to_dataframe` returns a
table of all nodes. The other functions convert any model to ONNX, treelite, shap or
JSON; `encode_categories` makes rows for them. `SKOPS_TRUSTED` is for files of skops.
"""

from dics.export import _interop
from dics.export._interop import encode_categories, to_json, to_treelite
from dics.export._onnx import register_skl2onnx, to_onnx
from dics.export._shap import to_shap
from dics.export._table import to_dataframe
from dics.export._text import export_graphviz, export_text

#: Names of the types in a model, for the argument `trusted` of ``skops.io.load``.
#: None of them runs code when it is loaded.
SKOPS_TRUSTED = _interop.SKOPS_TRUSTED

__all__ = [
    "SKOPS_TRUSTED",
    "encode_categories",
    "export_graphviz",
    "export_text",
    "register_skl2onnx",
    "to_dataframe",
    "to_json",
    "to_onnx",
    "to_shap",
    "to_treelite",
]

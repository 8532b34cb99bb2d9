"""Formulas as MathML, which browsers show without a script from another host."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.utils.math import latex2mathml
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.writers.html5 import HTML5Translator


def visit_inline(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    self.body.append(latex2mathml.tex2mathml(node.astext()))
    raise nodes.SkipNode


def visit_block(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula in a line of its own."""
    formula = latex2mathml.tex2mathml(node.astext(), as_block=True)
    self.body.append(f'<div class="math-block">{formula}</div>\n')
    raise nodes.SkipNode


def use_mathml(app: Sphinx, config: Config) -> None:  # noqa: ARG001
    """Replace the default, MathJax, which is loaded from another host."""
    config.html_math_renderer = "mathml"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("config-inited", use_mathml)
    return {"parallel_read_safe": True}

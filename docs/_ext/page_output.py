"""Output of the Python blocks of a page, from a run during the build.

The directive runs all blocks of the page above it, and shows the printed text and the
figures of the last block: ::

    ```{output}
    :alt: Alternative text of the figure
    ```

The blocks of a page share one namespace, as in tests/project/test_pages.py.
"""

from __future__ import annotations

import base64
import contextlib
import io
import os
import re
import tempfile
import warnings
from pathlib import Path
from typing import Any, ClassVar

import matplotlib as mpl
from docutils import nodes
from docutils.parsers.rst import directives
from matplotlib import pyplot as plt
from sphinx.util.docutils import SphinxDirective

mpl.use("Agg")
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
DPI = 110
LONGEST_LINE = 88


class PageRun:
    """The blocks of one page that have run."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "page"}
        self.n_done = 0
        self.folder = tempfile.TemporaryDirectory()

    def run(self, page: str, blocks: list[str]) -> str:
        """Run the blocks that have not run yet; return the text of the last one."""
        text = ""
        before = Path.cwd()
        os.chdir(self.folder.name)  # pages save models
        try:
            for i in range(self.n_done, len(blocks)):
                plt.close("all")
                code = compile(blocks[i], f"{page}, block {i}", "exec")
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed), warnings.catch_warnings():
                    warnings.simplefilter("error")
                    exec(code, self.names)
                text = printed.getvalue()
        finally:
            os.chdir(before)
        self.n_done = len(blocks)
        return text


RUNS: dict[str, PageRun] = {}


class OutputDirective(SphinxDirective):
    """Insert the output of the last Python block above."""

    option_spec: ClassVar[dict[str, Any]] = {"alt": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Return a block of text, and an image per figure."""
        page = self.env.docname
        source = Path(self.env.doc2path(page)).read_text(encoding="utf-8")
        above = "".join(source.splitlines(keepends=True)[: self.lineno - 1])
        blocks = BLOCK.findall(above)
        if page not in RUNS or RUNS[page].n_done > len(blocks):
            RUNS[page] = PageRun()
        text = RUNS[page].run(page, blocks)
        found: list[nodes.Node] = []
        if text.strip():
            block = nodes.literal_block(text.rstrip(), text.rstrip())
            block["language"] = "text"
            # Text that needs more than the column of code has is wrapped.
            if max(map(len, text.splitlines())) > LONGEST_LINE:
                block["classes"].append("wrapped-output")
            found.append(block)
        for number in plt.get_fignums():
            if "alt" not in self.options:
                raise self.error("A figure needs an alternative text (:alt:).")
            image = io.BytesIO()
            plt.figure(number).savefig(image, dpi=DPI, bbox_inches="tight")
            uri = base64.b64encode(image.getvalue()).decode()
            found.append(
                nodes.image(uri=f"data:image/png;base64,{uri}", alt=self.options["alt"])
            )
        plt.close("all")
        if not found:
            raise self.error("The block above prints nothing, and has no figure.")
        return found

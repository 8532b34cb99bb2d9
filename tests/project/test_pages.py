"""The Python blocks of the documentation run, page by page."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
# Blocks of the other pages have own tests.
OTHERS = {"deploy/export.md"}
PAGES = {
    path.relative_to(DOCS).as_posix(): re.findall(
        r"^```python\n(.*?)^```",
        path.read_text(encoding="utf-8"),
        re.DOTALL | re.MULTILINE,
    )
    for path in sorted(DOCS.rglob("*.md"))
    if "reproduction" not in path.parts
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "page", [name for name, blocks in PAGES.items() if blocks and name not in OTHERS]
)
def test_blocks_of_a_page_run(page, tmp_path, monkeypatch):
    """The blocks of a page share their names, as in a notebook."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for i, block in enumerate(PAGES[page]):
        exec(compile(block, f"{page}, block {i}", "exec"), names)

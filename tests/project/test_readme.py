"""The Python blocks of README.md run."""

import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"
TEXT = README.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def test_there_are_examples():
    assert len(BLOCKS) >= 2


@pytest.mark.parametrize("block", range(len(BLOCKS)))
def test_block_runs(block, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    exec(compile(BLOCKS[block], f"README.md, block {block}", "exec"), {})
    printed = capsys.readouterr().out
    assert bool(printed) == ("print(" in BLOCKS[block])


def test_links_exist():
    for target in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (README.parent / target).exists(), target


def test_pictures_exist():
    for picture in re.findall(r"\]\((docs/images/[^)]+)\)", TEXT):
        assert (README.parent / picture).is_file(), picture


def test_markers_for_measured_tables():
    kinds = ("", "forest_", "boosting_")
    names = ["tree", "forest", "boosting", *(f"{kind}accuracy" for kind in kinds)]
    for name in names:
        assert TEXT.count(f"<!-- {name}: begin") == 1
        assert TEXT.count(f"<!-- {name}: end -->") == 1

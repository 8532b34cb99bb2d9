"""README.md is one page, its blocks run, its links exist, its numbers are measured."""

import json
import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[2] / "README.md"
RESULTS = README.parent / "benchmarks" / "results"
TEXT = README.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def test_it_is_one_page():
    assert len(TEXT.splitlines()) <= 110


def test_there_are_examples():
    assert len(BLOCKS) >= 1


@pytest.mark.parametrize("block", range(len(BLOCKS)))
def test_block_runs(block, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    exec(compile(BLOCKS[block], f"README.md, block {block}", "exec"), {})
    printed = capsys.readouterr().out
    assert bool(printed) == ("print(" in BLOCKS[block])


def test_links_exist():
    for target in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (README.parent / target).exists(), target


def test_pictures_have_a_text():
    for text, picture in re.findall(r"!\[(.*?)\]\(([^)]+)\)", TEXT, re.DOTALL):
        assert len(text) > 20, picture


def test_numbers_are_those_of_the_result_files():
    """The README names the least and the largest ratio on wide data."""
    trees = json.loads((RESULTS / "tree.json").read_text(encoding="utf-8"))
    forests = json.loads((RESULTS / "forest.json").read_text(encoding="utf-8"))
    tree = [row["whole"]["ratio"] for row in trees["rows"] if row["features"] >= 784]
    forest = [
        row["ratios"]["rf / ours"] for row in forests["rows"] if row["features"] >= 784
    ]
    words = " ".join(TEXT.split())
    assert (len(tree), len(forest)) == (5, 4)
    assert f"one tree takes {min(tree):.0f} to {max(tree):.0f} times less" in words
    assert f"on four of them {min(forest):.0f} to {max(forest):.0f} times" in words
    for result in (trees, forests):
        assert result["machine"]["date"] in words

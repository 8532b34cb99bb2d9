"""The Python blocks of docs/deploy/export.md run, and their comparisons are true."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "deploy" / "export.md"
TEXT = PAGE.read_text(encoding="utf-8")
BEGIN, *BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
LIBRARIES = ("mlflow", "onnxruntime", "pandas", "shap", "skl2onnx", "skops", "treelite")


@pytest.fixture(scope="module")
def names():
    known = {}
    exec(BEGIN, known)
    return known


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_block_runs(block, names, capsys, tmp_path, monkeypatch):
    for library in LIBRARIES:
        if re.search(rf"^(import|from) {library}\b", block, re.MULTILINE):
            pytest.importorskip(library)
    if "onnxruntime" in block:
        pytest.importorskip("onnx")
    monkeypatch.chdir(tmp_path)  # MLflow writes a data base
    exec(compile(block, PAGE.name, "exec"), dict(names))
    printed = capsys.readouterr().out
    assert printed
    assert "False" not in printed

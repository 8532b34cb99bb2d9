"""The scripts of examples/ run and print the expected lines."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(name, capsys):
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out


def test_categories(capsys):
    assert "district in {" in run("categories.py", capsys)


def test_claims(capsys):
    assert "Expected by the model: 455" in run("claims.py", capsys)


def test_sparse(capsys):
    assert "dense X: yes" in run("sparse_words.py", capsys)


@pytest.mark.slow
def test_cluster(capsys):
    pytest.importorskip("distributed")
    assert "Bit-identical to the local model: yes" in run("cluster.py", capsys)

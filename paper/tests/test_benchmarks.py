"""The benchmarks run and write results, and README.md has the stored ones."""

import importlib
import json
import runpy
from pathlib import Path

import pytest

from dics_paper.store import Store

ROOT = Path(__file__).resolve().parent.parent.parent
BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture(autouse=True)
def benchmarks_on_path(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)


def run(name, *arguments):
    importlib.import_module(f"bench_{name}").main(list(arguments))


def test_tree_benchmark(tmp_path, capsys):
    file = tmp_path / "tree.json"
    run("tree", "--datasets", "iris", "--repeats", "1", "--json", str(file))
    (row,) = json.loads(file.read_text())["rows"]
    assert (row["rows"], row["features"], row["classes"]) == (112, 4, 3)
    assert row["whole"]["accuracy"] > 0.9
    assert "| iris | 112 x 4 |" in capsys.readouterr().out


def test_missing_data_are_skipped(monkeypatch, capsys):
    monkeypatch.delenv("DICS_DATA_DIR", raising=False)
    run("candidates", "--datasets", "otto")
    assert "Skipped otto: set DICS_DATA_DIR" in capsys.readouterr().out


def test_accuracies_of_other_libraries_are_stored(tmp_path, monkeypatch, capsys):
    bench = importlib.import_module("bench_accuracy")
    family = bench.FAMILIES["tree"]._replace(small_splits=2)
    monkeypatch.setitem(bench.FAMILIES, "tree", family)
    cache = tmp_path / "peers.jsonl"
    for _ in range(2):
        run("accuracy", "--datasets", "iris", "--cache", str(cache))
        assert len(cache.read_text().splitlines()) == 4  # two depths, two splits
    assert "| iris |" in capsys.readouterr().out


def test_slow_boosting_libraries_are_stored(tmp_path, monkeypatch):
    pytest.importorskip("lightgbm")
    peers = importlib.import_module("boosting_peers")
    monkeypatch.setattr(peers, "SLOW", 0.0)
    monkeypatch.setattr(peers, "BUSY", 1e9)
    split = importlib.import_module("common").load("iris")
    plan = peers.Plan(1, 3, 10, 1, Store(tmp_path / "peers.jsonl"), False, {})
    first, model = peers.run_peer("lgbm_d3", "iris", split, plan)
    assert model is not None
    assert [n for n, _, _ in first["curve"]] == [1, 2, 3]
    kept, model = peers.run_peer("lgbm_d3", "iris", split, plan)
    assert (kept["seconds"], kept["kept"], model) == (first["seconds"], True, None)
    fresh, _ = peers.run_peer("lgbm_d3", "iris", split, plan._replace(fresh=True))
    assert not fresh["kept"]


def test_list_of_benchmarks(capsys):
    main = runpy.run_path(str(BENCHMARKS / "run.py"))["main"]
    assert main([]) == 0
    shown = capsys.readouterr().out
    for file in BENCHMARKS.glob("bench_*.py"):
        assert file.stem.removeprefix("bench_") in shown


def test_tables_of_the_site_from_the_stored_results(monkeypatch, tmp_path):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    tables = importlib.import_module("tables")
    made = importlib.import_module("bench_tables")
    texts = {name: show() for name, show in tables.TABLES.items()}
    for name in ("tree_times", "forest_times", "boosting_reach", "tree_accuracy"):
        assert "| mnist " in texts[name]
    assert "DecisionTree" in texts["tree_times"]

    monkeypatch.setattr(made.bench_suite, "STORE", tmp_path / "suite.jsonl")
    assert "make bench" in made.suite()
    store = made.Store(tmp_path / "suite.jsonl")
    for model, package, loss in (("dics", "dics", 0.8), ("LightGBM", "lightgbm", 1.0)):
        for version, worse in (("1", 0.0), ("2", 0.1)):
            if (model, version) != ("LightGBM", "2"):
                key = {
                    "table": "a",
                    "seed": 0,
                    "model": model,
                    "cpu": "x",
                    "threads": 2,
                }
                result = {"loss": loss + worse, "wall": 1.0, "cpu": 1.0, "predict": 1.0}
                store.keep(
                    {**key, "version": f"{package} {version}"},
                    result=result,
                    date="2026-11-19",
                )
    shown = made.suite()
    assert "-10.0%" in shown  # of the last version
    assert "dics 2, lightgbm 1; 2026-11-19" in shown

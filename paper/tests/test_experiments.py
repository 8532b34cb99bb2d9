"""Parts of the experiments: models, numbers of the paper, data, summaries."""

import importlib
from dataclasses import replace

import numpy as np
import pytest
from checks import write_spambase

from dics_paper import data as data_module
from dics_paper import paper
from dics_paper.data import of_benchmark, real, reduced, synthetic, with_class_indices
from dics_paper.datasets import DatasetNotFoundError
from dics_paper.depth_gain import DepthGain
from dics_paper.models import BY_NAME, check_installed, of_family
from dics_paper.options import Options, check_datasets, check_models
from dics_paper.paper import Printed
from dics_paper.regression import Regression
from dics_paper.reproduction import facts
from dics_paper.running.runner import Results
from dics_paper.running.tasks import Result, Run
from dics_paper.scales import SCALES
from dics_paper.sensitivity import Sensitivity
from dics_paper.split_scaling import SplitScaling
from dics_paper.summary import Summary, uneven

TINY = synthetic(120, 6, 3, rho=0.5)


def try_import(package):
    """Skip if another library is missing or incomplete."""
    try:
        importlib.import_module(package)
    except Exception as error:
        pytest.skip(f"{package}: {error}")


# --- models ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_models_can_be_fitted(name, n_classes):
    model = BY_NAME[name]
    if model.package in ("lightgbm", "xgboost"):
        try_import(model.package)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 5)).astype(np.float32)
    y = np.arange(80) % n_classes
    settings = {"n_estimators": 3} if model.family in ("forest", "boosting") else {}
    estimator = model.make(seed=1, n_jobs=1, n_classes=n_classes, settings=settings)
    assert estimator.fit(X, y).predict(X).shape == (80,)


def test_configuration_of_the_paper():
    tree = BY_NAME["cgct-paper"].make(settings={"candidates__n_pairs": 7})
    assert (tree.max_depth, tree.min_samples_split) == (8, 3)
    assert tree.advanced.max_candidates == 100
    assert tree.candidates.n_clusters == "classes"
    assert tree.candidates.n_pairs == 7
    assert not tree.candidates.fill_quantiles
    forest = BY_NAME["cgrf-paper"].make()
    assert (forest.advanced.feature_sampling, forest.advanced.voting) == (
        "tree",
        "hard",
    )
    boosting = BY_NAME["fastcgbm-paper"].make()
    assert (boosting.sampling.top_rate, boosting.max_depth) == (0.2, 3)
    assert boosting.n_estimators == 100


def test_each_family_has_one_baseline_and_one_default():
    for family in ("tree", "forest", "boosting"):
        models = of_family(family)
        assert sum(model.baseline for model in models) == 1
        assert sum(model.ours and not model.baseline for model in models) == 1
    assert [m.name for m in of_family("tree", ["bdtks", "lightgbm"])] == ["bdtks"]


def test_a_missing_package_names_the_command():
    absent = replace(BY_NAME["lightgbm"], build="surely_not_installed:Model")
    with pytest.raises(
        ImportError, match=r"pip install 'dics-paper\[peers\]'.*--models"
    ):
        check_installed([absent])


# --- the paper's figures --------------------------------------------------------------


def number(text):
    return float(text.split()[0])


@pytest.mark.parametrize("table", paper.COMPARISONS, ids=str)
def test_printed_ratios_are_those_of_the_printed_times(table):
    # Times are rounded to 0.005 s, so ratios of small times are uncertain.
    name, rho = table
    family = name.split("-")[1]
    baseline = next(m.name for m in of_family(family) if m.baseline)
    checked = 0
    for line in paper.COMPARISONS[table].strip().splitlines()[1:]:
        data = line.split("|")[0].strip()
        ours = number(paper.printed(name, rho, data, baseline).seconds)
        for model in of_family(family):
            printed = paper.printed(name, rho, data, model.name)
            if printed.ratio:
                low = (number(printed.seconds) - 0.005) / (ours + 0.005)
                high = (number(printed.seconds) + 0.005) / max(ours - 0.005, 1e-9)
                assert 0.99 * low <= float(printed.ratio) <= 1.01 * high, (data, model)
                checked += 1
    assert checked >= 6


def test_printed_tables_cover_the_papers_data():
    for name, rho in paper.COMPARISONS:
        scale = SCALES["paper"]
        sets = scale.real_data() if rho is None else scale.synthetic_data(rho, "shared")
        model = next(m for m in of_family(name.split("-")[1]) if m.baseline)
        for data in sets:
            assert paper.printed(name, rho, data.name, model.name).accuracy
    assert paper.printed("real-tree", None, "no such set", "bdtks") == paper.Printed()
    assert paper.printed("no-table", None, "mnist", "bdtks") == paper.Printed()


# --- data -----------------------------------------------------------------------------


def test_repetitions_of_synthetic_data_differ():
    first, again, second = TINY.load(0, None), TINY.load(0, None), TINY.load(1, None)
    np.testing.assert_array_equal(first.X_train, again.X_train)
    assert not np.array_equal(first.X_train, second.X_train)
    assert first.X_train.shape == (120, 6)
    assert first.X_train.dtype == np.float32
    assert len(first.X_test) == 50


def test_classes_are_numbered():
    X = np.zeros((3, 2))
    split = with_class_indices(X, [5, 9, 5], X, [9, 5, 7])
    assert split.y_train.tolist() == [0, 1, 0]
    assert split.y_test.tolist() == [1, 0, -1]  # 7 is unknown, so it is always wrong
    assert split.n_classes == 2


def test_only_santander_is_replaced(monkeypatch, tmp_path):
    def fail(*args, **kwargs):
        raise DatasetNotFoundError("no network")

    monkeypatch.setattr(data_module, "load_dataset", fail)
    with pytest.raises(DatasetNotFoundError, match="no network"):
        real("mnist").load(0, tmp_path)
    santander = replace(real("santander"), n_samples=200, n_features=10)
    split = santander.load(0, tmp_path)
    assert split.X_train.shape == (200, 10)
    assert "not available" in split.note
    np.testing.assert_array_equal(split.X_train, santander.load(1, tmp_path).X_train)


def test_generated_set_has_the_same_size():
    data = real("santander")
    n_rows, n_features, n_classes = paper.DATASETS["santander"]
    assert (data.n_samples, data.n_features, data.n_classes) == (150_000, 200, 2)
    assert (n_rows, n_features, n_classes) == (200_000, 200, 2)


def test_origin_of_a_set(monkeypatch, tmp_path):
    monkeypatch.delenv("DICS_DATA_DIR", raising=False)
    assert real("mnist").found_in(None).origin == "OpenML"
    assert real("mnist").found_in(tmp_path).origin == "nowhere"
    assert reduced("mnist", 9).found_in(None).origin == "generated"
    assert TINY.found_in(None) == TINY
    write_spambase(tmp_path, np.zeros((9, 2)), np.zeros(9))
    before = real("spambase").found_in(tmp_path)
    assert before.origin.startswith("spambase.npz, ")
    monkeypatch.setenv("DICS_DATA_DIR", str(tmp_path))
    assert real("spambase").found_in(None) == before
    write_spambase(tmp_path, np.zeros((10, 2)), np.zeros(10))
    assert real("spambase").found_in(None) != before
    monkeypatch.setenv("DICS_DATA_DIR", str(tmp_path / "typo"))
    with pytest.raises(DatasetNotFoundError, match="typo does not exist"):
        real("spambase").found_in(None)


def test_reduced_sets_use_no_network(monkeypatch):
    monkeypatch.delenv("DICS_DATA_DIR", raising=False)
    monkeypatch.setattr(data_module, "load_dataset", None)  # would fail if called
    split = reduced("mnist", 100).load(0, None)
    assert split.X_train.shape == (100, 60)
    assert "generated data" in split.note


def test_reduced_sets_use_existing_files(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4601, 57)).astype(np.float32)
    write_spambase(tmp_path, X, np.arange(4601) % 2)
    split = reduced("spambase", 100).load(0, tmp_path)
    assert split.X_train.shape == (100, 57)
    assert split.note == ""


def test_unknown_choices_list_the_known_ones():
    with pytest.raises(ValueError, match="Unknown model 'foo'; use one of cgct-paper"):
        check_models(["foo"])
    with pytest.raises(ValueError, match=r"Unknown data set 'x'.*mnist.*400x40-k3"):
        check_datasets(["x"], SCALES["smoke"])
    check_datasets(["mnist", "400x40", "400x40-k3"], SCALES["smoke"])


def test_data_are_chosen_by_name_or_size():
    options = Options(SCALES["smoke"], 1, datasets=("120x6", "mnist"))
    assert options.includes(TINY)
    assert options.includes(real("mnist"))
    assert not options.includes(real("cifar10"))


def test_sets_of_the_benchmarks(monkeypatch, tmp_path):
    split = of_benchmark("wine").load(1)
    assert (split.shape, split.size) == ("133 x 13", [133, 45, 13, 3])
    assert not of_benchmark("wine").same_rows
    assert of_benchmark("mnist").same_rows
    assert of_benchmark("synthetic_6000x500").n_samples == 6_000
    monkeypatch.delenv("DICS_DATA_DIR", raising=False)
    with pytest.raises(DatasetNotFoundError, match=r"otto: set DICS_DATA_DIR"):
        of_benchmark("otto").load(0)
    monkeypatch.setenv("DICS_DATA_DIR", str(tmp_path))
    with pytest.raises(DatasetNotFoundError, match=r"otto: .*otto\.npz does not exist"):
        of_benchmark("otto").load(0)


def test_scores_of_a_split():
    split = of_benchmark("iris").load(0)
    tree = BY_NAME["cgct"].make().fit(split.X_train, split.y_train)
    assert 0.9 < split.accuracy(tree) == tree.score(split.X_test, split.y_test)
    assert split.log_loss(tree) > 0
    assert split.guess_log_loss() > 1


# --- summaries ------------------------------------------------------------------------


def test_summary_of_runs():
    results = [Result("ok", s, a) for s, a in ((1.0, 0.5), (3.0, 0.7))]
    summary = Summary(BY_NAME["bdtks"], results, paper.Printed())
    assert summary.show_seconds() == "2.00 (1.41)"
    assert summary.show_accuracy() == "0.6000 (0.1414)"
    one = Summary(BY_NAME["cgct"], [Result("ok", 0.5, 0.7)], paper.Printed())
    assert (one.show_seconds(), one.show_accuracy()) == ("0.500", "0.7000")
    assert summary.show_ratio(one) == "4.00"


def test_summary_of_a_stopped_fit():
    ours = Summary(BY_NAME["cgct"], [Result("ok", 0.5, 0.7)], paper.Printed())
    stopped = [Result("over limit", 60.0)]
    summary = Summary(BY_NAME["bdtks"], stopped, paper.Printed())
    assert summary.show_seconds() == "> 60"
    assert summary.show_ratio(ours) == "> 120"
    assert summary.show_accuracy() == ""
    nothing = Summary(BY_NAME["bdtks"], [], paper.Printed())
    assert (nothing.show_seconds(), nothing.show_ratio(ours)) == ("not run", "")


def test_uneven_runs_are_reported():
    once = [Result("ok", 1.0, 0.5)]
    ours = Summary(BY_NAME["cgct"], [*once, Result("ok", 1.0, 0.9)], paper.Printed())
    peer = Summary(BY_NAME["bdtks"], once, paper.Printed())
    assert uneven([ours, peer]).endswith("the accuracy: CGCT, default 0.5000.")
    assert uneven([peer, peer]) == ""


def test_stopped_runs_are_reported():
    results = [Result("ok", 58.0, 0.5), Result("over limit", 60.0)]
    summary = Summary(BY_NAME["bdtks"], results, paper.Printed())
    assert summary.runs == 1
    assert summary.notes == ["One run of BDTKS is excluded: stopped after 60 s"]


# --- incomplete parts -----------------------------------------------------------------


def results_of(experiment, options, result):
    results = Results()
    for task in experiment.tasks(options):
        results.add(Run(task, result(task), {}))
    return results


def grown(task):
    return Result("ok", 1.0, 0.5, gains=[[0.1, 0.1]] * 8)


def test_gains_of_the_paper_are_shown_with_their_model(monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.delenv("DICS_DATA_DIR", raising=False)
    options = Options(SCALES["smoke"], 1)

    def all_but_the_first(task):
        failed = task.model == "cgct-paper-whole"
        return Result("failed", error="ouch") if failed else grown(task)

    table, _ = DepthGain().parts(options, results_of(DepthGain(), options, grown))
    assert table.blocks[0].rows[7][7].paper == "97.18"
    assert table.blocks[0].rows[4][5].paper == "0.070"
    results = results_of(DepthGain(), options, all_but_the_first)
    table, _ = DepthGain().parts(options, results)
    assert len(table.blocks) == 3
    cells = [cell for block in table.blocks for row in block.rows for cell in row]
    assert not any(cell.paper for cell in cells)


def test_a_stopped_exhaustive_tree_is_reported(monkeypatch):
    monkeypatch.delenv("DICS_DATA_DIR", raising=False)
    options = Options(SCALES["smoke"], 1)
    results = results_of(DepthGain(), options, lambda _: Result("over limit", 60.0))
    (table,) = DepthGain().parts(options, results)
    assert "over limit" in table.notes[0]


def test_regression_is_marked_as_not_in_the_paper(monkeypatch, tmp_path):
    monkeypatch.delenv("DICS_DATA_DIR", raising=False)
    options = Options(SCALES["smoke"], 1)
    for family in ("tree", "forest", "boosting"):
        experiment = Regression(family)
        table, *_ = experiment.parts(options, results_of(experiment, options, grown))
        assert table.title.startswith("Not in the paper: regression")
        assert "not in the paper" in table.notes[0]
        assert [column.label for column in table.columns][4] == "Test R2"
        assert not any(cell.paper for row in table.rows for cell in row)
    medium = Options(SCALES["medium"], 1, data_dir=tmp_path)
    assert {d.n_features for d in medium.regression_data()} == {20, 1000}
    folder = tmp_path / "bike_sharing"
    folder.mkdir()
    X, y = np.arange(80.0).reshape(40, 2), np.arange(40.0)
    np.savez(folder / "bike_sharing.npz", X=X, y=y)
    (found,) = [d for d in medium.regression_data() if d.name == "bike_sharing"]
    split = found.load(0, tmp_path)
    assert split.n_classes == 0
    assert split.X_train.shape == (30, 2)
    tree = BY_NAME["cgrt"].make().fit(split.X_train, split.y_train)
    assert 0.8 < split.accuracy(tree) == tree.score(split.X_test, split.y_test)


def test_choices_reach_every_experiment(monkeypatch):
    monkeypatch.delenv("DICS_DATA_DIR", raising=False)
    boosting = Options(SCALES["smoke"], 1, models=("fastcgbm",))
    mnist = Options(SCALES["smoke"], 1, datasets=("mnist",))
    for experiment in (DepthGain(), Sensitivity(), SplitScaling()):
        assert experiment.tasks(Options(SCALES["smoke"], 1))
        assert experiment.tasks(boosting) == []
        assert experiment.tasks(mnist) == []
        assert experiment.parts(mnist, Results()) == []


@pytest.mark.parametrize("note", ["", "generated data stand in"])
def test_accuracies_on_other_data_are_marked(note):
    """One cell has the number of the paper and that of generated data."""
    results = [Result("ok", 1.0, 0.5, note=note)]
    row = Summary(BY_NAME["cgct"], results, Printed("1", "2", "0.90"))
    assert row.show_printed_accuracy() == ("0.90, other data" if note else "0.90")
    assert Summary(row.model, results, Printed()).show_printed_accuracy() == ""


def test_report_has_the_load_of_the_machine():
    runs = [Run(None, None, {"cpu": "x", "load": load}) for load in (0.1, 2.5)]
    found = facts(Options(SCALES["smoke"], 1), runs)
    assert found["cpu"] == "x"
    assert found["load_average"].startswith("0.1 to 2.5 ")
    assert "other programs were running" in found["load_average"]
    idle = facts(Options(SCALES["smoke"], 1), runs[:1])["load_average"]
    assert idle.startswith("0.1 ")
    assert "other programs" not in idle

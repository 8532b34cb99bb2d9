"""The benchmark against another revision: pairs, tables, options and the worker."""

import importlib
import io
import json
import shutil
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
TREE = {"class": "CGTreeClassifier", "parameters": {"max_depth": 3}}
FIT = {"action": "fit", "model": TREE}


def load_module(name):
    """Import a module of the benchmarks, and keep the path unchanged."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(BENCHMARKS))


rows = load_module("against_rows")
tasks = load_module("against_tasks")
worker = load_module("against_worker")
builds = load_module("against_builds")
bench = load_module("bench_against")


class FakeSide:
    """Returns given seconds for its calls, and records the order of calls."""

    def __init__(self, name, seconds, turns, digest="a"):
        self.name, self.seconds, self.turns = name, seconds, turns
        self.fingerprint = digest

    def __call__(self, do, task, calls=None):
        if do == "digest":
            return {"digest": self.fingerprint}
        if do == "time":
            self.turns.append((self.name, calls))
        return {"seconds": self.seconds}


def make_row(old, new, **values):
    return rows.Row(
        "iris", "fit: tree", "tree", old, new, n_first=len(old), same=True, **values
    )


# --- pairs ----------------------------------------------------------------------------


def test_ratio_is_the_median_of_the_pairs():
    row = make_row([1.0, 2.0, 4.0, 1.0], [1.1, 2.0, 8.0, 1.2])
    assert row.ratio == pytest.approx(1.15)
    assert row.quartiles == pytest.approx((1.075, 1.4))
    assert row.is_slower(1.05)
    assert not row.is_slower(1.2)


def test_sides_take_turns_and_swap():
    turns = []
    row = rows.Row("iris", "fit: tree", "tree")
    old, new = FakeSide("old", 2.0, turns), FakeSide("new", 3.0, turns)
    rows.measure(row, FIT, old, new, times=1, quick=False)
    names = [name for name, _ in turns]
    assert names[:4] == ["old", "new", "new", "old"]
    assert names.count("old") == names.count("new") == len(row.old) >= 5
    assert row.ratio == 1.5
    assert row.same


def test_more_pairs_are_added():
    turns = []
    row = rows.Row("iris", "fit: tree", "tree")
    rows.measure(
        row,
        FIT,
        FakeSide("old", 1.0, turns),
        FakeSide("new", 1.2, turns),
        times=1,
        quick=True,
    )
    n_first = len(row.old)
    rows.measure(
        row,
        FIT,
        FakeSide("old", 1.0, turns),
        FakeSide("new", 1.0, turns, digest="b"),
        times=2,
        quick=True,
    )
    assert len(row.old) == len(row.new) == 3 * n_first
    assert row.ratio == 1.0
    assert row.first_ratio == pytest.approx(1.2)
    assert row.same is False


def test_short_calls_are_repeated():
    turns = []
    row = rows.Row("iris", "predict", "predict")
    sides = (FakeSide(name, 0.0011, turns) for name in ("old", "new"))
    rows.measure(row, FIT, *sides, times=1, quick=False)
    assert {calls for _, calls in turns} == {rows.count_calls(0.0011)} == {46}
    assert len(row.old) >= 15


@pytest.mark.parametrize(("seconds", "least"), [(0.05, 15), (0.3, 6), (2.0, 5)])
def test_each_side_goes_first_equally_often(seconds, least):
    n_pairs = rows.count_pairs(seconds)
    assert n_pairs >= least
    firsts = [first for first, _ in rows.alternate(n_pairs)]
    assert firsts.count("old") == firsts.count("new")


# --- tables ---------------------------------------------------------------------------


def test_report_names_slower_failed_and_skipped():
    good = make_row([1.0, 1.0], [0.9, 0.9])
    bad = make_row([0.001, 0.001], [0.0012, 0.0012])
    failed = rows.Row("wine", "load", "load", problem="new: the process has ended")
    report = rows.make_report([good, bad, failed], ["mnist: not there"], 1.05)
    assert "2 rows" in report
    assert "1 slower than 1.05x" in report
    assert "Worst row: 1.200" in report
    assert "| 1.00 ms | 1.20 ms | 1.200 | 1.200 - 1.200 | 2 | yes | slower |" in report
    assert "- Failed: wine, load: new: the process has ended" in report
    assert "- Skipped: mnist: not there" in report
    assert f"geometric mean of new/old {(0.9 * 1.2) ** 0.5:.3f}" in report


def test_report_without_rows():
    assert "No row" in rows.make_report([], ["mnist: not there"], 1.05)


def test_table_lines_have_as_many_cells():
    table = rows.make_table([make_row([1.0, 2.0], [1.0, 2.0])], 1.05)
    assert {line.count("|") for line in table.splitlines()} == {len(rows.COLUMNS) + 1}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2.5, "2.50 s"), (0.0123, "12.3 ms"), (0.9996, "1000 ms"), (2e-5, "20.0 us")],
)
def test_seconds_have_three_digits(seconds, text):
    assert rows.show_seconds(seconds) == text


def test_row_can_be_written_as_json():
    row = make_row([1.0, 1.0], [2.0, 2.0])
    assert json.loads(json.dumps(row.as_dict()))["ratio"] == 2.0
    json.dumps(rows.Row("wine", "load", "load", problem="ended").as_dict())


# --- tasks and options ----------------------------------------------------------------


def test_tasks_have_unique_names_and_known_groups():
    made = tasks.make_tasks(1_000, 3)
    assert len({task.name for task in made}) == len(made)
    assert {task.group for task in made} == set(tasks.GROUPS)


def test_large_data_get_fewer_trees():
    sizes = [tasks.choose_sizes(work) for work in (100, 50_000, 600_000, 10**7)]
    assert sizes == sorted(set(sizes), reverse=True)


def test_tasks_can_be_chosen():
    made = tasks.make_tasks(1_000, 3, ("forest", "predict"), predict=False)
    assert {task.group for task in made} == {"forest"}


def test_default_options():
    plan = bench.Plan.from_options(bench.parse(["HEAD~3"]))
    assert plan.datasets == tasks.DATASETS
    assert plan.limit == 1.05
    groups = {task.group for task in plan.tasks("spambase", 3_000, 2)}
    assert groups == set(tasks.GROUPS) - {"predict"}


def test_named_sets_are_also_predicted():
    options = bench.parse(["v1", "--datasets", "spambase", "--quick", "--limit", "2"])
    plan = bench.Plan.from_options(options)
    assert options.revision == "v1"
    assert (plan.datasets, plan.quick, plan.limit) == (["spambase"], True, 2.0)
    assert "predict" in {task.group for task in plan.tasks("spambase", 3_000, 2)}


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (make_row([1.0, 1.0], [1.04, 1.04]), 0),
        (make_row([1.0, 1.0], [1.06, 1.06]), 1),
        (rows.Row("wine", "load", "load", problem="ended"), 1),
    ],
)
def test_exit_code(row, code):
    assert bench.Results([row]).exit_code(1.05) == code


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_unknown_revision_is_not_called_slower(capsys, monkeypatch):
    monkeypatch.setattr(bench.signal, "signal", lambda *_: None)
    with pytest.raises(SystemExit) as stopped:
        bench.main(["no-such-revision"])
    assert stopped.value.code == 2
    assert "git rev-parse" in capsys.readouterr().err


# --- worker ---------------------------------------------------------------------------


def test_worker_answers_line_by_line():
    requests = [
        {"do": "load", "data": "generated_400x5_K3"},
        {"do": "warm_up", "task": FIT},
        {"do": "time", "task": FIT, "calls": 2},
        {"do": "digest", "task": FIT},
    ]
    replies = io.StringIO()
    worker.serve(map(json.dumps, requests), replies)
    loaded, warm, timed, digest = map(json.loads, replies.getvalue().splitlines())
    assert loaded == {"rows": 400, "features": 5, "classes": 3}
    assert warm["seconds"] > 0
    assert timed["seconds"] > 0
    assert len(digest["digest"]) == 64


def test_worker_predicts_without_a_fit_before():
    side = worker.Worker()
    side.answer({"do": "load", "data": "iris"})
    task = {"action": "predict", "rows": 1, "model": TREE}
    assert side.answer({"do": "time", "task": task, "calls": 3})["seconds"] > 0


def test_digests_of_models_differ():
    side = worker.Worker()
    side.answer({"do": "load", "data": "iris"})
    deep = {**FIT, "model": {**TREE, "parameters": {"max_depth": 1}}}
    first, again, other = (
        side.answer({"do": "digest", "task": task})["digest"]
        for task in (FIT, FIT, deep)
    )
    assert first == again != other


@pytest.mark.parametrize(
    "task", tasks.make_tasks(30_000, 4), ids=lambda task: task.name
)
def test_worker_can_do_every_task(task):
    side = worker.Worker()
    side.answer({"do": "load", "data": "generated_200x4_K3"})
    assert "digest" in side.answer({"do": "digest", "task": task.request})


def test_errors_of_the_worker(monkeypatch, tmp_path):
    side = worker.Worker()
    monkeypatch.setenv(worker.DATA_VARIABLE, str(tmp_path))
    assert "mnist.npz" in side.answer({"do": "load", "data": "mnist"})["missing"]
    monkeypatch.delenv(worker.DATA_VARIABLE)
    assert "not set" in side.answer({"do": "load", "data": "mnist"})["missing"]
    assert "no data" in side.answer({"do": "time", "task": FIT, "calls": 1})["error"]
    side.answer({"do": "load", "data": "iris"})
    unknown = {**FIT, "model": {**TREE, "parameters": {"color": 3}}}
    assert "color" in side.answer({"do": "warm_up", "task": unknown})["error"]


# --- processes ------------------------------------------------------------------------


@pytest.fixture
def echo(tmp_path, monkeypatch):
    """Return a process that replaces the worker and repeats its input."""
    script = tmp_path / "echo.py"
    script.write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    request = json.loads(line)\n"
        "    if request['do'] == 'stop':\n"
        "        sys.exit('enough')\n"
        "    print(json.dumps(request), flush=True)\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(builds, "WORKER", script)
    side = builds.Side("new", tmp_path, tmp_path / "new.log")
    yield side
    side.close()


def test_side_asks_its_process(echo):
    assert echo.ask(do="load", data="iris") == {"do": "load", "data": "iris"}
    with pytest.raises(rows.TaskFailed, match="new: too bad"):
        echo.ask(do="load", error="too bad")


def test_side_reports_why_its_process_ended(echo):
    with pytest.raises(builds.SideEnded, match="code 1; enough"):
        echo.ask(do="stop")
    with pytest.raises(builds.SideEnded):
        echo.ask(do="load")


def test_key_depends_on_sources_only(tmp_path):
    (tmp_path / "src").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "src" / "a.cpp").write_text("int a;", encoding="utf-8")
    key = builds.key_of(tmp_path)
    (tmp_path / "tests" / "test_a.py").write_text("", encoding="utf-8")
    assert builds.key_of(tmp_path) == key
    (tmp_path / "src" / "a.cpp").write_text("int b;", encoding="utf-8")
    assert builds.key_of(tmp_path) != key


def test_worker_finds_its_build_first(tmp_path):
    environment = builds.worker_environment(tmp_path, {"PYTHONPATH": "other"})
    first, *rest = environment["PYTHONPATH"].split(":")
    assert first == str(tmp_path)
    assert rest
    assert "other" not in rest

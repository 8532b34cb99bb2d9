"""The command `dics-paper`: everything at the smoke scale, and errors."""

import csv
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError

import browser
import numpy as np
import pytest

from dics_paper.cli import SCALES, main
from dics_paper.models import ALL, BY_NAME
from dics_paper.reproduction import FIGURES, TABLES, names_of
from dics_paper.running.worker import Worker
from dics_paper.scales import SCALES as KNOWN_SCALES

for package in ("lightgbm", "xgboost"):
    if importlib.util.find_spec(package) is None:  # without an import
        pytest.skip(f"needs {package}", allow_module_level=True)

SMOKE = ["--scale", "smoke", "--jobs", "1"]


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """Return a directory with everything at the smoke scale."""
    out = tmp_path_factory.mktemp("reproduction")
    assert main(["all", *SMOKE, "--out", str(out)]) == 0
    return out


@pytest.fixture
def copy(out, tmp_path):
    """Return a copy of the directory, which a test can change."""
    shutil.copytree(out, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture(scope="module", autouse=True)
def no_data():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DICS_DATA_DIR", raising=False)
        yield


@pytest.fixture(scope="module")
def runs(out):
    return json.loads((out / "report.json").read_text())["runs"]


@pytest.fixture
def no_fits(monkeypatch):
    def fail(*args):
        raise AssertionError("a fit was asked for")

    monkeypatch.setattr(Worker, "run", fail)


# --- everything -----------------------------------------------------------------------


@pytest.mark.slow
def test_every_fit_succeeded(runs):
    assert {run["result"]["status"] for run in runs} == {"ok"}
    assert {run["task"]["model"] for run in runs} == set(BY_NAME)
    assert all(run["result"]["seconds"] > 0 for run in runs)


@pytest.mark.slow
def test_every_run_has_its_origin(out, runs):
    with (out / "report.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(runs)
    for row in rows:
        for name in ("cpu", "date", "version", "seed", "settings", "numpy", "threads"):
            assert row[name], name
        assert float(row["seconds"]) > 0
    assert {row["data"] for row in rows} >= {"mnist", "cifar10", "400x40-k3"}


@pytest.mark.slow
def test_report_has_every_table_and_figure(out):
    text = (out / "report.md").read_text()
    html = (out / "report.html").read_text()
    for experiment in (*TABLES, *FIGURES):
        assert f'id="{experiment.name}"' in html, experiment
    for model in ALL:
        assert model.label in text
    for picture in (out / "figures").iterdir():
        assert f"figures/{picture.name}" in text
        assert picture.read_text().startswith("<?xml")
    assert "smoke scale" in html
    assert "generated data" in html  # generated data are marked
    assert re.search(r"\(paper 0\.\d+, other data\)", text)  # in the cell itself
    assert re.search(r"load average +\| +[0-9.]+", text)
    assert "only ratios" in html


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
def test_report_in_a_browser(out, tmp_path, width):
    seen = browser.inspect(out / "report.html", tmp_path, width)
    assert seen["scroll_width"] <= seen["width"]
    assert seen["resources"] == []
    assert seen["broken_links"] == []
    assert len(seen["tables"]) >= len(TABLES)
    assert all(table["rows"] > 2 for table in seen["tables"])
    assert len(seen["images"]) >= len(FIGURES) + 9
    for image in seen["images"]:
        assert image["complete"]
        assert min(image["natural_width"], image["width"], image["height"]) > 0
        assert len(image["alt"]) > 20


@pytest.mark.slow
def test_report_sends_no_requests(out, tmp_path):
    assert browser.find_requests(out / "report.html", tmp_path) == []


@pytest.mark.slow
def test_second_run_uses_stored_results(copy, no_fits, capsys):
    before = (copy / "report.html").read_text()
    assert main(["all", *SMOKE, "--out", str(copy)]) == 0
    assert (copy / "report.html").read_text() == before
    assert f"report: {copy / 'report.html'}" in capsys.readouterr().out


@pytest.mark.slow
def test_one_table_is_shown_in_the_terminal(copy, no_fits, capsys):
    arguments = ["--models", "cgct", "decision-tree", "--datasets", "mnist"]
    command = ["table", "real-tree", *SMOKE, "--out", str(copy)]
    before = (copy / "report.html").read_text()
    assert main([*command, *arguments]) == 0
    assert (copy / "report.html").read_text() == before  # it has a separate file
    assert (copy / "real-tree.html").is_file()
    shown = capsys.readouterr().out
    assert "MNIST: the data set is not available" in shown
    assert "only ratios compare" in shown
    assert "Trees on real data" in shown
    assert "DecisionTree" in shown
    assert not any(line.strip().startswith("BDTKS") for line in shown.splitlines())
    assert "Helena" not in shown


@pytest.mark.slow
def test_damaged_result_is_computed_again(copy, capsys):
    file = copy / "fits.jsonl"
    lines = file.read_text().splitlines()
    one = next(i for i, line in enumerate(lines) if '"model": "cgct"' in line)
    lines[one] = lines[one][:100]
    file.write_text("\n".join(lines) + "\n")
    assert main(["all", *SMOKE, "--out", str(copy)]) == 0
    shown = capsys.readouterr().err
    assert f"dics-paper: warning: line {one + 1} of {file} is broken" in shown
    # All except the damaged one. Slow fits may have no repeats.
    assert f" fits to do, {len(lines) - 1} stored results" in shown
    assert len(file.read_text().splitlines()) == len(lines) + 1


# --- parts ----------------------------------------------------------------------------


def test_stored_results_only(tmp_path, no_fits, capsys):
    command = ["table", "real-tree", *SMOKE, "--out", str(tmp_path)]
    assert main([*command, "--kept"]) == 0
    assert "not run" in capsys.readouterr().out


def test_a_limit_is_shown(tmp_path, capsys):
    command = ["table", "synthetic-tree", *SMOKE, "--rho", "0.5"]
    command += ["--models", "cgct", "--out", str(tmp_path), "--limit", "1e-9"]
    assert main(command) == 0
    assert "> 1e-09" in capsys.readouterr().out


def test_rho_and_repeats(tmp_path):
    command = ["table", "synthetic-tree", *SMOKE, "--rho", "0"]
    command += ["--repeats", "3", "--models", "cgct", "--class-weights", "shared"]
    assert main([*command, "--out", str(tmp_path)]) == 0
    runs = json.loads((tmp_path / "synthetic-tree.json").read_text())["runs"]
    assert [run["task"]["seed"] for run in runs] == [0, 1, 2]
    assert {run["task"]["rho"] for run in runs} == {0.0}
    assert {run["task"]["class_weights"] for run in runs} == {"shared"}


def test_a_figure_alone(tmp_path, no_fits):
    assert main(["figure", "illustration", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "figures" / "illustration.svg").is_file()


# --- errors ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table", "foo"], "Unknown table 'foo'; use one of datasets, synthetic-tree"),
        (["figure", "foo"], "Unknown figure 'foo'; use one of illustration"),
        (["all", "--models", "foo"], "Unknown model 'foo'; use one of cgct-paper"),
        (["all", "--datasets", "foo"], "Unknown data set 'foo'; use one of helena"),
        (["all", "--data-dir", "/no/such"], "data directory /no/such does not exist"),
        (["table", "real-tree", "--models", "xgboost"], "No table or figure"),
        (
            ["table", "real-tree", "--datasets", "400x40"],
            "No table or figure",
        ),
    ],
)
def test_unknown_names_list_the_known_ones(
    tmp_path, no_fits, capsys, arguments, message
):
    command = [*arguments, "--scale", "smoke", "--out", str(tmp_path)]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert error.startswith("dics-paper: error: ")
    assert message in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["--limit", "0"],
        ["--limit", "soon"],
        ["--limit", "nan"],
        ["--repeats", "0"],
        ["--jobs", "x"],
        ["--scale", "huge"],
        ["--rho", "0.3"],
    ],
)
def test_bad_options_are_rejected(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["all", *arguments])
    assert stop.value.code == 2
    assert arguments[0] in capsys.readouterr().err


def test_wrong_files_are_named(tmp_path, capsys):
    (tmp_path / "spambase").mkdir()
    file = tmp_path / "spambase" / "spambase.npz"
    np.savez(file, X=np.zeros((9, 57)), y=np.zeros(9, int))
    command = ["table", "real-tree", *SMOKE, "--datasets", "spambase"]
    command += ["--data-dir", str(tmp_path), "--out", str(tmp_path / "out")]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert str(file) in error
    assert "4601" in error


def test_missing_libraries_name_the_command(tmp_path, monkeypatch, no_fits, capsys):
    def fail(package):
        raise PackageNotFoundError(package)

    monkeypatch.delitem(BY_NAME["lightgbm"].__dict__, "version", raising=False)
    monkeypatch.setattr(importlib.metadata, "version", fail)
    command = ["table", "real-boosting", *SMOKE, "--models", "lightgbm"]
    assert main([*command, "--out", str(tmp_path)]) == 2
    assert "pip install 'dics-paper[peers]'" in capsys.readouterr().err


def test_help_and_version(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main([]) == 0
    shown = capsys.readouterr().out
    assert "dics-paper all --scale smoke" in shown
    for arguments in (["--help"], ["table", "--help"], ["--version"]):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 0
    shown = capsys.readouterr().out
    for name in names_of(TABLES):
        assert name in shown
    with pytest.raises(SystemExit):
        main(["figure", "--help"])
    help_of_figures = capsys.readouterr().out
    assert all(name in help_of_figures for name in names_of(FIGURES))
    assert tuple(KNOWN_SCALES) == SCALES
    assert all(len(line) <= 80 for line in shown.splitlines())


# Background jobs and their children ignore Ctrl-C.
COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from dics_paper.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_ctrl_c_and_resume(tmp_path, capsys):
    arguments = ["table", "real-tree", *SMOKE, "--out", str(tmp_path)]
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments], stderr=subprocess.PIPE, text=True
    )
    fits = tmp_path / "fits.jsonl"
    try:
        for _ in range(3000):
            if fits.exists() or process.poll() is not None:
                break
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        _, error = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in error
    assert "the same command resumes" in error
    n_kept = len(fits.read_text().splitlines())
    assert main(arguments) == 0
    assert f", {n_kept} stored results" in capsys.readouterr().err


def test_unusable_directory_fails_before_any_fit(tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    arguments = ["table", "datasets", "--scale", "smoke", "--out"]
    assert main([*arguments, str(tmp_path / "file" / "out")]) == 2
    assert "Cannot write to" in capsys.readouterr().err


def test_ctrl_c_during_imports():
    code = (
        "import sys\n"
        "class Stop:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'dics_paper.cli': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Stop())\n"
        "from dics_paper.__main__ import main\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (130, "")

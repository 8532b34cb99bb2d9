"""docs/develop/walk-of-a-fit.md lists exactly the files that run in a fit."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import dics
from dics._boosting import fit as boosting_fit
from dics._estimator import base
from dics._input.checks import fit_on_copy

PAGE = Path(__file__).parents[2] / "docs" / "develop" / "walk-of-a-fit.md"
PACKAGE = Path(dics.__file__).parent

rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 10)).astype(np.float32)
Y = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int) + (X[:, 2] > 1)


def files_of(section):
    """Return the files in the first column of the table below a heading."""
    text = PAGE.read_text(encoding="utf-8").split(f"\n## {section}:")[1]
    return re.findall(r"^\| `([\w/]+\.py)` \|", text.split("\n## ")[0], re.MULTILINE)


def files_run(fit):
    found = set()

    def note(frame, event, _):
        file = Path(frame.f_code.co_filename)
        if event == "call" and PACKAGE in file.parents:
            found.add(file.relative_to(PACKAGE).as_posix())

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        fit()
    finally:
        sys.setprofile(before)
    return found


@pytest.mark.parametrize(
    ("section", "model"),
    [("A tree", dics.CGTreeClassifier), ("Boosting", dics.CGBoostingClassifier)],
)
def test_files_of_a_fit(section, model, monkeypatch):
    for module in (base, boosting_fit):  # without the check of every fit in the tests
        monkeypatch.setattr(module, "fit_on_copy", fit_on_copy)
    named = files_of(section)
    assert len(named) == len(set(named))
    assert set(named) == files_run(lambda: model(random_state=0).fit(X, Y))


def test_every_file_exists():
    text = PAGE.read_text(encoding="utf-8")
    for path in re.findall(r"`([\w/]+\.(?:py|hpp))`", text):
        assert (PACKAGE / path).exists(), path

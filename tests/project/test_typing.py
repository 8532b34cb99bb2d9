"""What a type checker knows about a user's script."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")
SOURCE = Path(__file__).resolve().parents[2] / "src"

SCRIPT = """
import numpy as np
from dics import CGForestClassifier, CGForestRegressor, CGBoostingClassifier
import dics

X, y = np.zeros((4, 2)), np.array([0, 1, 0, 1])
reveal_type(CGBoostingClassifier().fit(X, y))
reveal_type(CGForestClassifier(n_estimators=3).fit(X, y))
reveal_type(CGForestClassifier(n_estimators=3).fit(X, y)[0])
reveal_type(CGForestRegressor(n_estimators=3).fit(X, y)[0])
reveal_type(CGForestRegressor(n_estimators=3).fit(X, y).estimators_)
reveal_type(CGForestClassifier(n_estimators=3).fit(X, y).n_features_in_)
reveal_type(dics.CentroidCandidates().fit(X, y))
CGBoostingClassifier().fit(X)
"""
EXPECTED = [
    "dics.boosting.CGBoostingClassifier",
    "dics.forest.CGForestClassifier",
    "dics.tree.CGTreeClassifier",
    "dics.tree.CGTreeRegressor",
    "list[dics.tree.CGTreeRegressor]",
    "int",
    "dics.candidates.CentroidCandidates",
]


def test_types_of_a_script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    command = [sys.executable, "-m", "mypy", "--follow-imports=silent", str(path)]
    done = subprocess.run(
        [*command, "--ignore-missing-imports", f"--cache-dir={tmp_path}"],
        env={**os.environ, "MYPYPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    notes = [line for line in done.stdout.splitlines() if "Revealed type" in line]
    found = [line.split('"')[1].replace("builtins.", "") for line in notes]
    assert found == EXPECTED, done.stdout
    assert 'Missing positional argument "y" in call to "fit"' in done.stdout

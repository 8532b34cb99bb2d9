"""A sample of `make fuzz`."""

import sys
from pathlib import Path

import pytest
from selection import seeds

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import fuzz


@pytest.mark.parametrize("seed", seeds(10, 30))
def test_a_case(seed):
    fuzz.run_case(seed)


def test_search_reports_failures(monkeypatch, capsys):
    def run(command, **_):
        class Done:
            returncode, stdout, stderr = 1, '{"seed": 7}\n', "boom"

        return Done

    monkeypatch.setattr("subprocess.run", run)
    assert fuzz.search(0, 0.01) > 0
    assert "seed 7 failed:\nboom" in capsys.readouterr().out

"""A sample of tools/failures.py: failures of memory and threads in the core."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

TOOL = pathlib.Path(__file__).parents[2] / "tools" / "failures.py"


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("g++") is None,
    reason="the shim is for Linux and g++",
)
def test_rejected_memory_and_threads():
    done = subprocess.run(
        [sys.executable, TOOL, "--only", "3", "--failures", "2"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    n_calls, n_errors = map(int, re.findall(r"(\d+) [cM]", done.stdout))
    assert 0 < n_errors < n_calls

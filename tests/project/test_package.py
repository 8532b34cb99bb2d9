"""Modules of the package, in a new process: tests have imported them already."""

import subprocess
import sys

import pytest

import dics

MODULES = ("dask", "export", "model", "plot")


def run(code):
    """Run Python code; return the printed lines."""
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return process.stdout.splitlines()


def test_modules_are_imported_at_their_first_use():
    printed = run(
        "import sys, dics\n"
        f"print([name for name in {MODULES} if f'dics.{{name}}' in sys.modules])\n"
        "print(dics.plot.plot_tree.__name__, dics.export.to_json.__name__)\n"
        "print(dics.model.Trees.__name__, 'dics.plot' in sys.modules)\n"
    )
    assert printed == ["[]", "plot_tree to_json", "Trees True"]


def test_modules_are_listed():
    assert set(MODULES) < set(dir(dics))
    with pytest.raises(AttributeError, match="'dics' has no attribute 'plots'"):
        dics.plots  # noqa: B018


@pytest.mark.parametrize("use", ["import dics.dask", "import dics; dics.dask"])
def test_hint_without_dask(use):
    printed = run(
        "import sys\n"
        "sys.modules['distributed'] = None\n"
        f"try:\n    {use}\n"
        "except ImportError as error:\n    print(error)\n"
    )
    assert "requires dask and distributed: pip install 'dics[dask]'" in printed[0]

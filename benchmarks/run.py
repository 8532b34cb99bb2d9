"""Run a benchmark by its name: ``python benchmarks/run.py tree --datasets mnist``.

Without a name, print the list of benchmarks. `all` runs all of them with their default
options. This takes long, mostly because of scikit-learn on CIFAR-10.
"""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def find_benchmarks() -> dict[str, str]:
    """Return the names of the benchmarks, with the first line of their docstrings."""
    found = {}
    for file in sorted(HERE.glob("bench_*.py")):
        docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
        found[file.stem.removeprefix("bench_")] = (docstring or "").splitlines()[0]
    return found


def main(argv: list[str]) -> int:
    known = find_benchmarks()
    name, *options = argv or ["help"]
    if name not in known and name != "all":
        print('make bench BENCH_ARGS="NAME [OPTION...]"   (NAME --help for options)\n')
        for key, text in known.items():
            print(f"  {key:<11} {text}")
        print(f"  {'all':<11} All benchmarks, one after the other.")
        return 0 if name in ("help", "-h", "--help") else 2
    for chosen in known if name == "all" else [name]:
        importlib.import_module(f"bench_{chosen}").main(options)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Print requirements that the two packages declare, one per line.

Usage: python tools/requirements.py GROUP...

GROUP is `build` (the build dependencies, with the tools that scikit-build-core
would otherwise download into an isolated environment), `run` (the run-time
dependencies) or the name of an extra. `paper:GROUP` is a group of `dics-paper`.
`lowest` lists the run-time dependencies in the oldest supported versions.
"""

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD_TOOLS = ["cmake>=3.20", "ninja>=1.10"]
OWN = "dics"  # installed from this folder


def read_groups(folder: Path) -> dict[str, list[str]]:
    data = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    project = data["project"]
    return {
        "build": data["build-system"]["requires"],
        "run": [item for item in project["dependencies"] if item != OWN],
        **project["optional-dependencies"],
    }


def main(groups: list[str]) -> int:
    known = read_groups(ROOT)
    known["build"] += BUILD_TOOLS
    known["lowest"] = [item.replace(">=", "==") + ".*" for item in known["run"]]
    for name, items in read_groups(ROOT / "paper").items():
        known[f"paper:{name}"] = items
    unknown = [group for group in groups if group not in known]
    if unknown:
        print(f"Unknown groups {unknown}; valid: {sorted(known)}.", file=sys.stderr)
        return 2
    for requirement in sorted({item for group in groups for item in known[group]}):
        print(requirement)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

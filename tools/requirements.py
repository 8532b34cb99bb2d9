"""Print the requirements that pyproject.toml declares, one per line.

Usage: python tools/requirements.py GROUP...

GROUP is `build` (what the build needs, with the tools that scikit-build-core
would otherwise fetch into an isolated environment), `run` (the run-time
dependencies) or the name of an extra.
"""

import sys
import tomllib
from pathlib import Path

BUILD_TOOLS = ["cmake>=3.20", "ninja>=1.10"]


def main(groups: list[str]) -> int:
    root = Path(__file__).resolve().parent.parent
    data = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    project = data["project"]
    known = {
        "build": data["build-system"]["requires"] + BUILD_TOOLS,
        "run": project["dependencies"],
        **project["optional-dependencies"],
    }
    unknown = [group for group in groups if group not in known]
    if unknown:
        print(f"unknown groups {unknown}; known: {sorted(known)}", file=sys.stderr)
        return 2
    for requirement in sorted({item for group in groups for item in known[group]}):
        print(requirement)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The command `dics-paper`, from its first import on."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command; Ctrl-C while it is still being imported ends it quietly."""
    try:
        from dics_paper.cli import main as run
    except KeyboardInterrupt:
        return 130
    return run()


if __name__ == "__main__":
    sys.exit(main())

"""Entry point of the command `dics-paper`."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command; Ctrl-C during the imports prints no traceback."""
    try:
        from dics_paper.cli import main as run
    except KeyboardInterrupt:
        return 130
    return run()


if __name__ == "__main__":
    sys.exit(main())

"""Advice for those who draw without Matplotlib."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def matplotlib_needed(by: str) -> Iterator[None]:
    """Import Matplotlib inside this; if it isn't there, say how to get it."""
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f'{by} needs Matplotlib; install it with: pip install "dics[plot]"'
        ) from error

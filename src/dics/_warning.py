"""Warnings that point to the line of the user."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import sklearn

OURS = tuple(str(Path(file).parent) + os.sep for file in (__file__, sklearn.__file__))


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn as if from the call that led into this package or scikit-learn."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OURS):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)

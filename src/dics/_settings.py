"""Settings of the core: objects with named fields."""

from __future__ import annotations

from typing import Any, TypeVar

Settings = TypeVar("Settings")


def make_settings(kind: type[Settings], **fields: Any) -> Settings:
    """Return settings of the core with some fields set.

    >>> from dics import _core
    >>> make_settings(_core.NodeLimits, max_depth=3).max_depth
    3
    """
    settings = kind()
    for name, value in fields.items():
        setattr(settings, name, value)  # refuses a name that isn't a field
    return settings

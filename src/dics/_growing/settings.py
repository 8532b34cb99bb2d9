"""Settings of the core, made from the parameters of an estimator."""

from __future__ import annotations

from typing import Any, TypeVar

from dics import _core

Settings = TypeVar("Settings")
# Fields that are settings themselves.
NESTED = {
    "tree": _core.GrowSettings,
    "limits": _core.NodeLimits,
    "scale": _core.MomentScale,
    "categories": _core.CategorySettings,
    "set_limits": _core.SetLimits,
}
KINDS = tuple(NESTED.values())


def make_settings(kind: type[Settings], **fields: Any) -> Settings:
    """Return settings of the core with some fields set.

    >>> from dics import _core
    >>> make_settings(_core.NodeLimits, max_depth=3).max_depth
    3
    """
    settings = kind()
    for name, value in fields.items():
        if isinstance(value, dict):
            value = make_settings(NESTED[name], **value)
        setattr(settings, name, value)  # refuses a name that isn't a field
    return settings


def settings_fields(settings: Any) -> dict[str, Any]:
    """Return the fields of settings of trees, which can be sent to other processes.

    >>> limits = make_settings(_core.NodeLimits, max_depth=3)
    >>> make_settings(_core.NodeLimits, **settings_fields(limits)).max_depth
    3
    """
    fields = {
        name: getattr(settings, name)
        for name in dir(settings)
        if not name.startswith("_")
    }
    return {
        name: settings_fields(value) if isinstance(value, KINDS) else value
        for name, value in fields.items()
    }

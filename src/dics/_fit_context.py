"""scikit-learn's check of parameters before a fit, with types that survive it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from sklearn.base import _fit_context

F = TypeVar("F", bound=Callable[..., Any])


def checks_parameters(*, skips_nested: bool = False) -> Callable[[F], F]:
    """Check the parameters of an estimator before its method runs.

    Parameters
    ----------
    skips_nested : bool, default=False
        Whether fits of other estimators inside it need no check.
    """
    decorate: Callable[[F], F] = _fit_context(
        prefer_skip_nested_validation=skips_nested
    )
    return decorate

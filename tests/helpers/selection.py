"""Choose the cases that only `make test-all` runs."""

import pytest

offset = 0  # the option --seed-offset


def slow(*cases):
    """Mark arguments of a test, each a value or a tuple of values, as slow."""
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow
        )
        for case in cases
    ]


def seeds(n_quick, n_all):
    """Return `n_quick` fixed seeds, and slow ones that --seed-offset shifts."""
    return [*range(n_quick), *slow(*range(offset + n_quick, offset + n_all))]

"""How a call is timed, in the experiments and in the benchmarks."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

QUICK = 1.0  # seconds; calls that take less are made five times
NO_WARM_UP_OVER = 3.0  # seconds; the first call of a long one counts
ONCE_OVER = 20.0  # seconds; such a call is made once
SHORTEST = 0.02  # seconds; quicker calls are repeated and averaged to last as long


class Timing(NamedTuple):
    """Seconds of one call: the median of `runs` measurements."""

    seconds: float
    runs: int
    spread: float  # (slowest - quickest) / median


def measure(
    call: Callable[[], Any],
    repeats: int | None = None,
    *,
    warm_up: bool = True,
    once_over: float = ONCE_OVER,
    before: Callable[[], None] = lambda: None,
) -> tuple[Timing, Any]:
    """Time a call and return what it returned.

    Parameters
    ----------
    call : callable
        What to time.
    repeats : int or None, default=None
        How many calls count; None for 3, and 5 when they take under a second.
    warm_up : bool, default=True
        Whether the first call does not count, unless it took over 3 s.
    once_over : float, default=20
        Seconds. A call that takes longer is made once.
    before : callable
        Called before each measurement.

    Returns
    -------
    timing : Timing
    result : object
        What the last call returned.
    """
    first, result = _seconds(call, before)
    times = [] if warm_up and first <= NO_WARM_UP_OVER else [first]
    runs = repeats or (5 if first < QUICK else 3)
    if first > once_over:
        times, runs = [first], 1
    while len(times) < runs:
        seconds, result = _seconds(call, before)
        times.append(seconds)
    middle = median(times)
    return Timing(middle, runs, (max(times) - min(times)) / middle), result


def _seconds(call: Callable[[], Any], before: Callable[[], None]) -> tuple[float, Any]:
    gc.collect()
    before()
    start = time.perf_counter()
    result, calls = call(), 1
    while time.perf_counter() - start < SHORTEST:
        result = call()
        calls += 1
    return (time.perf_counter() - start) / calls, result

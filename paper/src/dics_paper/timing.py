"""Timing of calls in the experiments and benchmarks."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

QUICK = 1.0  # seconds; shorter calls are repeated five times
NO_WARM_UP_OVER = 3.0  # seconds; longer calls need no warm-up
ONCE_OVER = 20.0  # seconds; longer calls are made once
SHORTEST = 0.02  # seconds; shorter calls are repeated for this long and averaged


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
    """Time a call; return the time and the result.

    Parameters
    ----------
    call : callable
        Function to time.
    repeats : int or None, default=None
        Number of calls that count; None for 3, or 5 if a call takes under a second.
    warm_up : bool, default=True
        Whether the first call does not count, unless it takes over 3 s.
    once_over : float, default=20
        Seconds. A call that takes longer is made once.
    before : callable
        Called before each measurement.

    Returns
    -------
    timing : Timing
    result : object
        Result of the last call.
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

"""How many threads a call may use."""

import functools
import os
from contextlib import AbstractContextManager
from typing import Any

import joblib
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from threadpoolctl import ThreadpoolController

# More than a few for each core only cost: a fit with 20000 threads took 20 s.
MOST_THREADS = 16


def effective_n_threads(n_jobs: int | None) -> int:
    """Resolve ``n_jobs`` to a number of threads, at least one.

    ``None`` and ``-1`` mean the cores this process may use: scikit-learn's helper
    knows the cgroup quota, the affinity mask, ``OMP_NUM_THREADS`` and the limits set
    with threadpoolctl, so that we behave like its own estimators inside joblib workers.
    """
    if n_jobs == 0:
        raise ValueError(
            "n_jobs == 0 has no meaning; use None, -1 or a positive number."
        )
    if n_jobs is not None and n_jobs > 0:
        return min(n_jobs, max(MOST_THREADS, 4 * (os.cpu_count() or 1)))
    available = _available_threads()
    if n_jobs is None:
        return available
    return max(1, available + 1 + n_jobs)


def _available_threads() -> int:
    try:
        return int(_openmp_effective_n_threads())
    except (TypeError, ValueError):  # a scikit-learn built without OpenMP
        limit = os.environ.get("OMP_NUM_THREADS", "")
        cores = int(joblib.cpu_count())
        return min(cores, int(limit)) if limit.isdigit() and int(limit) else cores


@functools.cache
def _blas_libraries() -> Any:
    return ThreadpoolController()  # looks through all libraries: not for each call


def one_blas_thread() -> AbstractContextManager[Any]:
    """Keep NumPy's products in this thread while the context lasts.

    Products of blocks that fit into the cache gain nothing from more threads, lose much
    while another program runs (a fit of 10000 rows of MNIST by BDTKS: 3.4 s with one
    thread and 13.5 with two), and their rounding would depend on the number.
    """
    limited: AbstractContextManager[Any] = _blas_libraries().limit(
        limits=1, user_api="blas"
    )
    return limited

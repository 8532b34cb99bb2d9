"""How many threads a call may use."""

import os

import joblib
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

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

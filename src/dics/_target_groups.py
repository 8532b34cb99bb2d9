"""Rows with like targets: what classes are to a continuous y."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dics import _core
from dics._settings import make_settings
from dics._validation import FloatArray

N_GROUPS = 8
# Rows that the limits of the groups are found from.
SAMPLE_ROWS = 1 << 16
N_STEPS = 12


def group_targets(
    values: FloatArray, seed: int, n_threads: int, n_groups: int = N_GROUPS
) -> npt.NDArray[np.uint32]:
    """Give each row the number of its group: even parts of y, or clusters of several.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_outputs)
    seed : int
    n_threads : int
    n_groups : int
        Groups at most; values that many rows share make them fewer.

    Returns
    -------
    groups : ndarray of shape (n_samples,)
    """
    step = -(-len(values) // SAMPLE_ROWS)
    sample = values[::step]
    if values.shape[1] == 1:
        limits = np.quantile(sample[:, 0], np.arange(1, n_groups) / n_groups)
        inner = np.unique(limits)
        groups = np.searchsorted(inner, values[:, 0], side="left")
        return np.unique(groups, return_inverse=True)[1].astype(np.uint32)
    return _cluster_targets(values, sample, seed, n_threads, n_groups)


def _cluster_targets(
    values: FloatArray, sample: FloatArray, seed: int, n_threads: int, n_groups: int
) -> npt.NDArray[np.uint32]:
    spread = sample.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    settings = make_settings(
        _core.ClusterSettings,
        n_clusters=min(n_groups, len(sample)),
        n_classes=0,
        batch_size=min(512, len(sample)),
        n_steps=N_STEPS,
        moment_rows=min(2048, len(sample)),
        measure_rows=min(4096, len(sample)),
        standardize=False,
        seed=seed,
    )
    scaled = np.ascontiguousarray((values - sample.mean(axis=0)) / scale)
    found = _core.cluster(
        np.ascontiguousarray(scaled[:: -(-len(values) // SAMPLE_ROWS)]),
        numbers=None,
        n_rows=len(sample),
        weights=None,
        labels=None,
        settings=settings,
        n_threads=n_threads,
    )
    means = found["clusters"][0]
    distances = -2 * scaled @ means.T + np.einsum("kd,kd->k", means, means)
    return np.unique(distances.argmin(axis=1), return_inverse=True)[1].astype(np.uint32)

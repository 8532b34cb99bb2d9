"""Rows generated locally or on the workers, in blocks with one seed each."""

from __future__ import annotations

from typing import Any

import numpy as np

BLOCK_ROWS = 50_000
N_FEATURES = 50


def make_block(
    number: int, n_classes: int, n_rows: int = BLOCK_ROWS
) -> tuple[Any, Any]:
    """Generate one block; the class is a noisy function of a few features."""
    rng = np.random.default_rng([n_classes, number])
    X = rng.normal(size=(n_rows, N_FEATURES)).astype(np.float32)
    score = X[:, 0] + X[:, 1] * X[:, 2] + np.abs(X[:, 3]) - 0.5 * X[:, 4] ** 2
    score = score + rng.normal(size=n_rows).astype(np.float32)
    cuts = np.linspace(-2.5, 2.5, n_classes + 1)[1:-1]
    return X, np.digitize(score, cuts)


def n_blocks(n_rows: int) -> int:
    """Return the number of blocks for about this many rows."""
    return max(1, n_rows // BLOCK_ROWS)


def make_whole(n_rows: int, n_classes: int) -> tuple[Any, Any]:
    """Generate all blocks in this process."""
    blocks = [make_block(i, n_classes) for i in range(n_blocks(n_rows))]
    return np.concatenate([X for X, _ in blocks]), np.concatenate(
        [y for _, y in blocks]
    )


def make_collections(n_rows: int, n_classes: int) -> tuple[Any, Any]:
    """Generate the blocks on the workers of a cluster and keep them there."""
    import dask
    import dask.array as da
    from distributed import wait

    rows, labels = [], []
    for i in range(n_blocks(n_rows)):
        block = dask.delayed(make_block, nout=2)(i, n_classes)
        rows.append(da.from_delayed(block[0], (BLOCK_ROWS, N_FEATURES), np.float32))
        labels.append(da.from_delayed(block[1], (BLOCK_ROWS,), np.int64))
    X, y = dask.persist(da.concatenate(rows), da.concatenate(labels))
    wait([X, y])
    return X, y

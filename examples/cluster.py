"""Fit a model on a Dask cluster, and the same model on one machine.

The cluster consists of threads of this process. To use another cluster, pass the
address of its scheduler to ``Client``. Needs ``pip install 'dics[dask]'``.
"""

from __future__ import annotations

import io
from typing import Any

import dask.array as da
from distributed import Client, LocalCluster

from dics import CGBoostingClassifier
from dics.dask import DaskCGBoostingClassifier

N_ROWS, CHUNK = 40_000, 7_000


def file_bytes(model: Any) -> bytes:
    """Return the bytes of the model file."""
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def main() -> None:
    """Fit and predict on the cluster, then compare with a local fit."""
    X = da.random.default_rng(0).normal(size=(N_ROWS, 8), chunks=(CHUNK, 8))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    parameters = {"n_estimators": 40, "random_state": 0}
    with (
        LocalCluster(n_workers=2, processes=False, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        model = DaskCGBoostingClassifier(**parameters).fit(X, y)
        print(f"{N_ROWS} rows in {X.numblocks[0]} partitions, two workers")
        print(f"Accuracy: {model.score(X, y):.3f}")
        lazy = model.predict_proba(X)
        print(f"Lazy predictions: {lazy.npartitions} tasks, {lazy.chunks[0]} rows")
        print(f"The first prediction: {lazy.blocks[0].compute()[0].round(3)}")
        local = CGBoostingClassifier(**parameters).fit(X.compute(), y.compute())
    is_same = file_bytes(model) == file_bytes(local)
    print(f"Bit-identical to the local model: {'yes' if is_same else 'no'}")


if __name__ == "__main__":
    main()

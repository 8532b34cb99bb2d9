"""
The same model on a cluster
===========================

The estimators of ``dics.dask`` fit rows that are divided between workers. The model is
bit-identical to that of one machine, for any number of workers and partitions. Here,
the cluster consists of threads of this process.
"""

# %%
# To use another cluster, pass the address of its scheduler to ``Client``.
import io

import dask.array as da
import matplotlib.pyplot as plt
from distributed import Client, LocalCluster

from dics import CGBoostingClassifier
from dics.dask import DaskCGBoostingClassifier

n_rows, chunk = 20_000, 3_000
X = da.random.default_rng(0).normal(size=(n_rows, 8), chunks=(chunk, 8))
y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
parameters = {"n_estimators": 40, "random_state": 0}

with (
    LocalCluster(n_workers=2, processes=False, dashboard_address=":0") as cluster,
    Client(cluster),
):
    model = DaskCGBoostingClassifier(**parameters).fit(X, y)
    print(f"{n_rows} rows in {X.numblocks[0]} partitions, two workers")
    print(f"Accuracy: {model.score(X, y):.3f}")
    lazy = model.predict_proba(X)
    print(f"Lazy predictions in {lazy.npartitions} tasks")
    print(f"The first prediction: {lazy.blocks[0].compute()[0].round(3)}")
    local = CGBoostingClassifier(**parameters).fit(X.compute(), y.compute())

# %%
# Equal bytes of the model files show that all thresholds and leaf values are equal.


def file_bytes(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


is_same = file_bytes(model) == file_bytes(local)
print(f"Bit-identical to the local model: {'yes' if is_same else 'no'}")

figure, ax = plt.subplots()
curves = [m.evals_result_["training"]["log_loss"] for m in (local, model)]
rounds = range(1, len(curves[0]) + 1)
ax.plot(rounds, curves[0], label="one machine")
ax.plot(rounds, curves[1], "o", mfc="none", label="two workers")
ax.set(xlabel="round", ylabel="training log-loss", ylim=(0, None))
ax.set_title(
    f"Largest difference: {max(abs(a - b) for a, b in zip(*curves, strict=True))}"
)
ax.legend()

plt.show()

"""
Many classes
============

Other boosting libraries usually grow one tree per class in each round. dics grows one
tree per round for all classes. So its number of trees does not depend on the number of
classes.
"""

# %%
# Each class is a cluster of rows. Both models have one thread. The model of
# scikit-learn has fewer rounds, because each of them grows many trees.
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from dics import CGBoostingClassifier

n_classes = [4, 16, 64, 160]
settings = {"early_stopping": False, "random_state": 0}
joint = CGBoostingClassifier(n_estimators=100, n_jobs=1, **settings)
per_class = HistGradientBoostingClassifier(max_iter=5, **settings)
names = {joint: "dics, 100 rounds", per_class: "HistGradientBoosting, 5 rounds"}
seconds = {name: [] for name in names.values()}

rng = np.random.default_rng(0)
for n in n_classes:
    y = np.arange(4096) % n
    X = rng.normal(size=(n, 16))[y] + 0.6 * rng.normal(size=(4096, 16))
    for model, name in names.items():
        start = process_time()
        with threadpool_limits(1):
            model.fit(X[:2048], y[:2048])
        seconds[name].append(process_time() - start)

# %%
# The last models have 160 classes.
for model, name in names.items():
    with threadpool_limits(1):
        accuracy = model.score(X[2048:], y[2048:])
    print(f"{name}: test accuracy {accuracy:.2f}")
n_trees = per_class.max_iter * n_classes[-1]
print(f"Trees: {len(joint.trees_)} and {n_trees}")

figure, ax = plt.subplots()
for (name, times), mark in zip(seconds.items(), ("o-", "s--"), strict=True):
    ax.plot(n_classes, times, mark, label=name)
ax.set(xscale="log", yscale="log", xlabel="number of classes")
ax.set(ylabel="CPU time of the fit (seconds)")
ax.set_xticks(n_classes, [str(n) for n in n_classes])
ax.minorticks_off()
ax.set_title(f"{n_classes[-1]} classes: {len(joint.trees_)} trees instead of {n_trees}")
ax.legend()

plt.show()

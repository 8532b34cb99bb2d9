"""
Wide data
=========

With thousands of features, an exhaustive search over all values takes most of the time
of a tree. A tree of dics searches a few thresholds per feature. The example compares
fit time and accuracy with scikit-learn's ``DecisionTreeClassifier``.
"""

# %%
# Both trees have the same depth, and get the same rows. ``DecisionTreeClassifier`` uses
# one core.
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from dics import CGTreeClassifier

n_features = [50, 200, 800, 3200]
models = {"CGTree": CGTreeClassifier, "DecisionTree": DecisionTreeClassifier}
seconds = {name: [] for name in models}
scores = {name: [] for name in models}
CGTreeClassifier().fit([[0.0], [1.0]], [0, 1])  # the first fit starts threads
for n in n_features:
    X, y = make_classification(1600, n, n_informative=20, n_classes=4, random_state=0)
    X, X_test, y, y_test = train_test_split(X.astype(np.float32), y, random_state=0)
    for name, model in models.items():
        start = perf_counter()
        tree = model(max_depth=8, random_state=0).fit(X, y)
        seconds[name].append(perf_counter() - start)
        scores[name].append(tree.score(X_test, y_test))

# %%
# Times depend on the machine. The ratio of the last points is in the title.
figure, ax = plt.subplots()
for (name, times), mark in zip(seconds.items(), ("o-", "s--"), strict=True):
    ax.plot(n_features, times, mark, label=name)
    print(f"{name}: mean test accuracy {np.mean(scores[name]):.3f}")
ax.set(xscale="log", yscale="log", xlabel="number of features")
ax.set_ylabel("fit time (seconds)")
ax.set_xticks(n_features, [str(n) for n in n_features])
ax.minorticks_off()
ratio = seconds["DecisionTree"][-1] / seconds["CGTree"][-1]
ax.set_title(f"{n_features[-1]} features: {ratio:.0f} times as fast")
ax.legend()

plt.show()

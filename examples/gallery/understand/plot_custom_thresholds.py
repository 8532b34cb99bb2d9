"""
A custom source of thresholds
=============================

A class with the method ``find_thresholds`` chooses the thresholds of a model. Here, all
thresholds are round numbers, so that the rules of a tree are easy to communicate.
"""

# %%
# Return one array per feature. The estimator does the rest.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score

from dics import BaseCandidates, CGTreeRegressor
from dics.plot import plot_tree


class RoundCandidates(BaseCandidates):
    """About `n_steps` round thresholds over the range of each feature."""

    def __init__(self, n_steps=25):
        self.n_steps = n_steps

    def find_thresholds(self, X, y, sample_weight, rng):  # noqa: ARG002
        for column in X.T:
            low, high = np.nanmin(column), np.nanmax(column)
            unit = 10.0 ** np.floor(np.log10((high - low) / self.n_steps))
            step = next(
                unit * factor
                for factor in (1, 2, 5, 10)
                if (high - low) / (unit * factor) <= self.n_steps
            )
            yield np.round(np.arange(np.ceil(low / step), high / step) * step, 6)


# %%
# Body mass index, blood pressure and laboratory values now have round thresholds.
X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
tree = CGTreeRegressor(max_depth=2, candidates=RoundCandidates(), random_state=0)
tree.fit(X, y)

figure, ax = plt.subplots(figsize=(5.6, 4.4))
boxes = plot_tree(tree, impurity=False, label="root", precision=1, ax=ax)
title = ax.set_title("A tree with round thresholds")

# %%
# Compare the accuracy with that of the default thresholds.
for name, candidates in (("round", RoundCandidates()), ("default", None)):
    tree = CGTreeRegressor(max_depth=2, candidates=candidates, random_state=0)
    score = cross_val_score(tree, X, y, cv=10).mean()
    print(f"{name} thresholds: R2 {score:.3f}")

plt.show()

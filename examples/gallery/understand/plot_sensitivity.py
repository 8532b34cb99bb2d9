"""
How many thresholds are enough?
===============================

Often, a tree needs few thresholds per feature. The example changes their number, and
the number of clusters that they come from. It measures the test accuracy.
"""

# %%
# Each point is the mean of several splits into training and test rows. Nodes keep the
# thresholds of the tree, so that their number is the only difference.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import ShuffleSplit, cross_val_score

from dics import CentroidCandidates, CGTreeClassifier, TreeOptions

X, y = make_classification(
    3000, 30, n_informative=10, n_classes=4, class_sep=1.5, random_state=0
)
folds = ShuffleSplit(8, test_size=0.25, random_state=0)


def accuracy(**parameters):
    candidates = CentroidCandidates(random_state=0, **parameters)
    tree = CGTreeClassifier(
        max_depth=8,
        candidates=candidates,
        advanced=TreeOptions(renew_thresholds=False),
        random_state=0,
    )
    scores = cross_val_score(tree, X, y, cv=folds)
    return scores.mean(), scores.std() / np.sqrt(len(scores))


bins = [2, 3, 4, 6, 8, 16, 32, 64, 128]
clusters = [2, 3, 5, 8, 16, 32, 64]
by_bins = np.array([accuracy(max_bins=n) for n in bins])
by_clusters = np.array([accuracy(n_clusters=n, max_bins=8) for n in clusters])

# %%
# The bars are standard errors. The second panel has at most 8 bins per feature.
figure, axes = plt.subplots(2, 1, figsize=(5.2, 5.6), sharey=True)
panels = (
    (bins, by_bins, "maximum number of bins per feature"),
    (clusters, by_clusters, "number of clusters"),
)
for ax, (values, result, label) in zip(axes, panels, strict=True):
    ax.errorbar(values, result[:, 0], result[:, 1], fmt="o-", capsize=3)
    ax.set(xscale="log", xlabel=label, ylabel="test accuracy")
    ax.set_xticks(values, [str(value) for value in values])
    ax.minorticks_off()
spread = np.ptp(by_bins[bins.index(8) :, 0])
axes[0].set_title(f"From 8 bins on, accuracy differs by {spread:.3f}")
axes[1].set_title(f"By clusters, accuracy differs by {np.ptp(by_clusters[:, 0]):.3f}")

plt.show()

"""
How thresholds are found
========================

The figure shows the method of the paper. Clusters of the rows have centroids, and each
feature gets thresholds between the centroids. The tree then chooses its splits from
these thresholds only.
"""

# %%
# Two features and five clusters are enough to see all steps. The settings turn off two
# additions of the default: the means of the classes, and quantiles in the gaps.
import matplotlib.pyplot as plt
import numpy as np

from dics import CentroidCandidates, CGTreeClassifier
from dics.plot import plot_boundaries

rng = np.random.default_rng(7)
centers = [(2.2, 2.4), (2.4, 7.6), (6.0, 5.4), (8.0, 2.6), (7.8, 8.4)]
X = np.concatenate([rng.normal(center, 0.75, (45, 2)) for center in centers])
y = np.repeat([0, 1, 2, 1, 0], 45)

source = CentroidCandidates(
    n_clusters=5, centroid_source="kmeans", fill_quantiles=False
)
tree = CGTreeClassifier(max_depth=3, candidates=source, random_state=0).fit(X, y)
found = tree.candidates_

# %%
# Above: the rows, the centroids and the thresholds. Below: the regions of the tree,
# whose borders are some of these lines.
figure, (above, below) = plt.subplots(2, 1, figsize=(5.2, 8), sharex=True, sharey=True)
for label in range(3):
    above.scatter(*X[y == label].T, s=14)
for x in found.thresholds_[0]:
    above.axvline(x, color="0.5", linewidth=0.8, zorder=0)
for x in found.thresholds_[1]:
    above.axhline(x, color="0.5", linewidth=0.8, zorder=0)
above.plot(*found.centroids_.T, "X", color="white", mec="black", ms=11)
n_across, n_down = map(len, found.thresholds_)
above.set_title(f"{len(found.centroids_)} centroids, {n_across} + {n_down} thresholds")
above.set_ylabel("x[1]")
above.grid(visible=False)
plot_boundaries(tree, X, y, ax=below)
below.get_legend().remove()
below.set_title(
    f"{tree.get_n_leaves()} leaves, {tree.score(X, y):.0%} of the rows right"
)

plt.show()

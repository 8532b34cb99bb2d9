"""
One readable tree
=================

A small tree is a model that fits on a page. Each box shows the split, the number of
rows, and the majority class. Cross-validation measures the accuracy of this simplicity.
"""

# %%
# Fit a tree of depth 2 on the chemical analysis of wines, and draw it.
import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score

from dics import CGTreeClassifier
from dics.plot import plot_tree

X, y = load_wine(return_X_y=True, as_frame=True)
classes = ["wine 1", "wine 2", "wine 3"]
tree = CGTreeClassifier(max_depth=2, random_state=0).fit(X, y)

figure, ax = plt.subplots(figsize=(5.6, 4.4))
boxes = plot_tree(tree, class_names=classes, impurity=False, label="root", ax=ax)
title = ax.set_title("A tree with four leaves")

# %%
# More levels are more accurate up to a point, and harder to read.
for depth in (1, 2, 3, 4, 5):
    tree = CGTreeClassifier(max_depth=depth, random_state=0)
    accuracy = cross_val_score(tree, X, y, cv=10).mean()
    leaves = tree.fit(X, y).get_n_leaves()
    print(f"depth {depth}: {leaves:2} leaves, accuracy {accuracy:.3f}")

plt.show()

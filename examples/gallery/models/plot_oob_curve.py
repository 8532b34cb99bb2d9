"""
Out-of-bag curve
================

Each tree of a forest leaves out about a third of the rows. These out-of-bag rows
estimate the error of the forest without a validation set. The curve shows when more
trees no longer help.
"""

# %%
# ``warm_start=True`` adds trees to the forest, and ``oob_score=True`` estimates its
# accuracy after each step.
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from dics import CGForestClassifier

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

forest = CGForestClassifier(warm_start=True, oob_score=True, random_state=0)
n_trees = [30, 45, 70, 100, 150, 220, 330]
out_of_bag, test = [], []
for n in n_trees:
    forest.set_params(n_estimators=n).fit(X, y)
    out_of_bag.append(1 - forest.oob_score_)
    test.append(1 - forest.score(X_test, y_test))

# %%
# The out-of-bag error of a small forest is too high: only about a third of its trees
# vote for a row. With more trees, both errors become similar.
figure, ax = plt.subplots()
ax.plot(n_trees, out_of_bag, "o-", label="out-of-bag error")
ax.plot(n_trees, test, "s--", label="test error")
ax.set(xscale="log", xlabel="number of trees", ylabel="error", ylim=(0, None))
ax.set_xticks([30, 100, 300], ["30", "100", "300"])
ax.minorticks_off()
ax.set_title(
    f"{n_trees[-1]} trees: {out_of_bag[-1]:.1%} out-of-bag, {test[-1]:.1%} test"
)
ax.legend()

plt.show()

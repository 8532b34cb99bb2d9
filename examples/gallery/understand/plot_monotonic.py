"""
A monotonic constraint
======================

Some effects must have a direction: a longer contract must not reduce the price.
``monotonic_cst`` makes every prediction follow it, also where the data are few and
noisy.
"""

# %%
# Fit noisy rows with and without the constraint. The keys of a dictionary are feature
# names; an array has one entry per feature.
import matplotlib.pyplot as plt
import numpy as np

from dics import CGBoostingRegressor

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, 250))
y = np.log1p(x) + rng.normal(0, 0.3, len(x))

settings = {"n_estimators": 100, "random_state": 0}
free = CGBoostingRegressor(**settings).fit(x[:, None], y)
rising = CGBoostingRegressor(monotonic_cst=[1], **settings).fit(x[:, None], y)

# %%
# The constrained model has no step down. Its error against the true curve is smaller,
# because the constraint is true here.
line = np.linspace(0, 10, 500)
figure, ax = plt.subplots()
ax.scatter(x, y, s=8, color="0.7")
for name, model, style in (("free", free, "--"), ("constrained", rising, "-")):
    predicted = model.predict(line[:, None])
    error = np.mean((predicted - np.log1p(line)) ** 2)
    falls = int(np.sum(np.diff(predicted) < 0))
    print(f"{name}: {falls} steps down, squared error {error:.4f}")
    ax.plot(line, predicted, style, label=f"{name}: {falls} steps down")
ax.set(xlabel="x", ylabel="y", title="One feature with monotonic_cst=[1]")
ax.legend(loc="lower right")

plt.show()

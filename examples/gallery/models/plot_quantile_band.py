"""
A band of quantiles
===================

One boosting model predicts several quantiles. Here, the 5 % and the 95 % quantile are a
band that should contain 90 % of new rows. The quantiles of a row never cross.
"""

# %%
# The noise grows with x, so a band of constant width would be wrong.
import matplotlib.pyplot as plt
import numpy as np

from dics import CGBoostingRegressor

rng = np.random.default_rng(0)


def sample(n_rows):
    x = rng.uniform(0, 10, n_rows)
    return x[:, None], np.sin(x) + (0.1 + 0.08 * x) * rng.normal(size=n_rows)


X, y = sample(2000)
X_test, y_test = sample(2000)
model = CGBoostingRegressor(loss="quantile", quantile=[0.05, 0.5, 0.95], random_state=0)
model.fit(X, y)

# %%
# ``predict`` returns one column per quantile. The test rows measure the coverage.
low, median, high = model.predict(X_test).T
covered = np.mean((low <= y_test) & (y_test <= high))
print(f"Rows with crossing quantiles: {np.sum((low > median) | (median > high))}")

line = np.linspace(0, 10, 400)
low, median, high = model.predict(line[:, None]).T
figure, ax = plt.subplots()
ax.scatter(X_test[:500], y_test[:500], s=6, color="0.6", label="test rows")
ax.fill_between(line, low, high, alpha=0.3, label="5 % to 95 %")
ax.plot(line, median, label="median")
ax.set(
    xlabel="x", ylabel="y", title=f"The band contains {covered:.0%} of the test rows"
)
ax.legend(loc="lower left")

plt.show()

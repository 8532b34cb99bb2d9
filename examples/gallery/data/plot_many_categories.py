"""
Thousands of categories
=======================

A column of shops, cities or products can have thousands of values. Leave it in the data
frame as text or as a category, and the model replaces each value by its mean target.
For training rows, this is the mean of other rows, so that rare values do not overfit.
"""

# %%
# Sales depend on the shop, of which there are 3000, and on a price.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from dics import CGBoostingRegressor

rng = np.random.default_rng(0)
n_rows, n_shops = 20_000, 3000
shop = rng.integers(n_shops, size=n_rows)
price = rng.uniform(1, 5, n_rows)
size = rng.gamma(4, 10, n_shops)
sales = size[shop] * (1.2 - 0.2 * price) + rng.normal(0, 10, n_rows)
names = np.array([f"shop {i:04}" for i in range(n_shops)])
X = pd.DataFrame({"shop": names[shop], "price": price})
X, X_test, y, y_test = train_test_split(X, sales, random_state=0)


def as_numbers(X):
    return X.assign(shop=X["shop"].str.removeprefix("shop ").astype(float))


# %%
# The first model gets the text column as it is. The second gets the numbers of the
# shops, and the third does not have the column.
sets = {
    "categories": (X, X_test),
    "numbers": (as_numbers(X), as_numbers(X_test)),
    "without shops": (X[["price"]], X_test[["price"]]),
}
scores = {}
for name, (train, test) in sets.items():
    model = CGBoostingRegressor(quality="fast", random_state=0).fit(train, y)
    scores[name] = model.score(test, y_test)

figure, ax = plt.subplots(figsize=(5.2, 2.4))
bars = ax.barh(list(scores), list(scores.values()))
ax.bar_label(bars, fmt="%.2f", padding=3)
ax.set(xlabel="R2 on test rows", xlim=(0, 1.1 * max(scores.values())))
ax.invert_yaxis()
ax.set_title(f"{X['shop'].nunique()} shops in {len(X)} training rows")

plt.show()

# %%
# A shop that is not in the training rows is handled like a missing value.
new = pd.DataFrame({"shop": ["a new shop"], "price": [2.0]})
model = CGBoostingRegressor(quality="fast", random_state=0).fit(X, y)
print(f"Expected sales of a new shop: {model.predict(new)[0]:.1f}")
print(f"Mean sales at about this price: {y[X['price'].between(1.9, 2.1)].mean():.1f}")

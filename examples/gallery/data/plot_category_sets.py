"""
Splits by sets of categories
============================

A split of a categorical feature is a set of categories, and not a threshold. So the
order of the alphabet does not matter: expensive districts can be anywhere in it.
"""

# %%
# The rents of flats are generated. Text columns need no encoding.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from dics import CGBoostingRegressor, CGTreeRegressor
from dics.export import export_text
from dics.plot import plot_tree

rng = np.random.default_rng(0)
n_flats = 4000
districts = ["Harbor", "Hill", "Mill", "Old Town", "Station", "Woods"]
flats = pd.DataFrame(
    {
        "district": rng.choice(districts, n_flats),
        "heating": pd.Categorical(rng.choice(["gas", "heat pump"], n_flats)),
        "area": rng.uniform(20, 120, n_flats),
    }
)
is_expensive = flats["district"].isin(["Hill", "Old Town", "Woods"])
per_meter = 10 + 6 * is_expensive - (flats["heating"] == "gas")
rent = (flats["area"] * per_meter + rng.normal(0, 40, n_flats)).to_numpy()
X, X_test, y, y_test = train_test_split(flats, rent, random_state=0)

# %%
# The sets are in texts and pictures of a tree.
tree = CGTreeRegressor(max_depth=2, random_state=0).fit(X, y)
print(export_text(tree))

figure, ax = plt.subplots(figsize=(5.6, 4.4))
boxes = plot_tree(tree, impurity=False, label="root", precision=0, ax=ax)
title = ax.set_title("District is split by a set")

# %%
# Missing and unseen categories need no preparation either.
model = CGBoostingRegressor(n_estimators=60, random_state=0).fit(X, y)
without = CGBoostingRegressor(n_estimators=60, random_state=0).fit(X[["area"]], y)
print(f"R2 with categories: {model.score(X_test, y_test):.3f}")
print(f"R2 without them: {without.score(X_test[['area']], y_test):.3f}")
new = pd.DataFrame({"district": ["Airport"], "heating": [None], "area": [50.0]})
print(f"Unseen district, missing heating: {model.predict(new)[0]:.0f}")

plt.show()

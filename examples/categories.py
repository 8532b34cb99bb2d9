"""Categorical features: splits by sets of their categories.

The data are generated rents of flats. Expensive districts are not next to each other in
the alphabet, so a split needs a set of districts and not a threshold.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from dics import CGBoostingRegressor, CGTreeRegressor
from dics.export import export_text

N_FLATS = 4000
DISTRICTS = np.array(["Harbour", "Hill", "Mill", "Old Town", "Station", "Woods"])
EXPENSIVE = ["Hill", "Old Town", "Woods"]


def make_flats() -> tuple[pd.DataFrame, np.ndarray]:
    """Generate flats and their rents."""
    rng = np.random.default_rng(0)
    flats = pd.DataFrame(
        {
            "district": rng.choice(DISTRICTS, N_FLATS),
            "heating": pd.Categorical(rng.choice(["gas", "heat pump"], N_FLATS)),
            "area": rng.uniform(20, 120, N_FLATS),
        }
    )
    per_meter = 10 + 6 * flats["district"].isin(EXPENSIVE) - (flats["heating"] == "gas")
    rent = flats["area"] * per_meter + rng.normal(0, 40, N_FLATS)
    return flats, rent.to_numpy()


def main() -> None:
    """Print a small tree, then compare boosting with and without categories."""
    flats, rent = make_flats()
    train, test, y_train, y_test = train_test_split(flats, rent, random_state=0)
    tree = CGTreeRegressor(max_depth=2, random_state=0).fit(train, y_train)
    print("A tree of depth 2. District is split by a set of categories:\n")
    print(export_text(tree))
    model = CGBoostingRegressor(random_state=0).fit(train, y_train)
    print(f"Test R2 of boosting: {model.score(test, y_test):.3f}")
    without = CGBoostingRegressor(random_state=0).fit(train[["area"]], y_train)
    print(
        f"Test R2 without the categories: {without.score(test[['area']], y_test):.3f}"
    )
    new = pd.DataFrame({"district": ["Airport"], "heating": [None], "area": [50.0]})
    print(f"Unseen district, missing heating: {model.predict(new)[0]:.0f} per month")


if __name__ == "__main__":
    main()

"""Categorical features: splits by sets of their categories.

Rents of flats are generated; the districts have groups that no order of names shows.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from dics import CGBoostingRegressor, CGTreeRegressor
from dics.export import export_text

N_FLATS = 4000
DISTRICTS = np.array(["Harbour", "Hill", "Mill", "Old Town", "Station", "Woods"])
DEAR = ["Hill", "Old Town", "Woods"]


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
    per_metre = 10 + 6 * flats["district"].isin(DEAR) - (flats["heating"] == "gas")
    rent = flats["area"] * per_metre + rng.normal(0, 40, N_FLATS)
    return flats, rent.to_numpy()


def main() -> None:
    """Fit a tree to read and a model to predict with."""
    flats, rent = make_flats()
    train, test, y_train, y_test = train_test_split(flats, rent, random_state=0)
    tree = CGTreeRegressor(max_depth=2, random_state=0).fit(train, y_train)
    print("A tree of depth 2; a categorical feature is split by a set of categories:\n")
    print(export_text(tree))
    model = CGBoostingRegressor(random_state=0).fit(train, y_train)
    print(f"R2 of boosting on flats it has not seen: {model.score(test, y_test):.3f}")
    without = CGBoostingRegressor(random_state=0).fit(train[["area"]], y_train)
    print(f"Without the categories: {without.score(test[['area']], y_test):.3f}")
    new = pd.DataFrame({"district": ["Airport"], "heating": [None], "area": [50.0]})
    print(f"A district that is new and no heating: {model.predict(new)[0]:.0f} a month")


if __name__ == "__main__":
    main()

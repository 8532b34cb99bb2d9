"""Insurance claims: an exposure as the offset of Poisson and Tweedie models.

The data are generated policies. Many of them are insured for a part of the year only,
so they have fewer claims.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.metrics import mean_poisson_deviance, mean_tweedie_deviance
from sklearn.model_selection import train_test_split

from dics import BoostingOptions, CGBoostingRegressor

N_POLICIES = 20_000
POWER = 1.5


def make_policies() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Generate policies, and their years, claims and amounts."""
    rng = np.random.default_rng(0)
    policies = pd.DataFrame(
        {
            "age": rng.uniform(18, 80, N_POLICIES),
            "power": rng.uniform(40, 200, N_POLICIES),
            "region": rng.choice(["city", "coast", "country"], N_POLICIES),
        }
    )
    rate = (
        0.1
        * np.exp((policies["age"] < 25) + 0.5 * (policies["region"] == "city"))
        * (policies["power"] / 100)
    )
    years = rng.uniform(0.05, 1, N_POLICIES)
    claims = rng.poisson(rate * years)
    # The sum of gamma amounts has a gamma distribution, too.
    amount = np.where(claims > 0, rng.gamma(2 * np.maximum(claims, 1), 500), 0.0)
    history = pd.DataFrame({"years": years, "claims": claims, "amount": amount})
    return policies, history


def main() -> None:
    """Compare claims models with and without the exposure."""
    policies, history = make_policies()
    train, test, known, future = train_test_split(policies, history, random_state=0)
    offset, test_offset = np.log(known["years"]), np.log(future["years"])

    model = CGBoostingRegressor(loss="poisson", random_state=0)
    model.fit(train, known["claims"], offset=offset)
    expected = model.predict(test, offset=test_offset)
    print(f"Claims of the test policies: {future['claims'].sum()}")
    print(f"Expected by the model: {expected.sum():.0f}")
    print(f"Expected per year, of one policy: {model.predict(test[:1])[0]:.3f}")
    deviance = mean_poisson_deviance(future["claims"], expected)
    without = CGBoostingRegressor(loss="poisson", random_state=0)
    plain = without.fit(train, known["claims"]).predict(test)
    print(f"Poisson deviance with the exposure: {deviance:.4f}")
    print(
        "Poisson deviance without it: "
        f"{mean_poisson_deviance(future['claims'], plain):.4f}"
    )

    options = BoostingOptions(tweedie_power=POWER)
    cost = CGBoostingRegressor(loss="tweedie", advanced=options, random_state=0)
    cost.fit(train, known["amount"], offset=offset)
    predicted = cost.predict(test, offset=test_offset)
    constant = np.full(len(test), known["amount"].mean())
    scores = (
        mean_tweedie_deviance(future["amount"], p, power=POWER)
        for p in (predicted, constant)
    )
    text = "Tweedie deviance of the amounts: {:.1f}, of a constant: {:.1f}"
    print(text.format(*scores))


if __name__ == "__main__":
    main()

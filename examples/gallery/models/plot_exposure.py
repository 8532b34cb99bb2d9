"""
Counts with an exposure
=======================

Many insurance policies last for a part of the year only, so they have fewer claims. The
logarithm of the years is the offset of a Poisson model. The model then predicts claims
per year.
"""

# %%
# The policies are generated. Young drivers have a higher rate, and their policies are
# shorter.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import mean_poisson_deviance
from sklearn.model_selection import train_test_split

from dics import CGBoostingRegressor

rng = np.random.default_rng(0)
n_policies = 50_000
age = rng.uniform(18, 80, n_policies)
power = rng.uniform(40, 200, n_policies)
X = np.column_stack([age, power])
years = rng.uniform(0.05, 1, n_policies) * np.where(age < 30, 0.4, 1)
rate = 0.15 * (1 + 1.5 * (age < 25)) * power / 100
claims = rng.poisson(rate * years)
X, X_test, y, y_test, years, years_test = train_test_split(
    X, claims, years, random_state=0
)

# %%
# Pass the offset to ``fit``. Without an offset, ``predict`` returns claims per year.
settings = {"n_estimators": 50, "min_samples_leaf": 500, "random_state": 0}
model = CGBoostingRegressor(loss="poisson", **settings)
model.fit(X, y, offset=np.log(years))
without = CGBoostingRegressor(loss="poisson", **settings)
without.fit(X, y)

expected = model.predict(X_test, offset=np.log(years_test))
print(f"Claims: {y_test.sum()}, expected: {expected.sum():.0f}")
print(f"Deviance with the offset: {mean_poisson_deviance(y_test, expected):.4f}")
plain = mean_poisson_deviance(y_test, without.predict(X_test))
print(f"Deviance without it: {plain:.4f}")

# %%
# Without the offset, short policies hide the high rate of young drivers.
ages = np.linspace(18, 50, 200)
drivers = np.column_stack([ages, np.full(200, 100.0)])
figure, ax = plt.subplots()
ax.plot(ages, 0.15 * (1 + 1.5 * (ages < 25)), color="0.5", label="true rate")
ax.plot(ages, model.predict(drivers), label="with the offset")
ax.plot(ages, without.predict(drivers), "--", label="without the offset")
ax.set(xlabel="age of the driver", ylabel="claims per year", ylim=(0, None))
young = drivers[ages < 25]
found = model.predict(young).mean() / without.predict(young).mean()
ax.set_title(f"Young drivers: {found:.1f} times the rate without the offset")
ax.legend()

plt.show()

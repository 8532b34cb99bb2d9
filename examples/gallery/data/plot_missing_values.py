"""
Missing values
==============

NaN needs no preparation. Each split sends missing values to the side with the larger
gain, so a missing value can be information. An imputed median hides this information.
"""

# %%
# Customers give a rating from 1 to 5. Unhappy customers leave more often, and they also
# answer less often.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from dics import CGBoostingClassifier

rng = np.random.default_rng(0)
rating = rng.integers(1, 6, 20_000).astype(float)
years = rng.uniform(0, 10, 20_000)
leaves = rng.random(20_000) < 0.7 - 0.12 * rating - 0.02 * years
rating[rng.random(20_000) < 0.9 - 0.2 * rating] = np.nan
X = np.column_stack([rating, years])
X, X_test, y, y_test = train_test_split(X, leaves, random_state=0)

# %%
# The first model gets NaN. The second gets the median instead.
direct = CGBoostingClassifier(random_state=0).fit(X, y)
imputer = SimpleImputer(strategy="median")
imputed = make_pipeline(imputer, CGBoostingClassifier(random_state=0)).fit(X, y)
losses = [log_loss(y_test, model.predict_proba(X_test)) for model in (direct, imputed)]

# %%
# Happy customers answer more often, so the median is a good rating. The second model
# cannot separate customers without an answer from those who gave this rating.
print(f"Median of the ratings: {imputed[0].statistics_[0]:.0f}")
figure, ax = plt.subplots()
answers = np.where(np.isnan(X_test[:, 0]), 0, X_test[:, 0])
groups = [answers == answer for answer in range(6)]
ax.bar(range(6), [y_test[g].mean() for g in groups], color="0.8", label="frequency")
for name, model, mark in (("NaN", direct, "o"), ("imputed", imputed, "s")):
    p = model.predict_proba(X_test)[:, 1]
    ax.plot(range(6), [p[g].mean() for g in groups], mark, label=f"predicted, {name}")
ax.set_xticks(range(6), ["missing", *"12345"])
ax.set(xlabel="rating", ylabel="probability of leaving")
ax.set_title(f"Log-loss {losses[0]:.3f} with NaN, {losses[1]:.3f} imputed")
ax.legend()

plt.show()

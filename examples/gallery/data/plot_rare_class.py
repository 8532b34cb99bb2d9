"""
Rare classes and calibration
============================

``class_weight="balanced"`` gives a rare class more weight. The model then finds more of
its rows, but its probabilities are too high. To keep calibrated probabilities, use no
weights and a lower decision threshold.
"""

# %%
# About one row in twenty belongs to the rare class.
import matplotlib.pyplot as plt
from sklearn.calibration import calibration_curve
from sklearn.datasets import make_classification
from sklearn.metrics import recall_score
from sklearn.model_selection import train_test_split

from dics import CGBoostingClassifier

X, y = make_classification(
    12_000, 10, n_informative=6, weights=[0.95], class_sep=0.7, flip_y=0, random_state=1
)
X, X_test, y, y_test = train_test_split(X, y, random_state=0, stratify=y)
rate = y.mean()

plain = CGBoostingClassifier(quality="fast", random_state=0).fit(X, y)
balanced = CGBoostingClassifier(quality="fast", class_weight="balanced", random_state=0)
balanced.fit(X, y)

# %%
# A threshold at the frequency of the class has a similar effect on the recall.
p_plain = plain.predict_proba(X_test)[:, 1]
p_balanced = balanced.predict_proba(X_test)[:, 1]
decisions = {
    "no weights, threshold 0.5": p_plain > 0.5,
    "balanced, threshold 0.5": p_balanced > 0.5,
    f"no weights, threshold {rate:.2f}": p_plain > rate,
}
for name, found in decisions.items():
    print(f"{name}: finds {recall_score(y_test, found):.0%} of the rare rows")

# %%
# On the diagonal, probabilities equal frequencies.
figure, ax = plt.subplots()
ax.plot([0, 1], [0, 1], color="0.5", linewidth=1)
for name, p, mark in (("no weights", p_plain, "o-"), ("balanced", p_balanced, "s-")):
    frequency, mean = calibration_curve(y_test, p, n_bins=8)
    ax.plot(mean, frequency, mark, label=name)
ax.set(xlabel="predicted probability", ylabel="frequency of the class")
means = f"{p_plain.mean():.1%} and {p_balanced.mean():.1%}"
ax.set_title(f"Mean probability {means}, frequency {y_test.mean():.1%}")
ax.legend()

plt.show()

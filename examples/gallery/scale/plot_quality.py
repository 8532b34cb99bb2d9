"""
Quality against time
====================

`quality` sets the time that boosting may use for its automatic parameters. "fast" is
for a first look, and "best" is for the final model. "balanced" is the default.
"""

# %%
# Fit the same data with each quality, and measure time and test loss.
from time import perf_counter

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from dics import CGBoostingClassifier

X, y = make_classification(
    4000, 20, n_informative=10, n_classes=3, flip_y=0.1, random_state=0
)
X, X_test, y, y_test = train_test_split(X, y, random_state=0)

seconds, losses = {}, {}
for quality in ("fast", "balanced", "best"):
    start = perf_counter()
    model = CGBoostingClassifier(quality=quality, random_state=0).fit(X, y)
    seconds[quality] = perf_counter() - start
    losses[quality] = log_loss(y_test, model.predict_proba(X_test))
    print(f"{quality}: {model.n_iter_} rounds, rate {model.plan_.learning_rate:.3g}")

# %%
# The plan of a model has the value of each automatic parameter. With a higher quality,
# more trials choose the rounds, and each step is smaller.
figure, ax = plt.subplots()
ax.plot(seconds.values(), losses.values(), "o-")
for quality in seconds:
    ax.annotate(
        quality,
        (seconds[quality], losses[quality]),
        xytext=(6, 6),
        textcoords="offset points",
    )
ax.set(xlabel="fit time (seconds)", ylabel="test log-loss")
ax.set_xlim(0, 1.2 * max(seconds.values()))
ax.margins(y=0.2)
gain = 1 - losses["best"] / losses["fast"]
ax.set_title(f"{gain:.0%} less loss with best than with fast")

plt.show()

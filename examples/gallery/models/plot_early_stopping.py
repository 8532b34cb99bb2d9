"""
Early stopping
==============

Validation rows end a fit when their loss no longer falls. The model keeps the rounds up
to the best one, so `n_estimators` is only an upper limit.
"""

# %%
# Pass the validation rows to ``fit``, and plot the loss of each round.
import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from dics import CGBoostingClassifier
from dics.plot import plot_metric

X, y = make_classification(2000, 20, n_informative=8, flip_y=0.2, random_state=0)
X, X_val, y, y_val = train_test_split(X, y, random_state=0)
model = CGBoostingClassifier(n_estimators=1000, learning_rate=0.1, random_state=0)
model.fit(X, y, X_val=X_val, y_val=y_val)

figure, ax = plt.subplots()
plot_metric(model, ax=ax)
ax.set_title(f"{model.n_iter_} of at most {model.n_estimators} rounds")

plt.show()

# %%
# The training loss still falls after the best round, but the model no longer gets
# better on other rows.
after = len(model.evals_result_["validation"]["log_loss"]) - 1 - model.best_iteration_
print(f"Rounds after the best one: {after}")
print(f"Validation accuracy: {model.score(X_val, y_val):.3f}")

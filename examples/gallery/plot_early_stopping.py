"""
Early stopping
==============

Validation rows end a fit when their loss no longer falls.
"""

# %%
# The loss of the validation rows is lowest after some rounds.
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from dics import CGBoostingClassifier
from dics.plot import plot_metric

X, y = load_digits(return_X_y=True)
X, X_val, y, y_val = train_test_split(X, y, random_state=0)
model = CGBoostingClassifier(n_estimators=500, learning_rate=0.3, random_state=0)
model.fit(X, y, X_val=X_val, y_val=y_val)
plot_metric(model)

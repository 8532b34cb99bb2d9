"""
Thresholds of a feature
=======================

``plot_candidates`` shows the place of the thresholds in the data. Marks below the
histogram are candidates. Vertical lines are the thresholds that the model uses, and
their height is the gain of these splits.
"""

# %%
# Models do not store training rows, so the function gets them again.
import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from dics import CGBoostingClassifier
from dics.plot import plot_candidates

data = load_breast_cancer(as_frame=True)
y = data.target_names[data.target]
model = CGBoostingClassifier(n_estimators=50, random_state=0).fit(data.data, y)
best = model.feature_importances_.argmax()

figure, ax = plt.subplots(figsize=(5.6, 3.8))
plot_candidates(model, data.data, y, feature=int(best), ax=ax)
ax.set_title(f"Importance of this feature: {model.feature_importances_.max():.0%}")

plt.show()

# %%
# The model uses few of the candidates.
used = model.trees_.threshold[model.trees_.feature == best]
print(f"Candidates: {model.candidates_.n_thresholds_[best]}")
print(f"Splits by this feature: {model.split_counts_[best]}")
print(f"Thresholds in these splits: {len(set(used))}")

"""
Explain one prediction
======================

``predict_contributions`` divides a prediction between the features. The values are
exact SHAP values of the trees: they and the expected value sum to the prediction. The
method needs no other package.
"""

# %%
# Predict the progression of diabetes, and explain the patient with the largest
# prediction.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from dics import CGBoostingRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = CGBoostingRegressor(n_estimators=60, random_state=0).fit(X, y)
predicted = model.predict(X)
patient = X.iloc[[np.argmax(predicted)]]

contributions = model.predict_contributions(patient)[0]
values, expected = contributions[:-1], contributions[-1]
print(f"Expected value: {expected:.1f}")
print(f"Sum of the contributions: {values.sum():+.1f}")
print(f"Prediction: {predicted.max():.1f}")

# %%
# Blue bars increase the prediction, and orange bars decrease it.
order = np.argsort(abs(values))
labels = [f"{X.columns[i]} = {patient.iloc[0, i]:.4g}" for i in order]
figure, ax = plt.subplots(figsize=(5.2, 4))
colors = np.where(values[order] > 0, "C0", "C1")
bars = ax.barh(labels, values[order], color=colors)
ax.bar_label(bars, fmt="%+.1f", padding=3)
ax.axvline(0, color="0.3", linewidth=1)
ax.set(xlabel="contribution to the prediction")
ax.margins(x=0.2)
ax.set_title(f"From {expected:.0f} on average to {predicted.max():.0f}")

plt.show()

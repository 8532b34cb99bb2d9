"""
Several targets
===============

One model can predict several targets: each leaf holds a value for each target. Here, a
forest completes digits. It gets the upper half of an image and predicts the 32 pixels
of the lower half.
"""

# %%
# ``y`` has one column per target.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from dics import CGForestRegressor

images = load_digits().data
train, test = train_test_split(images, test_size=0.2, random_state=4)
upper, lower = slice(0, 32), slice(32, 64)
forest = CGForestRegressor(n_estimators=100, random_state=0)
forest.fit(train[:, upper], train[:, lower])
predicted = forest.predict(test[:, upper])
print(f"Targets: {forest.n_outputs_}")

# %%
# The error is compared with that of the mean image, which ignores the upper half.
error = np.mean((predicted - test[:, lower]) ** 2)
of_mean = np.mean((train[:, lower].mean(axis=0) - test[:, lower]) ** 2)
completed = np.hstack([test[:, upper], predicted])

figure, axes = plt.subplots(2, 6, figsize=(5.2, 2.4))
for column in range(6):
    for row, source in enumerate((test, completed)):
        ax = axes[row, column]
        ax.imshow(source[column].reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        ax.axhline(3.5, color="C1", linewidth=1.5)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        ax.grid(visible=False)
axes[0, 0].set_ylabel("original")
axes[1, 0].set_ylabel("completed")
figure.suptitle(
    f"Squared error: {error / of_mean:.0%} of that of the mean image", size=11
)

plt.show()

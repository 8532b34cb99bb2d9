"""
Sparse text
===========

Counts of words are a sparse matrix: each text has a few words out of thousands. All
estimators read it as it is. The model is bit-identical to that of a dense matrix, which
takes many times the memory.
"""

# %%
# The texts are paragraphs of SciPy's documentation, and the classes are its modules.
import io
import re

import matplotlib.pyplot as plt
import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.signal
import scipy.stats
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split

from dics import CGForestClassifier
from dics.plot import plot_importance

modules = [scipy.linalg, scipy.optimize, scipy.signal, scipy.stats]
texts, labels = [], []
for module in modules:
    for name in module.__all__:
        text = getattr(module, name).__doc__ or ""
        paragraphs = [p for p in re.split(r"\n\s*\n", text) if len(p) > 200]
        texts += paragraphs
        labels += [module.__name__] * len(paragraphs)
words = CountVectorizer(min_df=3, token_pattern=r"[a-z]{3,}", stop_words="english")
X = words.fit_transform(texts).astype(np.float32)
X, X_test, y, y_test = train_test_split(X, labels, random_state=0)

# %%
# Fit a forest on the sparse matrix and on the dense one, and compare the model files.


def file_bytes(model):
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


forest = CGForestClassifier(n_estimators=50, random_state=0).fit(X, y)
dense = CGForestClassifier(n_estimators=50, random_state=0).fit(X.toarray(), y)
is_same = file_bytes(forest) == file_bytes(dense)
sparse_size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
print(f"{X.shape[0]} paragraphs, {X.shape[1]} words")
print(f"Dense matrix: {X.toarray().nbytes / sparse_size:.0f} times the memory")
print(f"Bit-identical to the model of the dense matrix: {'yes' if is_same else 'no'}")

# %%
# The most important words separate the modules.
figure, ax = plt.subplots(figsize=(5.2, 4))
plot_importance(
    forest, max_features=10, feature_names=words.get_feature_names_out(), ax=ax
)
accuracy = forest.score(X_test, y_test)
ax.set_title(f"Ten of {X.shape[1]} words; accuracy of all: {accuracy:.2f}")

plt.show()

"""Fit a sparse X: counts of words, where each message has a few words out of thousands.

The model is bit-identical to that of the dense X, which takes many times the memory.
"""

from __future__ import annotations

import io

import numpy as np
import scipy.sparse
from sklearn.model_selection import train_test_split

from dics import CGForestClassifier

N_MESSAGES, N_WORDS, N_TOPICS = 3000, 1500, 4


def make_messages() -> tuple[scipy.sparse.csr_array, np.ndarray]:
    """Generate word counts and the topics of the messages."""
    rng = np.random.default_rng(0)
    topics = rng.integers(0, N_TOPICS, N_MESSAGES)
    common = rng.integers(0, N_WORDS, (N_MESSAGES, 16))
    # Topic t is recognized by the words t, t + 4, t + 8, ...
    typical = rng.integers(0, N_WORDS // N_TOPICS, (N_MESSAGES, 8)) * N_TOPICS
    words = np.hstack([common, typical + topics[:, None]])
    rows = np.repeat(np.arange(N_MESSAGES), words.shape[1])
    counts = scipy.sparse.coo_array(
        (np.ones(len(rows), dtype=np.float32), (rows, words.ravel())),
        shape=(N_MESSAGES, N_WORDS),
    )
    return scipy.sparse.csr_array(counts), topics


def file_bytes(model: CGForestClassifier) -> bytes:
    """Return the bytes of the model file."""
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


def main() -> None:
    """Compare the sparse X with the dense one."""
    X, y = make_messages()
    n_bytes = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    dense_bytes = X.data.itemsize * np.prod(X.shape)
    print(
        f"{X.shape[0]} messages, {X.shape[1]} words, {X.nnz / X.shape[0]:.0f} per "
        f"message: {n_bytes / 2**20:.1f} MiB, dense {dense_bytes / 2**20:.1f} MiB"
    )
    train, test, y_train, y_test = train_test_split(X, y, random_state=0)
    forest = CGForestClassifier(n_estimators=50, random_state=0)
    sparse_bytes = file_bytes(forest.fit(train, y_train))
    print(f"Test accuracy: {forest.score(test, y_test):.3f}")
    dense = CGForestClassifier(n_estimators=50, random_state=0)
    is_same = file_bytes(dense.fit(train.toarray(), y_train)) == sparse_bytes
    print(f"Bit-identical to the model of the dense X: {'yes' if is_same else 'no'}")


if __name__ == "__main__":
    main()

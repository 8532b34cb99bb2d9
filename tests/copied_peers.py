"""Processes that have the same rows as this one, as many as a test wants.

What one process has, times their number, is the sum of all: ten thousand rows stand for
ten thousand million.
"""

import numpy as np

# Numbers of rows that 32 bits don't hold.
FIRST = 2**33 + 5


class CopiedPeers:
    """So many processes with the same rows, numbered from FIRST on."""

    def __init__(self, n_rows, n_copies):
        self.runs = np.array([[0, FIRST, n_rows]], dtype=np.int64)
        self.run_starts = np.array([FIRST], dtype=np.int64)
        self.n_copies = n_copies
        self.added = []  # (type, length) of each sum

    def add(self, values):
        self.added.append((values.dtype, len(values)))
        values *= np.array(self.n_copies).astype(values.dtype)  # wraps, as sums do
        return True

    def largest(self, _):
        return True

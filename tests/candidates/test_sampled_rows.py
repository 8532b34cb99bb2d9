"""The sample of rows that places thresholds, for the largest number of rows."""

import numpy as np
import pytest
import reference

from dics import CentroidCandidates, QuantileCandidates, _core
from dics._training import LocalRows, SampledRows, TrainingData

pytestmark = pytest.mark.core
N_ROWS = 2**30


class EndlessRows(LocalRows):
    """More rows than fit into memory: a row is computed when it is sampled."""

    def __init__(self):
        self.shape = (N_ROWS, 3)
        self.taken = []

    def sample(self, indices):
        rows = np.unique(np.concatenate(indices()))
        self.taken.append(rows)
        share = rows / N_ROWS
        values = [share, np.sin(20 * share), np.floor(share * 4)]
        return SampledRows(np.stack(values, axis=1), rows, N_ROWS)


def test_sample_covers_all_rows():
    found = _core.rows_for_thresholds(N_ROWS, 1000, 3)
    expected = reference.stratified_rows(reference.combine(3, 5), N_ROWS, 1000)
    assert np.asarray(found).tolist() == list(expected)


@pytest.mark.parametrize(
    "source",
    [QuantileCandidates(max_bins=100), CentroidCandidates(centroid_source="kmeans")],
)
def test_thresholds_of_all_rows(source):
    X = EndlessRows()
    source._learn(TrainingData(X, None, 0, None, 0, 1))
    assert all(rows.min() < N_ROWS / 100 for rows in X.taken)
    assert all(rows.max() > N_ROWS * 0.99 for rows in X.taken)
    share, _, quarters = source.thresholds_
    assert share[0] < 0.05
    assert share[-1] > 0.95
    assert quarters.tolist() == [0.5, 1.5, 2.5]

"""Models of a cluster are those of one machine, byte for byte."""

import pytest

pytest.importorskip("distributed")

from dask_cases import cluster_of, differing

CASES = 42  # for each number of workers: more than 200 in all


@pytest.mark.parametrize("n_workers", [1, 2, 3, 4, 5])
def test_pickles_are_those_of_one_machine(n_workers, monkeypatch):
    # Few rows have upper nodes that are split together, too.
    monkeypatch.setattr("dics.dask._tops.LEAST_APART", 5)
    monkeypatch.setattr("dics.dask._tops.GROUP_SHARE", 1e-6)
    with cluster_of(n_workers):
        assert differing(1000 * n_workers, CASES) == []


def test_sums_of_many_workers_go_by_a_tree(monkeypatch):
    """As with more workers than have a slice each of what is searched."""
    monkeypatch.setattr("dics.dask._links.MOST_SLICES", 1)
    with cluster_of(6):
        assert differing(9000, 10) == []

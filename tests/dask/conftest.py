"""The shared cluster of the tests with Dask."""

import pytest


@pytest.fixture(scope="package")
def client():
    """Return a client of two workers, which are threads of this process."""
    from dask_cases import cluster_of  # `distributed` may not be installed

    with cluster_of(2) as client:
        yield client

"""A real cluster for all tests of this folder: three worker processes."""

import pytest

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="session")
def client():
    with (
        distributed.LocalCluster(
            n_workers=3,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            memory_limit="1GB",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client

"""A real cluster for all tests of this folder: started once, since that takes long."""

import pytest

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="session")
def client():
    """Of three worker processes with little memory; tests may kill one."""
    # An idle worker steals rows as small as those of tests; see the guide.
    with (
        dask.config.set({"distributed.scheduler.work-stealing": False}),
        distributed.LocalCluster(
            n_workers=3,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            memory_limit="440MB",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client

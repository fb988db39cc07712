"""A real cluster for all tests of this folder: started once, since that takes long."""

from contextlib import suppress

import pytest

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

CONFIG = {
    # An idle worker steals rows as small as those of tests; see the guide.
    "distributed.scheduler.work-stealing": False,
    # Nothing is written to disk or waits: a worker that has too much is killed.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
}


@pytest.hookimpl(tryfirst=True)  # before the choice by markers
def pytest_collection_modifyitems(items):
    """Tests on the cluster are slow."""
    for item in items:
        if "client" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session")
def client():
    """Of three worker processes with little memory; tests may kill one."""
    with (
        # Dask's own, of workers that were killed, when it closes the cluster
        suppress(KeyError),
        dask.config.set(CONFIG),
        distributed.LocalCluster(
            n_workers=3,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            memory_limit="900MB",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client

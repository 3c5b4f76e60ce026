"""Starts or connects to Dask clusters, and refuses clusters that cannot run the study."""

import socket
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cache
from logging import CRITICAL
from typing import Any

from simstudy.engine.executors.loky import deaf_to_interrupts
from simstudy.engine.workers import class_at
from simstudy.errors import ConfigError, describe, first_few
from simstudy.provenance.modules import library_version

LOOPBACK = "127.0.0.1"


def check_one_cluster(address: str | None, cluster: str | None) -> None:
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise ConfigError(
            "Dask is not installed: pip install 'simstudy[dask]', or use backend=loky"
        ) from None
    if address and cluster:
        raise ConfigError(
            f"backend.address={address} names a cluster that runs and backend.cluster={cluster} "
            "one to be started: give one of them"
        )


def started(open_: ExitStack, n_workers: int, place: str | None, options: Mapping[str, Any]) -> Any:
    """Start a cluster that ends with this process."""
    with deaf_to_interrupts():
        if place is None:
            return open_.enter_context(_own_cluster(n_workers, options))
        cluster = open_.enter_context(class_at("backend.cluster", place)(**options))
        cluster.adapt(minimum=n_workers, maximum=n_workers)  # scale() would replace none that ends
        return cluster


def _own_cluster(n_workers: int, options: Mapping[str, Any]) -> Any:
    """Start a local cluster without retries: the engine retries tasks itself."""
    from dask import config
    from distributed import LocalCluster

    with config.set({"distributed.scheduler.allowed-failures": 0}):
        return LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            host=LOOPBACK,
            dashboard_address=f"{LOOPBACK}:0",
            silence_logs=CRITICAL,  # deaths are told of by the engine
            **options,
        )


def connected(where: Any, timeout: float) -> Any:
    from distributed import Client

    try:
        return Client(where, timeout=timeout, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise ConfigError(
            f"backend.address={where}: no Dask scheduler answers there within {timeout:g} s "
            f"({describe(error)}). Start one with 'dask scheduler', or leave the address out for "
            "a cluster on this machine."
        ) from None


def threads_of(client: Any, timeout: float) -> int:
    """The number of threads of the workers; waits for the first worker."""
    try:
        client.wait_for_workers(1, timeout=timeout)
    except TimeoutError:
        raise ConfigError(
            f"no worker joined the Dask scheduler at {client.scheduler.address} within "
            f"{timeout:g} s. Start some with 'dask worker {client.scheduler.address}', or wait "
            "longer with backend.timeout=SECONDS."
        ) from None
    return threads_there(client)


def threads_there(client: Any) -> int:
    """The number of threads of the workers now, at least 1."""
    return max(1, sum(map(int, client.nthreads().values())))


@cache
def versions() -> dict[str, str]:
    """The versions that decide bits or the format of messages."""
    python = ".".join(map(str, sys.version_info[:2]))
    packages = ("simstudy", "numpy", "scipy", "numba", "pyarrow", "distributed")
    return {"Python": python} | {name: library_version(name) for name in packages}


def check_versions(ours: Mapping[str, str]) -> None:
    """In a worker, which may have joined late: refuse other versions than the caller's."""
    other = [
        f"{name} {version} on worker {socket.gethostname()}, {ours[name]} here"
        for name, version in versions().items()
        if version != ours[name]
    ]
    if other:
        raise ConfigError(
            f"the workers of the Dask scheduler have other versions: {first_few(other)}. Numbers "
            "could differ in their last bits: install there what is installed here."
        )

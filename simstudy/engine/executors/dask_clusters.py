"""Starts or connects to Dask clusters, and refuses clusters that cannot run the study."""

import importlib
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from logging import CRITICAL
from typing import Any, cast

from simstudy.engine.executors.loky import deaf_to_interrupts
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
        cluster = open_.enter_context(_class_at(place)(**options))
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


def _class_at(place: str) -> Callable[..., Any]:
    module, _, kind = place.partition(":")
    try:
        return cast(Callable[..., Any], getattr(importlib.import_module(module), kind))
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"backend.cluster={place} cannot be imported: {describe(error)}. Name a class of a "
            "module that Python finds, as module:Class."
        ) from error


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


def check_worker_versions(client: Any) -> None:
    """Refuse workers with another version of Python or of simstudy."""
    try:
        found = client.run(versions)
    except Exception as error:  # whatever an import raises there
        raise ConfigError(
            f"the workers of the Dask scheduler at {client.scheduler.address} cannot import "
            f"simstudy: {describe(error)}. Install there what is installed here."
        ) from error
    _refuse_others(found, own_versions())


def check_own_versions(expected: Mapping[str, str]) -> None:
    """Compare a worker's versions with those of the sender of its task."""
    global _checked
    if _checked != expected:
        _refuse_others({f"worker {socket.gethostname()}": versions()}, expected)
        _checked = expected


_checked: Mapping[str, str] | None = None  # what this worker was found to have


def _refuse_others(versions: Mapping[str, Mapping[str, str]], ours: Mapping[str, str]) -> None:
    other = [
        f"{name} {theirs[name]} on {worker}, {ours[name]} here"
        for worker, theirs in versions.items()
        for name in ours
        if theirs[name] != ours[name]
    ]
    if other:
        raise ConfigError(
            f"the workers of the Dask scheduler have other versions: {first_few(other)}. Numbers "
            "could differ in their last bits: install there what is installed here."
        )


def versions() -> dict[str, str]:
    """The versions that decide bits or the format of messages."""
    python = ".".join(map(str, sys.version_info[:2]))
    packages = ("simstudy", "numpy", "scipy", "numba", "pyarrow", "distributed")
    return {"Python": python} | {name: library_version(name) for name in packages}


own_versions = versions

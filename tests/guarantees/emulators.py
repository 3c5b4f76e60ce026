"""Object stores on the loopback of this machine: servers that speak S3, Google's and Azure's.

The first is in the `test` extra. For Google's `pip install gcsfs gcp-storage-emulator`; for Azure's
`pip install adlfs` and `npm install -g azurite`. Without them their tests are skipped.
"""

import importlib.util
import logging
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from joblib.externals.loky import get_reusable_executor

START_SECONDS = 30.0
AZURE_ACCOUNT = "devstoreaccount1"  # the one that azurite has, with the key that it publishes
AZURE_KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)
S3_KEY, S3_SECRET = "AKIDEXAMPLEKEY", "sesame/sesame/sesame/open"
SECRETS = {"s3": (S3_KEY, S3_SECRET), "gs": (), "abfs": (AZURE_KEY,)}
"""What no file and no refusal may show, by the kind of store."""


def why_not(kind: str) -> str:
    needs = {"s3": ["moto", "s3fs"], "gs": ["gcsfs", "gcp_storage_emulator"], "abfs": ["adlfs"]}[
        kind
    ]
    lacking = [name for name in needs if importlib.util.find_spec(name) is None]
    if kind == "abfs" and shutil.which("azurite-blob") is None:
        lacking.append("azurite-blob")
    return f"no {', '.join(lacking)} here" if lacking else ""


@contextmanager
def store(kind: str) -> Iterator[None]:
    """Within it, URLs of that kind lead to a store of this machine, with a bucket `results`."""
    begin = {"s3": _s3, "gs": _google, "abfs": _azure}[kind]
    with begin() as settings, pytest.MonkeyPatch.context() as patch:
        for name, value in settings.items():
            patch.setenv(name, value)
        import fsspec

        system = fsspec.filesystem(kind, skip_instance_cache=True)
        type(system).clear_instance_cache()
        system.mkdir("results")
        get_reusable_executor(kill_workers=True).shutdown()  # they know the settings of others
        yield
        type(system).clear_instance_cache()


@contextmanager
def _s3() -> Iterator[dict[str, str]]:
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield {
        "AWS_ACCESS_KEY_ID": S3_KEY,
        "AWS_SECRET_ACCESS_KEY": S3_SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
    }
    server.stop()


@contextmanager
def _google() -> Iterator[dict[str, str]]:
    """Without the calls by gRPC that gcsfs makes first, to which the emulator has no answer."""
    port = _free_port()
    told = ["start", "--host=127.0.0.1", f"--port={port}", "--in-memory"]
    with _running([sys.executable, "-m", "gcp_storage_emulator", *told], port):
        yield {
            "STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}",
            "FSSPEC_GS_TOKEN": "anon",
            "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false",
        }


@contextmanager
def _azure() -> Iterator[dict[str, str]]:
    port = _free_port()
    told = ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--inMemoryPersistence"]
    with _running(["azurite-blob", *told, "--skipApiVersionCheck", "--silent"], port):
        parts = {
            "DefaultEndpointsProtocol": "http",
            "AccountName": AZURE_ACCOUNT,
            "AccountKey": AZURE_KEY,
            "BlobEndpoint": f"http://127.0.0.1:{port}/{AZURE_ACCOUNT}",
        }
        said = ";".join(f"{name}={value}" for name, value in parts.items())
        yield {"AZURE_STORAGE_CONNECTION_STRING": said}


@contextmanager
def _running(command: list[str], port: int) -> Iterator[None]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + START_SECONDS
        while not _answers(port):
            assert process.poll() is None, f"{command[0]} ended"
            assert time.monotonic() < end, f"{command[0]} does not answer"
            time.sleep(0.05)
        yield
    finally:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

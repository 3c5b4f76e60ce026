"""A Slurm of one node, for tests: daemons of this machine's own, on the loopback, while asked for.

Needs root, since slurmd runs jobs as whoever submits them, and the programs of Debian's packages
munge, slurmctld, slurmd and slurm-client. Nothing outlives the context but what is not ours.
"""

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "sinfo")
START_SECONDS = 60.0  # of one daemon: a busy machine takes several

# A requeued job waits until its credentials have expired: two minutes, if nobody says less.
CONFIG = """\
ClusterName=simstudy
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
PlugStackConfig={folder}/plugstack.conf
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
JobRequeue=1
KillWait=5
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={megabytes} State=UNKNOWN
PartitionName=test Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def why_not() -> str:
    """Why there can be none on this machine; empty, where there can."""
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    if lacking:
        return f"no {', '.join(lacking)} here"
    return "" if os.geteuid() == 0 else "slurmd needs root"


@contextmanager
def one_node_slurm(cpus: int) -> Iterator[dict[str, str]]:
    """The environment in which Slurm's commands reach it.

    Parameters
    ----------
    cpus
        How many it believes that it has, which need not be there.
    """
    with ExitStack() as open_:
        # munge wants a folder that everybody may look into
        folder = Path(open_.enter_context(tempfile.TemporaryDirectory(prefix="slurm-", dir="/tmp")))
        folder.chmod(0o755)
        environment = os.environ | {"SLURM_CONF": str(folder / "slurm.conf")}
        _configure(folder, cpus)
        _start(open_, folder, _munged(folder), environment)
        _until(lambda: (folder / "munge.socket").exists(), folder)
        _start(open_, folder, ["slurmctld", "-D", "-i"], environment)
        _start(open_, folder, ["slurmd", "-D", "-N", _host()], environment)
        _until(lambda: _answer(["sinfo", "-h", "-o", "%T"], environment) == "idle", folder)
        open_.callback(_cancel_all, environment)
        yield environment


def _configure(folder: Path, cpus: int) -> None:
    for name in ("state", "spool"):
        (folder / name).mkdir(mode=0o700)
    key = folder / "munge.key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))
    (folder / "plugstack.conf").touch()
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    text = CONFIG.format(
        folder=folder, host=_host(), cpus=cpus, megabytes=pages // 2**20 // 2,
        controller_port=_free_port(), node_port=_free_port(),
    )  # fmt: skip
    (folder / "slurm.conf").write_text(text)


def _munged(folder: Path) -> list[str]:
    files = {"key-file": "key", "socket": "socket", "pid-file": "pid", "seed-file": "seed"}
    told = [f"--{option}={folder}/munge.{name}" for option, name in files.items()]
    return ["munged", "--foreground", f"--log-file={folder}/munge.log", *told]


def _host() -> str:
    return socket.gethostname().partition(".")[0]


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _start(open_: ExitStack, folder: Path, command: list[str], environment: dict[str, str]) -> None:
    with (folder / f"{command[0]}.out").open("w") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
            start_new_session=True,
        )  # fmt: skip
    open_.callback(_stop, process)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _cancel_all(environment: dict[str, str]) -> None:
    """Jobs would outlive the daemon that began them."""
    user = str(os.geteuid())
    subprocess.run(["scancel", "-u", user], env=environment, check=False, timeout=120)
    end = time.monotonic() + 30
    while _answer(["squeue", "-h"], environment) and time.monotonic() < end:
        time.sleep(0.2)


def _answer(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=30
    )
    return done.stdout.strip()


def _until(is_so: Callable[[], bool], folder: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while not is_so():
        if time.monotonic() > end:
            logs = {path.name: path.read_text()[-500:] for path in folder.glob("*.[ol][uo][tg]")}
            raise RuntimeError(f"Slurm did not start; its daemons say {logs}")
        time.sleep(0.1)

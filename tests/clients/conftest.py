"""Real servers with the module, one a test session and kind, reached over a Unix socket."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import pytest
import redis

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEADLINE = 30.0


def find_servers():
    """The folders with a `server` executable; raises if there is none or a required one is missing."""
    home = pathlib.Path(os.environ.get("BLOOMLINE_SERVERS", ROOT / ".servers"))
    found = {}
    if home.is_dir():
        found = {folder.name: folder for folder in sorted(home.iterdir()) if (folder / "server").is_file()}
    required = os.environ.get("BLOOMLINE_REQUIRED_SERVERS", "").split()
    missing = [name for name in required if name not in found]
    if missing:
        raise pytest.UsageError(f"required servers missing in {home}: {' '.join(missing)}; run `make servers`")
    if not found:
        raise pytest.UsageError(f"no server in {home}; run `make servers`")
    return found


class Server:
    """A process of our own in a folder of its own, killed at the end."""

    def __init__(self, name, folder):
        module = pathlib.Path(os.environ.get("BLOOMLINE_SO", ROOT / "bloomline.so")).resolve()
        assert module.is_file(), f"no module at {module}; run `make build`"
        self.name = name
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="bloomline-"))
        self.socket = self.home / "socket"
        config = self.home / "server.conf"
        config.write_text(f'dir {self.home}\nunixsocket {self.socket}\nport 0\nsave ""\nloadmodule {module}\n')
        self.log = (self.home / "server.log").open("wb")
        self.process = subprocess.Popen(
            [folder / "server", config], stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT
        )
        try:
            self.wait()
        except BaseException:
            self.stop()
            raise

    def wait(self):
        """Polls until the server answers PING."""
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            if self.process.poll() is not None:
                break
            try:
                with self.client(2) as client:
                    if client.ping():
                        return
            except redis.exceptions.ConnectionError:
                time.sleep(0.005)
        raise AssertionError(f"{self.name} did not start:\n{(self.home / 'server.log').read_text()}")

    def client(self, protocol, **options):
        """A connection with a deadline; the protocol is that of every reply."""
        return redis.Redis(unix_socket_path=str(self.socket), protocol=protocol, socket_timeout=DEADLINE, **options)

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.home, ignore_errors=True)


def pytest_generate_tests(metafunc):
    if "server" in metafunc.fixturenames:
        metafunc.parametrize("server", list(find_servers()), indirect=True, scope="session")


@pytest.fixture(scope="session")
def server(request):
    server = Server(request.param, find_servers()[request.param])
    yield server
    server.stop()


@pytest.fixture(params=[2, 3], ids=["resp2", "resp3"])
def protocol(request):
    return request.param


@pytest.fixture
def client(server, protocol):
    """A client that decodes nothing, on an empty server."""
    with server.client(protocol) as client:
        client.flushall()
        yield client


@pytest.fixture
def bf(client):
    """The Bloom filter commands of redis-py."""
    return client.bf()

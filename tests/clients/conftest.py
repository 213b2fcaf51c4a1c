"""Real servers with the module: one per test session, server and layout, on a Unix socket."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import pytest
from library import Client, exceptions
from ports import free_port

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Only a defect reaches it, also on a slow and busy machine.
DEADLINE = 300.0
LAYOUTS = ["bloomline", "redisbloom"]


def find_servers():
    """Returns the folders with a `server`: in the quick tier only those that the Rust tests use.

    Raises if there is none or a required one is missing.
    """
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
    if os.environ.get("BLOOMLINE_TIER") == "quick":
        redis = [name for name in found if name.startswith("redis-")]
        quick = {min(redis, key=lambda name: (age(name)[0], "-" in name[6:])), *newest_of(found)}
        found = {name: folder for name, folder in found.items() if name in quick}
    return found


def newest_servers():
    """Returns the newest Redis and Valkey, for tests that are too slow for every server."""
    return newest_of(find_servers())


def newest_of(names):
    newest = []
    for product in ("redis", "valkey"):
        candidates = [name for name in names if name.startswith(product)]
        if not candidates:
            raise pytest.UsageError(f"no {product} server; run `make servers`")
        newest.append(max(candidates, key=age))
    return newest


def age(name):
    """A sort key: by version, and of several builds of a version the one without a suffix last."""
    _, version, *suffix = name.split("-")
    return [int(number) for number in version.split(".")], not suffix


def poll(what, probe, retried=()):
    """Calls `probe` until its result is true, and returns that. Raises at the deadline.

    An exception of a type in `retried` counts as a false result.
    """
    end = time.monotonic() + DEADLINE
    last = None
    while time.monotonic() < end:
        try:
            if found := probe():
                return found
        except retried as error:
            last = error
        time.sleep(0.01)
    raise AssertionError(f"waited {DEADLINE:.0f} s for {what}; {last}")


class Server:
    """A server process in a temporary folder, killed at the end."""

    def __init__(self, name, folder, layout=LAYOUTS[0], settings="", lines="", has_module=True):
        module = pathlib.Path(os.environ.get("BLOOMLINE_SO", ROOT / "bloomline.so")).resolve()
        assert module.is_file(), f"no module at {module}; run `make build`"
        self.name = name
        self.layout = layout
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="bloomline-"))
        self.socket = self.home / "socket"
        config = self.home / "server.conf"
        config.write_text(
            f'dir {self.home}\nunixsocket {self.socket}\nport 0\nsave ""\n'
            + (f"loadmodule {module} bf-layout {layout} cf-layout {layout} {settings}\n" if has_module else "")
            + f"{lines}\n"
        )
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
                with self.client() as client:
                    if client.ping():
                        return
            except exceptions.ConnectionError:
                time.sleep(0.005)
        raise AssertionError(f"{self.name} did not start:\n{(self.home / 'server.log').read_text()}")

    @property
    def url(self):
        return f"unix://{self.socket}"

    def client(self, protocol=None, **options):
        """Returns a client with a deadline. Without a protocol it uses the library's default."""
        # Older releases of the library do not have this argument.
        if protocol:
            options["protocol"] = protocol
        return Client(unix_socket_path=str(self.socket), socket_timeout=DEADLINE, **options)

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.home, ignore_errors=True)


def pytest_configure(config):
    config.addinivalue_line("markers", "newest: runs only on the newest Redis and Valkey")
    config.addinivalue_line("markers", "one_layout: runs with one layout of new filters only")


def pytest_generate_tests(metafunc):
    if "server" in metafunc.fixturenames:
        marks = {mark.name for mark in metafunc.definition.iter_markers()}
        names = newest_servers() if "newest" in marks else list(find_servers())
        layouts = LAYOUTS[:1] if "one_layout" in marks else LAYOUTS
        kinds = [(name, layout) for name in names for layout in layouts]
        metafunc.parametrize("server", kinds, ids="-".join, indirect=True, scope="session")


@pytest.fixture(scope="session")
def server(request):
    name, layout = request.param
    server = Server(name, find_servers()[name], layout)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def port(server):
    """A TCP port of the server, for libraries that have no Unix sockets. Needs Redis 7."""
    port = free_port()
    with server.client() as client:
        client.config_set("port", port)
    return port


@pytest.fixture(params=[2, 3], ids=["resp2", "resp3"])
def protocol(request):
    return request.param


@pytest.fixture
def client(server, protocol):
    """A client that does not decode replies, on an empty server."""
    with server.client(protocol) as client:
        client.flushall()
        yield client


@pytest.fixture
def bf(client):
    """The Bloom filter commands of the library."""
    return client.bf()

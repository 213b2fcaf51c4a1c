"""What the programs of examples/ do if their server or their arguments are wrong: print one line."""

import os
import subprocess
import sys
import urllib.request

import pytest
from conftest import DEADLINE, ROOT, Server, find_servers
from ports import free_port

EXAMPLES = ROOT / "examples"
sys.path.insert(0, str(EXAMPLES / "scrapy"))
from local_site import LocalSite  # noqa: E402

# The arguments of each program, from its own folder.
PROGRAMS = {
    "bulk_load": ["bulk_load.py"],
    "cache_guard": ["cache_guard.py"],
    "feed": ["feed.py"],
    "idempotency": ["idempotency.py"],
    "parallel": ["parallel.py"],
    "scrapy": ["-m", "scrapy", "crawl", "pages", "--nolog"],
    "sharded": ["seen.py"],
}
# In the message of each program, before its colon.
NAMES = {"sharded": "seen", "scrapy": "crawl"}

pytestmark = [pytest.mark.newest, pytest.mark.one_layout]


@pytest.fixture(params=PROGRAMS)
def program(request):
    return request.param


@pytest.fixture(scope="module")
def site():
    site = LocalSite()
    yield site
    site.close()


def run(program, *arguments, site=None, closed_stdin=False, **variables):
    command = [sys.executable, *PROGRAMS[program], *arguments]
    if site:
        command += ["-a", f"site={site}"]
    if closed_stdin:
        command = ["sh", "-c", 'exec "$@" <&-', "sh", *command]
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_URL")}
    return subprocess.run(
        command,
        cwd=EXAMPLES / program,
        env={**environment, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=2 * DEADLINE,
    )


def check_one_line(done, program, text=""):
    """Checks that a program failed with one line, which names the program and the reason."""
    assert done.returncode == 1, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"{NAMES.get(program, program)}: ") and text.lower() in line.lower()


@pytest.mark.parametrize("url, text", [("nonsense", "redis://"), ("redis://127.0.0.1:port", "port")])
def test_wrong_url_is_one_line(program, url, text):
    check_one_line(run(program, REDIS_URL=url), program, text)


def test_server_that_does_not_listen_is_one_line(program):
    check_one_line(run(program, REDIS_URL=f"redis://127.0.0.1:{free_port()}"), program, "refused")


@pytest.fixture(scope="session")
def bare(server):
    """A server of the same kind without the module."""
    bare = Server(server.name, find_servers()[server.name], has_module=False)
    yield bare
    bare.stop()


def test_server_without_the_module_is_one_line(bare, program):
    # A filter with a seed tests first whether the server has the module.
    text = "needs the module" if program == "parallel" else "unknown command 'BF."
    check_one_line(run(program, REDIS_URL=bare.url), program, text)


@pytest.mark.parametrize("program", ["sharded", "parallel"])
def test_server_that_is_no_cluster_is_one_line(port, program):
    check_one_line(run(program, CLUSTER_URL=f"redis://127.0.0.1:{port}"), program, "cluster")


@pytest.mark.parametrize("program", ["sharded", "parallel"])
def test_cluster_that_does_not_listen_is_one_line(program):
    check_one_line(run(program, CLUSTER_URL=f"redis://127.0.0.1:{free_port()}"), program, "cluster")
    check_one_line(run(program, CLUSTER_URL="nonsense"), program)


def test_program_runs_with_a_closed_standard_input(server, site, program):
    with server.client() as client:
        client.flushall()
    url = site.url if program == "scrapy" else None
    done = run(program, site=url, closed_stdin=True, REDIS_URL=server.url)
    assert (done.returncode, done.stderr) == (0, "")


def test_help_is_printed(program):
    done = run(program, "--help")
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.lower().startswith("usage")


def test_wrong_option_is_a_usage_error(program):
    done = run(program, "--no-such-option")
    assert done.returncode == 2 and "error: " in done.stderr and "Traceback" not in done.stderr


def test_site_that_cannot_be_reached_is_not_remembered(server, site):
    with server.client(protocol=2) as client:
        client.flushall()
        done = run("scrapy", site=f"http://127.0.0.1:{free_port()}", REDIS_URL=server.url)
        check_one_line(done, "scrapy", "no page is remembered")
        check_one_line(run("scrapy", site="nonsense", REDIS_URL=server.url), "scrapy", "no URL")
        assert client.keys() == []
        before = site.fetched.total()
        done = run("scrapy", site=site.url, REDIS_URL=server.url)
        assert done.returncode == 0, done.stderr
        assert site.fetched.total() == before + 100


@pytest.mark.parametrize("redirection", ["</dev/null", "<&-"])
def test_local_site_serves_without_a_standard_input(redirection):
    port = free_port()
    command = ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "local_site.py", str(port)]
    process = subprocess.Popen(command, cwd=EXAMPLES / "scrapy", stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline().startswith(f"http://127.0.0.1:{port}: ")
        for _ in range(3):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/1", timeout=DEADLINE) as page:
                assert page.status == 200
        # It prints the number of fetches, so it did not end with its input.
        assert process.stdout.readline().startswith("1 pages, ")
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_local_site_on_a_used_port_is_one_line(site):
    command = [sys.executable, "local_site.py", site.url.rsplit(":", 1)[1]]
    done = subprocess.run(command, cwd=EXAMPLES / "scrapy", capture_output=True, text=True, timeout=DEADLINE)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 1 and line.startswith("local_site: ") and "in use" in line

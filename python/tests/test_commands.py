"""The commands that need no running server."""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path

import pytest
import redis
from conftest import DEADLINE
from ports import free_port

import bloomline
from bloomline import BloomlineError
from bloomline.cli import console
from bloomline.cli.explain import explain
from bloomline.cli.program import run
from bloomline.errors import reason_of
from bloomline.module import LocalServer, path


def command(*words):
    return [sys.executable, "-m", "bloomline", *words]


def output(*words):
    return subprocess.run(command(*words), capture_output=True, text=True, check=True).stdout


def test_path_is_the_file_for_loadmodule():
    assert output("path") == f"{path()}\n"
    assert os.access(path(), os.X_OK)


def test_move_names_what_moves_a_filter():
    words = command("move", "k", "redis://127.0.0.1:1")
    program = subprocess.run(words, capture_output=True, text=True, check=False)
    (line,) = program.stderr.splitlines()
    assert (program.returncode, program.stdout) == (1, "")
    for way in ("MIGRATE", "replication", "`bloomline export` and `import`"):
        assert way in line


def test_interrupted_start_leaves_no_server(monkeypatch, tmp_path):
    started = []

    def start(*arguments, **options):
        started.append(popen(*arguments, **options))
        return started[0]

    def interrupt(server, seconds):
        raise KeyboardInterrupt

    popen = subprocess.Popen
    monkeypatch.setattr("bloomline.module.subprocess.Popen", start)
    # Not where it sleeps, which it does not if the server answers at once.
    monkeypatch.setattr(LocalServer, "_wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        LocalServer(tmp_path)
    assert started[0].poll() == -signal.SIGKILL


def test_server_ends_with_a_program_that_is_killed(tmp_path):
    program = """
import sys, time
from pathlib import Path
from bloomline.module import LocalServer
server = LocalServer(Path(sys.argv[1]))
print(server._process.pid, flush=True)
time.sleep(600)
"""
    words = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        pid = int(process.stdout.readline())
        process.kill()
    end = time.monotonic() + DEADLINE
    status = Path(f"/proc/{pid}/stat")
    # Nobody may be there to wait for it.
    while status.exists() and status.read_text().rpartition(") ")[2][0] != "Z":
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_module_that_is_not_loaded_is_an_error_with_the_log(tmp_path, monkeypatch):
    monkeypatch.setenv("BLOOMLINE_SO", __file__)
    with pytest.raises(BloomlineError, match=r"did not start:\n(.|\n)*test_commands\.py"):
        LocalServer(tmp_path)


@contextlib.contextmanager
def served(folder, *options):
    """A client of `bloomline serve`, which runs in the folder and is stopped at the end."""
    port = free_port()
    words = command("serve", "--port", str(port), "--", *options)
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL) as server:
        try:
            end = time.monotonic() + DEADLINE
            with redis.Redis(port=port) as client:
                while True:
                    try:
                        client.ping()
                        break
                    except redis.exceptions.ConnectionError:
                        assert server.poll() is None and time.monotonic() < end
                        time.sleep(0.01)
                yield client
        finally:
            server.send_signal(signal.SIGTERM)


def test_serve_starts_a_server_with_the_module(tmp_path):
    with served(tmp_path) as client:
        assert client.bf().add("k", "a") == 1


def test_serve_leaves_the_files_of_the_folder_alone(tmp_path):
    file = tmp_path / "dump.rdb"
    # No server starts with it.
    file.write_bytes(b"somebody's data")
    with served(tmp_path) as client:
        assert client.bf().add("k", "a") == 1
        assert client.config_get("save") == {"save": ""}
        client.save()
    assert list(tmp_path.iterdir()) == [file]
    assert file.read_bytes() == b"somebody's data"


def test_serve_saves_in_a_folder_that_is_named(tmp_path):
    options = ("--dir", str(tmp_path), "--save", "3600 1")
    with served("/", *options) as client:
        assert client.bf().add("k", "a") == 1
    with served("/", *options) as client:
        assert client.bf().exists("k", "a") == 1


def test_plan_has_the_numbers_of_the_module(plain):
    try:
        text = output("plan", "--items", "1e6", "--error", "0.001", "--capacity", "1e6")
    except subprocess.CalledProcessError:
        pytest.skip("this wheel has no plan")
    plain.execute_command("BF.RESERVE", "k", 0.001, 1_000_000)
    stats = plain.execute_command("BF.STATS", "k", "size")
    size = stats[b"size"] if isinstance(stats, dict) else stats[1]
    assert f" {size} " in text


NAMED = {"BLOOMLINE_SO": "serve", "BLOOMLINE_SERVER": "serve", "BLOOMLINE_PLAN": "plan"}


@pytest.mark.parametrize("name", NAMED)
def test_a_named_file_that_is_missing_is_reported(monkeypatch, tmp_path, name):
    monkeypatch.setenv(name, str(tmp_path / "missing"))
    done = subprocess.run(command(NAMED[name]), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"bloomline: {name} names {tmp_path / 'missing'}, which is no ")


@pytest.mark.parametrize("name", ["BLOOMLINE_SERVER", "BLOOMLINE_PLAN"])
def test_a_named_file_that_is_no_program_is_a_sentence(monkeypatch, tmp_path, name):
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF of another machine")
    program.chmod(0o755)
    monkeypatch.setenv(name, str(program))
    done = subprocess.run(command(NAMED[name]), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith(f"bloomline: {program} cannot be started (Exec format error)")


# Errors of the client libraries, and what is shown of them.
TEXTS = {
    "Error 111 connecting to 127.0.0.1:1. Connection refused.": "127.0.0.1:1: Connection refused",
    "Error 2 connecting to unix socket: /no. No such file or directory.": (
        "/no: No such file or directory"
    ),
    "Error while reading from 127.0.0.1:1 : (104, 'Connection reset by peer')": (
        "Connection reset by peer"
    ),
    "Error 32 while writing to socket. Broken pipe.": "Broken pipe",
    "Connection closed by server.": "Connection closed by server.",
}


@pytest.mark.parametrize("text", TEXTS)
def test_reason_has_no_numbers_of_the_system(library, text):
    for kind in (library.exceptions.ConnectionError, library.exceptions.TimeoutError):
        assert reason_of(kind(text)) == TEXTS[text]


# Errors of servers, and what a command says about them.
MEANINGS = {
    "BusyLoadingError": "h:7 is loading its data: run the command again",
    "TimeoutError": "h:7 does not answer (text): check whether --url",
    "InvalidResponse": "h:7 is no Redis or Valkey server (text): name another one",
    "AuthenticationError": "h:7 refuses the user or the password: give both in --url",
    "AskError": "h:7 is a node of a cluster, and k is on another node: add --cluster",
    "OutOfMemoryError": "h:7 refuses a call for k: text",
}


@pytest.mark.parametrize("name", MEANINGS)
def test_errors_of_servers_are_sentences_of_the_server_and_the_key(library, name):
    error = getattr(library.exceptions, name)("1 h:8" if name == "AskError" else "text.")
    options = argparse.Namespace(url="redis://user:secret@h:7/0", key="k")
    assert explain(error, options).startswith(MEANINGS[name])


INTERRUPTED = """
import sys

module = sys.argv.pop(1)

class Interrupting:
    def find_spec(name, *_):
        if name == module:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupting)
from bloomline.__main__ import main
main()
"""


@pytest.mark.parametrize("module", ["argparse", "redis", "bloomline.cli.load"])
def test_interrupted_imports_are_one_line(tmp_path, module):
    words = [sys.executable, "-c", INTERRUPTED, module, "check", "k", "file"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (130, "bloomline: stopped\n")


def test_every_name_of_the_package_is_there():
    for name in bloomline.__all__:
        assert getattr(bloomline, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = bloomline.nothing
    # The names are imported when they are used.
    code = "import sys, bloomline; print(sum(name.startswith('bloomline') for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


def test_library_needs_no_other_package():
    assert all("extra ==" in each for each in metadata.requires("bloomline"))


def test_progress_needs_no_bar(plain, bloomline_server, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(console, "_PLAIN_SECONDS", 0.0)
    (tmp_path / "lines").write_text("a\nb\n")
    run(["load", "--url", bloomline_server.url, "k", str(tmp_path / "lines")])
    output = capsys.readouterr()
    assert "2 items, 2 new" in output.out and "100.0%, 2 lines, 2 new" in output.err


def test_plan_and_load_have_the_same_defaults(monkeypatch, plain, bloomline_server, tmp_path):
    monkeypatch.setenv("BLOOMLINE_PLAN", "/bin/echo")
    assert output("plan", "--items", "1e6") == "--error 0.001 --items 1e6\n"
    (tmp_path / "lines").write_text("a\n")
    run(["load", "--url", bloomline_server.url, "k", str(tmp_path / "lines")])
    assert bloomline.Filter(plain, "k").stats()["error_rate"] == "0.001"
    assert bloomline.Create(1).error_rate == 0.001


def test_wheel_has_the_text_of_the_licence():
    (found,) = [each for each in metadata.files("bloomline") if each.name == "LICENSE"]
    assert "Redistribution" in found.read_text()


@pytest.mark.skipif("site-packages" not in bloomline.__file__, reason="this is no installed wheel")
def test_a_module_in_the_folder_is_not_taken_for_the_package(tmp_path):
    (tmp_path / "bloomline.so").write_bytes(b"the module of the server")
    for words in (["-m", "bloomline", "--version"], ["-c", "import bloomline.cli.program"]):
        subprocess.run([sys.executable, *words], cwd=tmp_path, check=True)


def test_version_is_that_of_the_package():
    assert output("--version") == f"{metadata.version('bloomline')}\n"

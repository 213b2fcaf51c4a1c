"""The commands that need no running server."""

import os
import signal
import socket
import subprocess
import sys
import time
from importlib import metadata

import pytest
import redis

from bloomline import BloomlineError
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

    def interrupt(_):
        raise KeyboardInterrupt

    popen = subprocess.Popen
    monkeypatch.setattr("bloomline.module.subprocess.Popen", start)
    monkeypatch.setattr("bloomline.module.time.sleep", interrupt)
    with pytest.raises(KeyboardInterrupt):
        LocalServer(tmp_path)
    assert started[0].poll() == -signal.SIGKILL


def test_a_module_that_is_not_loaded_is_an_error_with_the_log(tmp_path, monkeypatch):
    monkeypatch.setenv("BLOOMLINE_SO", __file__)
    with pytest.raises(BloomlineError, match=r"did not start:\n(.|\n)*test_commands\.py"):
        LocalServer(tmp_path)


def test_serve_starts_a_server_with_the_module(tmp_path):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = command("serve", "--port", str(port), "--", "--save", "")
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL) as server:
        try:
            end = time.monotonic() + 30
            with redis.Redis(port=port) as client:
                while True:
                    try:
                        assert client.bf().add("k", "a") == 1
                        break
                    except redis.exceptions.ConnectionError:
                        assert server.poll() is None and time.monotonic() < end
                        time.sleep(0.01)
        finally:
            server.send_signal(signal.SIGTERM)


def test_plan_has_the_numbers_of_the_module(plain):
    try:
        text = output("plan", "--items", "1e6", "--error", "0.001", "--capacity", "1e6")
    except subprocess.CalledProcessError:
        pytest.skip("this wheel has no plan")
    plain.execute_command("BF.RESERVE", "k", 0.001, 1_000_000)
    stats = plain.execute_command("BF.STATS", "k", "size")
    size = stats[b"size"] if isinstance(stats, dict) else stats[1]
    assert f" {size} " in text


@pytest.mark.parametrize("name", ["BLOOMLINE_SO", "BLOOMLINE_SERVER"])
def test_a_named_file_that_is_missing_is_reported(monkeypatch, tmp_path, name):
    monkeypatch.setenv(name, str(tmp_path / "missing"))
    done = subprocess.run(command("serve"), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"bloomline: {name} names {tmp_path / 'missing'}, which is no ")


def test_version_is_that_of_the_package():
    assert output("--version") == f"{metadata.version('bloomline')}\n"

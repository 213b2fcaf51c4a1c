"""Clients in other languages, and those of another venv: each is a program that runs raw commands.

A program reads a line per command, its words in hexadecimal and separated by commas. It writes a
line of JSON per reply: strings in hexadecimal, {"error": text} for an error inside an array,
{"raised": text} for one that the library raises or returns for the whole call, and {"map": pairs}.
"""

import json
import os
import subprocess
import threading

from conftest import DEADLINE, ROOT

FOLDER = ROOT / "tests/clients/programs"
NODE = ROOT / ".venv-node/bin/node"
# Go finds Debian's packages of libraries here, and fetches nothing.
GO = {**os.environ, "GO111MODULE": "off", "GOPATH": "/usr/share/gocode"}
GLIDE_PYTHON = ROOT / ".venv-valkey/bin/python"


class Refused(Exception):
    """The library refused the whole call with this text."""


class ErrorInside(str):
    """The text of an error that is an element of an array."""


class Program:
    """A running program. Calling it runs a command and returns the reply, as the library gives it."""

    def __init__(self, command):
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        except FileNotFoundError as error:
            raise AssertionError(f"{command[0]} is missing; run `make test-clients`") from error

    def __call__(self, *words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        # A program that hangs is killed, and then its next line is the end of its output.
        timer = threading.Timer(DEADLINE, self.process.kill)
        timer.start()
        try:
            self.process.stdin.write(",".join(word.hex() for word in words) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        finally:
            timer.cancel()
        assert line, f"the program ended or hung at {words[0].decode()}"
        return decode(json.loads(line))

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def decode(value):
    if isinstance(value, str):
        return bytes.fromhex(value)
    if isinstance(value, list):
        return [decode(element) for element in value]
    if not isinstance(value, dict):
        return value
    if "raised" in value:
        raise Refused(value["raised"])
    if "error" in value:
        return ErrorInside(value["error"])
    if "map" in value:
        return {decode(name): decode(member) for name, member in value["map"]}
    return {name: decode(member) for name, member in value.items()}

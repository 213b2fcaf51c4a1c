"""Errors of files and servers as sentences, which name the object and what to do."""

from __future__ import annotations

import argparse
import contextlib
import errno
from collections.abc import Iterator
from urllib.parse import urlsplit

from ..errors import (
    BloomlineError,
    cluster_exceptions,
    error_classes,
    library_errors,
    reason_of,
)
from ..replies import is_unknown, is_wrong_type

# What to do about an error of a file.
_ADVICE = {
    (errno.ENOENT, "read"): "check its name",
    (errno.ENOENT, "written"): "create its folder first",
    (errno.EISDIR, "read"): "name a file in it",
    (errno.EISDIR, "written"): "name a file in it",
    (errno.EACCES, "read"): "let this user read it",
    (errno.EACCES, "written"): "let this user write to it, and to its folder",
    (errno.ENOSPC, "written"): "free some space, also for temporary files (TMPDIR)",
    (errno.EPIPE, "written"): "its reader has ended",
    (errno.EBUSY, "written"): "write to another file, and copy it",
}


@contextlib.contextmanager
def naming(name: str, done: str = "read") -> Iterator[None]:
    """Raises a `BloomlineError` for an error of a file that is read, written or started."""
    try:
        yield
    except OSError as error:
        advice = _ADVICE.get((error.errno or 0, done))
        text = f"{name} cannot be {done} ({error.strerror or error})"
        raise BloomlineError(f"{text}: {advice}" if advice else text) from error


# What texts of errors contain, and what they mean.
_BY_TEXT = {
    "cluster mode is not enabled": "{server} is no node of a cluster: leave out --cluster",
    "cluster support disabled": "{server} is no node of a cluster: leave out --cluster",
    "unix domain socket": "a cluster has no Unix socket: name a host and a port in --url",
}

# Classes of errors, and what they mean. Some of them are of others further down.
_BY_CLASS = {
    ("MovedError", "AskError"): (
        "{server} is a node of a cluster, and {key} is on another node: add --cluster"
    ),
    ("BusyLoadingError",): (
        "{server} is loading its data: run the command again when it has done so"
    ),
    ("AuthenticationError",): (
        "{server} refuses the user or the password: give both in --url or REDIS_URL, such as "
        "redis://USER:PASSWORD@HOST:PORT"
    ),
    ("TimeoutError",): (
        "{server} does not answer ({reason}): check whether --url or REDIS_URL is right, whether "
        "it must begin with rediss://, and whether a long call blocks the server"
    ),
    ("ConnectionError",): (
        "there is no connection to {server} ({reason}): start a server there, for example by "
        "`bloomline serve`, or name another one in --url or REDIS_URL"
    ),
    ("InvalidResponse",): (
        "{server} is no Redis or Valkey server ({reason}): name another one in --url or REDIS_URL"
    ),
}


def explain(error: Exception, options: argparse.Namespace) -> str:
    """What an error of a client library means for a command with the options `url` and `key`."""
    cause = error.__cause__
    # A client of a cluster raises it with the error of the last node that it has tried.
    if isinstance(error, cluster_exceptions()) and isinstance(cause, library_errors()):
        error = cause
    server, key = _address(options.url), options.key
    reason = reason_of(error).removeprefix(f"{server}: ").rstrip(".")
    found = [text for part, text in _BY_TEXT.items() if part in str(error).lower()]
    found += [text for names, text in _BY_CLASS.items() if isinstance(error, error_classes(*names))]
    if is_wrong_type(error):
        found.append("{key} holds a value of another type (WRONGTYPE): use another key")
    if is_unknown(error):
        # Its arguments follow, among them bytes of a filter.
        reason = reason.partition(", with args")[0]
        found.append("{server} refuses a call ({reason}): it needs the module Bloomline")
    found.append("{server} refuses a call for {key}: {reason}")
    return found[0].format(server=server, key=key, reason=reason)


def _address(url: str) -> str:
    """The server in a URL, without its password."""
    parts = urlsplit(url)
    if not parts.hostname:
        return parts.path or "the server"
    return f"{parts.hostname}:{parts.port or 6379}"

"""`bloomline export` and `import`: a filter to a file, and back."""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import shutil
import sys
import tempfile
from typing import IO, Any

from ..drivers import call, node_of
from ..errors import BloomlineError, response_errors
from ..identity import Identity, identity_call, identity_in
from ..replies import as_dict, is_unknown
from . import dump
from .console import say

# How often a filter whose shape changes is read.
_ATTEMPTS = 5


def add_export_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `export`."""
    parser.add_argument("key", help="the filter")
    parser.add_argument("file", help="it is replaced when the dump is complete; - for the output")


def export(client: Any, options: argparse.Namespace) -> int:
    """Writes a filter to a file. The file appears under its name when it is complete."""
    client = node_of(client, options.key)
    if options.file == "-":
        if sys.stdout is None:
            raise BloomlineError("the standard output is closed")
        with tempfile.TemporaryFile() as file:
            size = _write_whole(client, options.key, file)
            file.seek(0)
            with open(sys.stdout.fileno(), "wb", closefd=False) as output:
                shutil.copyfileobj(file, output)
        say(f"{size:,} bytes", is_error=True)
        return 0
    # Its name is that of no other export.
    partial = f"{options.file}.{secrets.token_hex(4)}.partial"
    try:
        with open(partial, "xb") as file:
            size = _write_whole(client, options.key, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, options.file)
    finally:
        if os.path.exists(partial):
            os.remove(partial)
    say(f"{size:,} bytes")
    return 0


def _write_whole(client: Any, key: str, file: IO[bytes]) -> int:
    """Writes a dump whose chunks are of one filter of one shape. Returns its bytes.

    Raises:
        BloomlineError: the filter was replaced, or its shape changed during each attempt.
    """
    head = dump.head_of(client, key)
    before = _identity_of(client, key, head.family)
    for _ in range(_ATTEMPTS):
        file.seek(0)
        file.truncate()
        try:
            size = dump.write(file, head, dump.chunks_of(client, head, key))
        except response_errors() as error:
            if "begin again" not in str(error):
                raise
            size = None
        after = _identity_of(client, key, head.family)
        if not before.may_become(after):
            raise BloomlineError(f"{key} was replaced by another filter during the export")
        if size is not None and before.has_shape_of(after):
            return size
        before = after
    raise BloomlineError(
        f"{key} changed during each of {_ATTEMPTS} attempts: while layers are added or dropped, or "
        "a cuckoo filter is written to, its chunks are not those of one filter"
    )


def _identity_of(client: Any, key: str, family: bytes) -> Identity:
    """Returns the identity of a filter of a family, `BF` or `CF`, on any server.

    Raises:
        ResponseError: the key is missing, or holds another type.
    """
    try:
        return identity_in(call(client, *identity_call(key, family.decode())))
    except response_errors() as error:
        if not is_unknown(error):
            raise
    return identity_in(call(client, "BF.INFO", key))


def add_import_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `import`."""
    parser.add_argument("key", help="the filter to create")
    parser.add_argument("file", help="written by export; - for the input")
    parser.add_argument("--replace", action="store_true", help="replace a key that exists")


def import_(client: Any, options: argparse.Namespace) -> int:
    """Creates a filter from a file. A damaged file changes nothing."""
    client = node_of(client, options.key)
    with contextlib.ExitStack() as stack:
        if options.file == "-":
            if sys.stdin is None:
                raise BloomlineError("the standard input is closed")
            file: IO[bytes] = sys.stdin.buffer
        else:
            file = stack.enter_context(open(options.file, "rb"))
        head, chunks = dump.read(file)
        dump.load_chunks(client, head, options.key, chunks, replace=options.replace)
    say(f"{options.key}: {_items(client, head, options.key):,} items")
    return 0


def _items(client: Any, head: dump.Head, key: str) -> int:
    """The number of items that were added."""
    if head.family == b"BF":
        return int(call(client, "BF.CARD", key))
    info = as_dict(call(client, "CF.INFO", key))
    return int(info["Number of items inserted"])

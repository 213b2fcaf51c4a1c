"""`bloomline export`, `import` and `move`: a filter to a file, back, and to another server."""

from __future__ import annotations

import argparse
import os
from typing import Any

from ..connecting import connect
from ..drivers import beside, call, node_of
from ..errors import BloomlineError
from ..replies import as_dict
from . import dump
from .console import say


def add_export_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `export`."""
    parser.add_argument("key", help="the filter")
    parser.add_argument("file", help="the file, which is replaced when the dump is complete")


def export(client: Any, options: argparse.Namespace) -> int:
    """Writes a filter to a file. The file appears under its name when it is complete."""
    client = node_of(client, options.key)
    head = dump.head_of(client, options.key)
    partial = options.file + ".partial"
    try:
        with open(partial, "wb") as file:
            size = dump.write(file, head, dump.chunks_of(client, head, options.key))
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, options.file)
    finally:
        if os.path.exists(partial):
            os.remove(partial)
    say(f"{size:,} bytes")
    return 0


def add_import_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `import`."""
    parser.add_argument("key", help="the filter to create")
    parser.add_argument("file", help="a file that export has written")
    parser.add_argument("--replace", action="store_true", help="replace a key that exists")


def import_(client: Any, options: argparse.Namespace) -> int:
    """Creates a filter from a file. A damaged file changes nothing."""
    client = node_of(client, options.key)
    with open(options.file, "rb") as file:
        head, chunks = dump.read(file)
        dump.load_chunks(client, head, options.key, chunks, replace=options.replace)
    say(f"{options.key}: {_items(client, head, options.key):,} items")
    return 0


def add_move_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `move`."""
    parser.add_argument("key", help="the filter")
    parser.add_argument("to", help="the URL of the other server")
    parser.add_argument("--to-cluster", action="store_true", help="that server is of a cluster")
    parser.add_argument("--replace", action="store_true", help="replace a key that exists there")
    parser.add_argument("--keep", action="store_true", help="keep the filter here: copy it")


def move(client: Any, options: argparse.Namespace) -> int:
    """Copies a filter to another server, compares, and deletes it here.

    Items that are added during the copy may be missing in it. Their number shows that, and then
    the filter stays here.
    """
    key = options.key
    client = node_of(client, key)
    target = node_of(connect(options.to, is_cluster=options.to_cluster), key)
    head = dump.head_of(client, key)
    _check_different(client, target, key)
    before = _items(client, head, key)
    chunks = dump.chunks_of(client, head, key)
    dump.load_chunks(target, head, key, chunks, replace=options.replace)
    after, there = _items(client, head, key), _items(target, head, key)
    if not before == after == there:
        raise BloomlineError(
            f"{key} changed during the copy ({before} items before, {after} after, {there} in the "
            "copy): both filters are kept; stop the writers and repeat with --replace"
        )
    if not options.keep:
        call(client, "UNLINK", key)
    say(f"{key}: {there:,} items {'copied' if options.keep else 'moved'}")
    return 0


def _check_different(client: Any, target: Any, key: str) -> None:
    """Refuses a move of a filter to itself, which would delete it, whatever its URLs are."""
    probe = beside(key, "move")
    call(target, "SET", probe, "", "EX", 60)
    is_same = call(client, "EXISTS", probe)
    call(target, "UNLINK", probe)
    if is_same:
        raise BloomlineError(f"{key} is on that server already")


def _items(client: Any, head: dump.Head, key: str) -> int:
    """The number of items that were added."""
    if head.family == b"BF":
        return int(call(client, "BF.CARD", key))
    info = as_dict(call(client, "CF.INFO", key))
    return int(info["Number of items inserted"])

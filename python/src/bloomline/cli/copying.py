"""`bloomline export` and `import`: a filter to a file, and back."""

from __future__ import annotations

import argparse
import os
from typing import Any

from ..drivers import call, node_of
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


def _items(client: Any, head: dump.Head, key: str) -> int:
    """The number of items that were added."""
    if head.family == b"BF":
        return int(call(client, "BF.CARD", key))
    info = as_dict(call(client, "CF.INFO", key))
    return int(info["Number of items inserted"])

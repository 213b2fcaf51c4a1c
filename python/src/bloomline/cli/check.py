"""`bloomline check`: how many lines of a file may be in a filter."""

from __future__ import annotations

import argparse
from typing import Any

from ..drivers import call, has_filter, node_of, run
from ..errors import BloomlineError
from ..identity import Watch, identity_call
from ..programs import need_bloomline
from .console import Progress, say
from .sources import MIB, Source, count_empty, read_blocks, say_skipped


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command."""
    parser.add_argument("key", help="the filter")
    parser.add_argument("file", help="plain or gzip; - for the input")


def main(client: Any, options: argparse.Namespace) -> int:
    """Runs the command. Returns 0 if all lines are found, else 1, as grep does."""
    client = node_of(client, options.key)
    run(client, need_bloomline(options.key, "`bloomline check`"))
    # BF.BULKEXISTS answers 0 to every line of a missing key, and of a key of another type.
    if not has_filter(client, options.key):
        raise BloomlineError(f"there is no filter {options.key}")
    source, watch = Source(options.file), Watch(options.key)
    watch.see(call(client, *identity_call(options.key)))
    source.seek(source.start)
    lines = found = empty = 0
    with Progress(source.size) as progress:
        for block in read_blocks(source, MIB):
            words = ("BF.BULKEXISTS", options.key, "LINES", block, "COUNT")
            in_block, found_in_block = call(client, *words)
            lines, found = lines + in_block, found + found_in_block
            empty += count_empty(block)
            numbers = f"{lines:,} lines, {found:,} found"
            progress.show(source.done(), lines, numbers)
    watch.see(call(client, *identity_call(options.key)))
    say_skipped(source, empty)
    say(f"{found:,} of {lines - empty:,} items are found")
    return 0 if found == lines - empty else 1

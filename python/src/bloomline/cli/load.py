"""`bloomline load`: adds the lines of files, and goes on where it stopped if it is run again.

Each block of lines is added together with a position up to which the server has replied, in one
transaction. So all lines before the position are in the filter: also after a crash of the server,
on a replica, and if a block is refused. After a kill the blocks that were in flight are added
again, which changes no bit, but counts their lines as known.

Each transaction also reads which filter it is. A load stops, and its position is deleted, if that
is another one than before: one that was created again, or is of a backup.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from itertools import islice
from typing import Any, Callable

from ..creation import ERROR_RATE, Create
from ..drivers import beside, call, has_filter, node_of, run
from ..errors import BloomlineError
from ..identity import Watch, identity_call
from ..packing import Word
from ..programs import Call, Program, Programs, need_bloomline
from ..replies import as_dict, executed_of, is_missing
from .console import Progress, say
from .sources import MIB, Source, count_empty, read_blocks, say_skipped, start_of_line

# Blocks that are sent before a reply is read.
IN_FLIGHT = 4

# Deletes a filter with this seed and this number of items.
_REMOVE = """
local found = redis.call('BF.STATS', KEYS[1], 'seed', 'items')
if found[2] ~= ARGV[1] or found[4] ~= tonumber(ARGV[2]) then return 0 end
return redis.call('DEL', KEYS[1])
"""

_REFUSED = re.compile(r"(.*): line (\d+) of \d+ was refused, (\d+) of the \d+ before it were new")


@dataclass
class Position:
    """How far the runs of a load came: bytes, lines with empty ones, new items, empty lines."""

    offset: int = 0
    lines: int = 0
    new: int = 0
    empty: int = 0

    def text(self) -> str:
        """The position as it is stored."""
        return f"{self.offset} {self.lines} {self.new} {self.empty}"


class Load:
    """The load of one file into the filter `key`.

    Positions are fields of a hash beside the filter, one per file, so a load of several files
    resumes too. `delete_positions` ends it.
    """

    def __init__(
        self, key: str, source: Source, block_bytes: int = MIB, watch: Watch | None = None
    ) -> None:
        """`watch` is that of all files that are loaded into the filter."""
        self.key = key
        self.watch = watch or Watch(key)
        self.source = source
        self.block_bytes = block_bytes
        self.position = Position()

    def resume(self) -> Program[None]:
        """Reads how far earlier runs came.

        Raises:
            BloomlineError: the file has changed since, or the key holds another filter.
        """
        stored, found = yield [
            ("HGET", positions_key(self.key), self.source.name),
            identity_call(self.key),
        ]
        for reply in (stored, found):
            if isinstance(reply, Exception) and not is_missing(reply):
                raise reply
        if not stored or self.source.identity is None:
            return
        if isinstance(found, Exception):
            # Without its filter a position means nothing, and nothing of the next one.
            yield [("HDEL", positions_key(self.key), self.source.name)]
            return
        identity, *numbers = stored.decode(errors="replace").split() or [""]
        if identity != self.source.identity:
            raise BloomlineError(
                f"{self.source.name} has changed since its load began: use --restart"
            )
        try:
            *position, fixed, count = numbers
            self.position = Position(*map(int, position))
            self.watch.remember(fixed, int(count))
        except (TypeError, ValueError) as error:
            raise BloomlineError(
                f"the position of {self.source.name} cannot be read: use --restart"
            ) from error
        try:
            self.watch.see(found)
        except BloomlineError as error:
            raise BloomlineError(
                f"{error}: to load {self.source.name} from its start, use --restart"
            ) from error

    def seek(self) -> None:
        """Goes to the position. A compressed file is read up to there."""
        self.position.offset = max(self.position.offset, self.source.start)
        self.source.seek(self.position.offset)

    def run(self, report: Callable[[Position], None]) -> Program[None]:
        """Adds the blocks of the source from the position on, to which `seek` went.

        Raises:
            BloomlineError: a line was refused, and the position is that of the line, and has all
                that is new in the filter; or the key holds another filter or none, and there is no
                position any more.
        """
        (found,) = yield [identity_call(self.key)]
        self.watch.see(found)
        blocks = read_blocks(self.source, self.block_bytes)
        while window := list(islice(blocks, IN_FLIGHT)):
            calls: list[Call] = []
            for block in window:
                add: Call = ("BF.BULKADD", self.key, b"LINES", block, b"COUNT")
                calls += self._transaction(add, identity_call(self.key))
            replies = yield calls
            step = len(calls) // len(window)
            executed = [executed_of(replies[at : at + step]) for at in range(0, len(calls), step)]
            yield from self._count(window, executed)
            report(self.position)
        # A file that is done is not read again if the load stops in a later one.
        executed = executed_of((yield self._transaction()))
        if isinstance(executed, Exception):
            raise executed
        yield from self._count([], [executed])

    def _transaction(self, *calls: Call) -> list[Call]:
        return [("MULTI",), identity_call(self.key), *calls, *self._store(), ("EXEC",)]

    def _store(self) -> list[Call]:
        if self.source.identity is None:
            return []
        value = f"{self.source.identity} {self.position.text()} {self.watch.text()}"
        return [("HSET", positions_key(self.key), self.source.name, value)]

    def _count(self, window: list[bytes], executed: list[Any]) -> Program[None]:
        at = self.position
        failed: Exception | None = None
        for number, reply in enumerate(executed):
            try:
                if not isinstance(reply, Exception):
                    self.watch.see(reply[0])
            except BloomlineError as error:
                # The transactions after this one have stored a position again.
                yield [("HDEL", positions_key(self.key), self.source.name)]
                is_removed = yield from self._remove_created(executed[number:])
                raise BloomlineError(
                    f"{error}: the load stops"
                    if is_removed
                    else f"{error}: the load stops. What it holds now may be a filter of the "
                    "server's defaults, which the load has created: delete it, and begin again"
                ) from error
        for block, reply in zip(window, executed):
            added = reply if isinstance(reply, Exception) else reply[1]
            if isinstance(added, Exception):
                failed = failed or self._refused(block, added)
            elif failed is not None:
                # It was sent ahead: its lines come again, and are known then.
                at.new += added[1]
            else:
                lines, new = added
                at.offset += len(block)
                at.lines += lines
                at.new += new
                at.empty += count_empty(block)
        if failed is not None:
            if store := self._store():
                yield store
            raise failed

    def _remove_created(self, executed: list[Any]) -> Program[bool]:
        """Deletes the filter that transactions have created where they found none.

        It is kept if anybody else may have added to it. Returns whether there is none.
        """
        # The first one has created it.
        before, _, created, *_ = executed[0]
        if not isinstance(before, Exception) or not _has_added(executed[0]):
            return False
        seed = as_dict(created)["seed"]
        if seed is None:
            return False
        added = sum(reply[1][1] for reply in executed if _has_added(reply))
        (removed,) = yield [("EVAL", _REMOVE, 1, self.key, seed, added)]
        return not isinstance(removed, Exception) and bool(removed)

    def _refused(self, block: bytes, error: Exception) -> Exception:
        """Advances to the refused line, and returns the error that names it."""
        found = _REFUSED.match(str(error))
        if found is None:
            return error
        why, line, new = found[1], int(found[2]), int(found[3])
        before = block[: start_of_line(block, line)]
        at = self.position
        at.offset += len(before)
        at.lines += line - 1
        at.new += new
        at.empty += count_empty(before)
        return BloomlineError(f"line {at.lines + 1}, at byte {at.offset}, was refused: {why}")


def positions_key(key: str) -> str:
    """The key of the positions: in a cluster in the slot of the filter."""
    return beside(key, "load")


def _has_added(reply: Any) -> bool:
    """Whether a transaction has added lines, and read the filter behind them."""
    return not isinstance(reply, Exception) and not any(
        isinstance(each, Exception) for each in reply[1:3]
    )


def reserve(client: Any, key: str, create: Callable[[], Create], window: int | None) -> None:
    """Creates the filter if there is none. `create` is called only then.

    Raises:
        BloomlineError: the filter exists, and a window is given that it does not have.
    """
    if not has_filter(client, key):
        # Another load may create it meanwhile.
        run(client, Programs(key, create()).create())
    elif window is not None:
        run(client, Programs(key, Create(1, window=window)).check())


def _count(text: str) -> int:
    """A number of items: 1e6 is a million, as for `bloomline plan`."""
    number = float(text)
    if not number.is_integer():
        raise ValueError
    return int(number)


# argparse names the type in its message.
_count.__name__ = "number"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the command."""
    parser.add_argument("key", help="the filter, which is created if there is none")
    parser.add_argument("files", nargs="+", metavar="file", help="plain or gzip; - for the input")
    parser.add_argument("--capacity", type=_count, help="of a new filter (default: estimated)")
    parser.add_argument(
        "--error", type=float, default=ERROR_RATE, help=f"of a new filter ({ERROR_RATE})"
    )
    parser.add_argument("--window", type=int, help="seconds that a new filter remembers lines for")
    parser.add_argument("--ttl", type=int, help="time to live of a new filter in seconds")
    parser.add_argument("--block", type=int, default=MIB, help="bytes per call (1 MiB)")
    parser.add_argument("--restart", action="store_true", help="load from the start")


def main(client: Any, options: argparse.Namespace) -> int:
    """Runs the command."""
    if options.block < 1:
        raise BloomlineError("--block must be positive")
    sources = [Source(path) for path in options.files]

    def create() -> Create:
        capacity = options.capacity
        if capacity is None:
            capacity = sum(source.estimate_lines() for source in sources)
        return Create(capacity, options.error, window=options.window, ttl=options.ttl)

    # Transactions of a pipeline need the node itself.
    client = node_of(client, options.key)
    run(client, need_bloomline(options.key, "`bloomline load`"))
    watch = Watch(options.key)
    loads = [Load(options.key, source, options.block, watch) for source in sources]
    if options.restart:
        _delete(client, options.key, sources)
    for load in loads:
        run(client, load.resume())
    reserve(client, options.key, create, options.window)
    for load in loads:
        _load(client, load)
    _delete(client, options.key, sources)
    return 0


def _delete(client: Any, key: str, sources: list[Source]) -> None:
    names: list[Word] = [source.name for source in sources if source.identity is not None]
    if names:
        call(client, "HDEL", positions_key(key), *names)


def _load(client: Any, load: Load) -> None:
    at = load.position
    if at.offset:
        say(f"resumed after {at.lines:,} lines, at byte {at.offset:,}")
    load.seek()
    with Progress(load.source.size, load.source.done(), at.lines) as progress:

        def report(position: Position) -> None:
            numbers = f"{position.lines:,} lines, {position.new:,} new"
            progress.show(load.source.done() or position.offset, position.lines, numbers)

        run(client, load.run(report))
    at = load.position
    say_skipped(load.source, at.empty)
    say(f"{at.lines - at.empty:,} items, {at.new:,} new")
    say(progress.summary(at.lines))

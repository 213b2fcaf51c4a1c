"""Loads the lines of a file into a filter, in blocks of bytes. Run again after a kill, it resumes.

    REDIS_URL=redis://127.0.0.1:6379 python load_lines.py seen urls.txt
    zcat urls.gz | python load_lines.py --capacity 100000000 seen -
"""

import argparse
import collections
import math
import os
import re
import sys
import time

import redis

MIB = 1 << 20
# Some programs write it at the start of a file in UTF-8. It is no part of the first line.
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Failed(Exception):
    """The load ends with this message."""


def read_blocks(source, size):
    """Yields blocks of whole lines, of about `size` bytes. A longer line is one block."""
    parts = []
    while data := source.read(size):
        end = data.rfind(b"\n") + 1
        if end == 0:
            parts.append(data)
            continue
        parts.append(data[:end])
        yield b"".join(parts)
        parts = [data[end:]] if end < len(data) else []
    if parts:
        yield b"".join(parts)


def start_of_line(block, number):
    """Returns the first byte of a line in a block. The first line is 1."""
    at = 0
    for _ in range(number - 1):
        at = block.index(b"\n", at) + 1
    return at


def count_lines(source, size, samples=16):
    """Estimates the number of lines of a file from samples all over it, and adds 5 %."""
    lines = read = 0
    for sample in range(samples):
        source.seek(size * sample // samples)
        data = source.read(MIB // samples)
        lines += data.count(b"\n")
        read += len(data)
    return math.ceil(1.05 * size * lines / max(read, 1)) + 1


def read_replies(connection, calls):
    """Returns the replies of a transaction, whose other replies only say that it was queued."""
    return [connection.read_response() for _ in range(calls)][-1]


class Load:
    """A load of lines into one filter, whose position is kept beside the filter.

    Each block is added together with the position up to which the server has replied, in one
    transaction. So all lines before the position are in the filter: also after a crash of the server,
    on a replica, and if a block is refused. After a kill the blocks that were in flight are added
    again, which changes nothing, but counts their items as known.
    """

    def __init__(self, client, key, block_bytes=MIB, in_flight=2):
        self.client = client
        self.key = key
        # In a cluster both keys must be in one slot, which is the text in braces.
        self.progress = f"{key}:load" if "{" in key else f"{{{key}}}:load"
        self.block_bytes = block_bytes
        self.in_flight = in_flight
        # Of all runs: bytes, lines, and those that were new. BF.BULKADD counts empty lines as known.
        self.offset = self.lines = self.new = 0

    def reserve(self, capacity, error_rate):
        """Creates the filter if there is none. `capacity` is called only then."""
        # The reply to BF.CARD is an error if the key holds another type.
        if self.client.execute_command("BF.CARD", self.key) == 0 and not self.client.exists(self.key):
            self.client.execute_command("BF.RESERVE", self.key, error_rate, capacity())

    def resume(self, identity):
        """Reads how far earlier runs came. `identity` shows whether the file is still the same."""
        position = self.client.get(self.progress)
        # Without its filter a position means nothing.
        if position and self.client.exists(self.key):
            *known, offset, lines, new = position.decode().split()
            if known != identity.split():
                raise Failed("the file has changed since its load began, or is another one: use --restart")
            self.offset, self.lines, self.new = int(offset), int(lines), int(new)

    def run(self, source, identity=None, report=lambda: None):
        """Adds the blocks of a source. While the server adds one, the next one is read and sent.

        A source without an identity, such as a pipe, cannot be resumed.
        """
        # The methods of a client wait for the reply before they return.
        connection = self.client.connection_pool.get_connection()
        sent = collections.deque()
        try:
            for block in self.without_mark(read_blocks(source, self.block_bytes)):
                calls = [("EXISTS", self.key), ("BF.BULKADD", self.key, "LINES", block, "COUNT")]
                if identity is not None:
                    calls.append(("SET", self.progress, f"{identity} {self.offset} {self.lines} {self.new}"))
                calls = [("MULTI",), *calls, ("EXEC",)]
                connection.send_packed_command(connection.pack_commands(calls))
                sent.append((block, len(calls)))
                if len(sent) >= self.in_flight:
                    self.finish(connection, sent)
                    report()
            while sent:
                self.finish(connection, sent)
                report()
        finally:
            # Replies that nobody has read must not be taken for those of other calls.
            connection.disconnect()
            self.client.connection_pool.release(connection)
        if identity is not None:
            self.client.delete(self.progress)

    def without_mark(self, blocks):
        """Yields the blocks. A byte order mark at the start of the file is skipped."""
        first = next(blocks, b"")
        if self.offset == 0 and first.startswith(BYTE_ORDER_MARK):
            say("skipped the byte order mark at the start", sys.stdout)
            self.offset = len(BYTE_ORDER_MARK)
            first = first[self.offset :]
        if first:
            yield first
        yield from blocks

    def finish(self, connection, sent):
        """Reads the replies for the first block that was sent."""
        block, calls = sent.popleft()
        exists, added, *_ = read_replies(connection, calls)
        if not exists:
            # The next transaction stores a position again, so it must have ended.
            for _, calls in sent:
                read_replies(connection, calls)
            self.client.delete(self.progress)
            raise Failed(f"{self.key} was deleted during the load")
        if isinstance(added, Exception):
            if refused := re.match(r"(.*): line (\d+) of \d+ was refused", str(added)):
                why, line = refused[1], int(refused[2])
                at = self.offset + start_of_line(block, line)
                raise Failed(f"line {self.lines + line}, at byte {at}, was refused: {why}")
            raise added
        lines, new = added
        self.offset += len(block)
        self.lines += lines
        self.new += new


class Bar:
    """Progress on a terminal: percent, rates of this run, and the time left."""

    def __init__(self, load, size):
        self.load = load
        self.size = size
        self.is_shown = sys.stderr is not None and sys.stderr.isatty()
        self.began, self.shown = time.monotonic(), -math.inf
        self.first = load.lines, load.offset

    def rates(self):
        """Returns seconds, lines per second and bytes per second."""
        seconds = max(time.monotonic() - self.began, 1e-9)
        lines, offset = self.first
        return seconds, (self.load.lines - lines) / seconds, (self.load.offset - offset) / seconds

    def report(self):
        if not self.is_shown or time.monotonic() - self.shown < 0.2:
            return
        self.shown = time.monotonic()
        _, lines, rate = self.rates()
        done, left = f"{self.load.offset / 1e6:,.0f} MB", ""
        if self.size:
            minutes, seconds = divmod(round((self.size - self.load.offset) / rate), 60)
            done, left = f"{self.load.offset / self.size:6.1%}", f", {minutes}:{seconds:02} left"
        self.write(f"\r{done}, {lines / 1e6:.2f} million lines/s, {rate / 1e6:.0f} MB/s{left}\033[K")

    def clear(self):
        if self.is_shown:
            self.write("\r\033[K")

    @staticmethod
    def write(text):
        sys.stderr.write(text)
        sys.stderr.flush()


def say(text, file):
    """Prints a line. The file may be closed, and nobody may be reading."""
    if file is None:
        return
    try:
        print(text, file=file, flush=True)
    except OSError:
        # Otherwise Python writes what is left when it ends, and fails again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())


def load_lines(options):
    url = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379")
    # A new layer of a large filter takes the server some time.
    client = redis.Redis.from_url(url, socket_timeout=60)
    load = Load(client, options.key, options.block)
    if options.file == "-":
        if sys.stdin is None:
            raise Failed("the standard input is closed")
        source, size, identity = sys.stdin.buffer, None, None
    else:
        source, size, identity = open(options.file, "rb"), None, None
    if source.seekable() and options.file != "-":
        facts = os.fstat(source.fileno())
        size, identity = facts.st_size, f"{facts.st_size} {facts.st_mtime_ns}"

    def capacity():
        if size is None and options.capacity is None:
            raise Failed("use --capacity, since the length of this input is unknown")
        return options.capacity or count_lines(source, size)

    if identity is not None and not options.restart:
        load.resume(identity)
    load.reserve(capacity, options.rate)
    if identity is not None:
        source.seek(load.offset)
    if load.offset:
        say(f"resumed after {load.lines:,} lines, at byte {load.offset:,}", sys.stdout)
    bar = Bar(load, size)
    try:
        load.run(source, identity, bar.report)
    finally:
        bar.clear()
    seconds, lines, rate = bar.rates()
    say(f"{load.lines:,} lines, {load.new:,} new", sys.stdout)
    say(f"{seconds:.1f} s: {lines / 1e6:.2f} million lines/s, {rate / 1e6:.0f} MB/s", sys.stdout)


def main():
    parser = argparse.ArgumentParser(description="Loads the lines of a file into a filter.")
    parser.add_argument("key", help="the filter, which is created if there is none")
    parser.add_argument("file", help="a file, or - for the standard input, which cannot be resumed")
    parser.add_argument("--capacity", type=int, help="of a new filter (default: estimated from the file)")
    parser.add_argument("--rate", type=float, default=0.001, help="error rate of a new filter (default: 0.001)")
    parser.add_argument("--block", type=int, default=MIB, help="bytes per call (default: 1 MiB)")
    parser.add_argument("--restart", action="store_true", help="load from the start, also if it was interrupted")
    options = parser.parse_args()
    if options.block < 1:
        parser.error("--block must be positive")
    try:
        load_lines(options)
    except (Failed, OSError, ValueError, redis.exceptions.RedisError) as error:
        say(f"load_lines: {error}", sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        say("load_lines: stopped; run it again to resume", sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()

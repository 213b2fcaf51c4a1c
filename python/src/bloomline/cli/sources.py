"""Files of lines: plain, compressed by gzip, or the standard input."""

from __future__ import annotations

import contextlib
import gzip
import io
import math
import os
import sys
import zlib
from collections.abc import Iterator
from typing import IO, Any, cast

from ..errors import BloomlineError
from .console import say
from .explain import naming

MIB = 1 << 20
# What a server accepts as one argument, unless it is configured otherwise.
_LONGEST_LINE = 512 * MIB
# The most bytes of text that are read to estimate a number of lines.
_SAMPLE = 16 * MIB
_GZIP = b"\x1f\x8b"
_HEAD_BYTES = 16

# Some programs write it at the start of a file in UTF-8. It is no part of the first line.
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# First bytes of what is no text of lines in ASCII, UTF-8 or the like. The mark of UTF-32 begins
# with the one of UTF-16.
_FOREIGN = {
    **dict.fromkeys((b"BZh%d1AY&SY" % size for size in range(1, 10)), "compressed by bzip2"),
    **dict.fromkeys(
        (b"BZh%d\x17\x72\x45\x38\x50\x90" % n for n in range(1, 10)), "compressed by bzip2"
    ),
    b"\xfd7zXZ\x00": "compressed by xz",
    b"\x5d\x00\x00": "compressed by lzma",
    b"LZIP": "compressed by lzip",
    b"\x28\xb5\x2f\xfd": "compressed by zstd",
    **dict.fromkeys((b"%c\x2a\x4d\x18" % byte for byte in range(0x50, 0x60)), "compressed by zstd"),
    b"\x04\x22\x4d\x18": "compressed by lz4",
    b"\x02\x21\x4c\x18": "compressed by lz4",
    b"\xff\x06\x00\x00sNaPpY": "compressed by snappy",
    **dict.fromkeys((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08"), "a zip archive"),
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!\x1a\x07": "a rar archive",
    **dict.fromkeys((b"\x1f\x9d", b"\x1f\xa0"), "compressed by compress"),
    **dict.fromkeys((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff"), "text in UTF-32"),
    **dict.fromkeys((b"\xff\xfe", b"\xfe\xff"), "text in UTF-16"),
}


class Source:
    """A file of lines, opened. `-` is the standard input, which cannot be resumed.

    Attributes:
        name: the absolute path, by which the load of this file is remembered; or that of the input.
        size: the bytes on the disk, or None of a pipe.
        identity: changes when the file changes; None of what cannot be resumed.
        start: the first byte of the first line: a byte order mark of UTF-8 is before it.
        offset: the bytes of text that were read, or sought.
    """

    def __init__(self, path: str) -> None:
        """Opens the file.

        Raises:
            BloomlineError: it is damaged, compressed by another program, or in another encoding.
        """
        self.name = "the standard input" if path == "-" else os.path.abspath(path)
        if path == "-":
            if sys.stdin is None:
                raise BloomlineError("the standard input is closed")
            self._raw = cast("IO[bytes]", sys.stdin.buffer)
        else:
            with naming(self.name):
                self._raw = open(path, "rb")  # noqa: SIM115
        self.size: int | None = None
        self.identity: str | None = None
        if path != "-" and self._raw.seekable():
            facts = os.fstat(self._raw.fileno())
            self.size, self.identity = facts.st_size, f"{facts.st_size}:{facts.st_mtime_ns}"
        with self._naming_errors():
            head, self._raw = self._peek(self._raw)
        self._text = self._raw
        if head.startswith(_GZIP):
            packed = cast("IO[bytes]", gzip.GzipFile(fileobj=self._raw))
            with self._naming_errors():
                head, self._text = self._peek(packed)
        for first, what in _FOREIGN.items():
            if head.startswith(first):
                raise BloomlineError(
                    f"{self.name} is {what}: only text in ASCII, UTF-8 or another encoding whose "
                    "lines end with the byte LF is read, plain or compressed by gzip"
                )
        self.offset = 0
        self.start = len(_BYTE_ORDER_MARK) if head.startswith(_BYTE_ORDER_MARK) else 0

    def _peek(self, file: IO[bytes]) -> tuple[bytes, IO[bytes]]:
        """Returns the first bytes of a file, and a file that begins with them."""
        # A pipe may hand them out one by one; `read` of a buffered file waits for all of them.
        head = file.read(_HEAD_BYTES)
        if self.size is None:
            return head, cast("IO[bytes]", io.BufferedReader(_Unread(head, file)))
        file.seek(0)
        return head, file

    @contextlib.contextmanager
    def _naming_errors(self) -> Iterator[None]:
        with naming(self.name):
            try:
                yield
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise BloomlineError(f"{self.name} is damaged: {error}") from error

    def seek(self, offset: int) -> None:
        """Continues at a byte of the text. In a compressed file it reads up to there."""
        with self._naming_errors():
            if self.size is not None:
                self._text.seek(offset)
            else:
                self._text.read(offset)
        self.offset = offset

    def done(self) -> int:
        """The bytes of the file that were read; of a pipe 0."""
        return self._raw.tell() if self.size is not None else 0

    def read(self, size: int) -> bytes:
        """Reads at most `size` bytes of text."""
        with self._naming_errors():
            data = self._text.read(size)
        self.offset += len(data)
        return data

    def estimate_lines(self) -> int:
        """Estimates the number of lines from samples, and adds 5 %.

        Reads 1 MiB in 16 places of a plain file, or the first 16 MiB of the text of a compressed
        one: what was read of the file is known to 128 KiB only. The lines of a pipe are counted,
        and read again by the next `read`.

        Raises:
            BloomlineError: a pipe has more than 16 MiB.
        """
        if self.size is None:
            return self._count_lines()
        lines = read = 0
        if self._text is self._raw:
            for sample in range(16):
                self._raw.seek(self.size * sample // 16)
                data = self._raw.read(MIB // 16)
                lines, read = lines + data.count(b"\n"), read + len(data)
        else:
            lines, read = self.read(_SAMPLE).count(b"\n"), self._raw.tell()
        self._text.seek(0)
        return math.ceil(1.05 * self.size * lines / max(read, 1)) + 1

    def _count_lines(self) -> int:
        with self._naming_errors():
            head = self._text.read(_SAMPLE + 1)
        if len(head) > _SAMPLE:
            raise BloomlineError(
                f"use --capacity, since {self.name} has more than {_SAMPLE // MIB} MiB: only the "
                "lines of files, and of shorter inputs, are counted"
            )
        self._text = cast("IO[bytes]", io.BufferedReader(_Unread(head, self._text)))
        return head.count(b"\n") + 1


class _Unread(io.RawIOBase):
    """A pipe, from the bytes on that were read of it."""

    def __init__(self, head: bytes, pipe: Any) -> None:
        self._head = head
        self._pipe = pipe

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._head or self._pipe.read1(len(buffer))
        data, self._head = data[: len(buffer)], data[len(buffer) :]
        buffer[: len(data)] = data
        return len(data)


def read_blocks(source: Source, size: int) -> Iterator[bytes]:
    """Yields blocks of whole lines, of about `size` bytes. A longer line is one block.

    Raises:
        BloomlineError: a line is too long, which is not read to its end; or the file is shorter
            than when it was opened.
    """
    # Of the line whose end has not been read.
    parts: list[bytes] = []
    start, length = source.offset, 0
    while data := source.read(size):
        length += data.find(b"\n") if b"\n" in data else len(data)
        if length > max(_LONGEST_LINE, size):
            raise BloomlineError(
                f"{source.name} has a line of more than {_LONGEST_LINE // MIB} MiB, which no "
                f"server accepts by default, at byte {start}: is it a text?"
            )
        end = data.rfind(b"\n") + 1
        if end == 0:
            parts.append(data)
            continue
        parts.append(data[:end])
        yield b"".join(parts)
        parts, length = [data[end:]], len(data) - end
        start = source.offset - length
    if last := b"".join(parts):
        yield last
    if source.done() < (source.size or 0):
        raise BloomlineError(f"{source.name} has become shorter while it was read")


def start_of_line(block: bytes, number: int) -> int:
    """Returns the first byte of a line in a block. The first line is 1."""
    at = 0
    for _ in range(number - 1):
        at = block.index(b"\n", at) + 1
    return at


def count_empty(block: bytes) -> int:
    """Returns the number of empty lines in a block of whole lines: those of CR alone too."""
    has_some = block[:1] in (b"\n", b"\r") or b"\n\n" in block or b"\n\r" in block
    if not has_some:
        return 0
    lines = block.split(b"\n")
    if not lines[-1]:
        lines.pop()
    return sum(line in (b"", b"\r") for line in lines)


def say_skipped(source: Source, empty: int) -> None:
    """Prints what was read of a source and is no item."""
    if source.start:
        say("skipped the byte order mark at the start")
    if empty:
        say(f"skipped {empty:,} empty lines")

"""Files of lines: plain, compressed by gzip, or the standard input."""

from __future__ import annotations

import gzip
import math
import os
import sys
from collections.abc import Iterator
from typing import IO, cast

from ..errors import BloomlineError

MIB = 1 << 20
_GZIP = b"\x1f\x8b"


class Source:
    """A file of lines, opened. `-` is the standard input, which cannot be resumed.

    Attributes:
        name: the absolute path, by which the load of this file is remembered.
        size: the bytes on the disk, or None of a pipe.
        identity: changes when the file changes; None of what cannot be resumed.
    """

    def __init__(self, path: str) -> None:
        self.name = os.path.abspath(path)
        if path == "-":
            if sys.stdin is None:
                raise BloomlineError("the standard input is closed")
            self._raw = cast("IO[bytes]", sys.stdin.buffer)
        else:
            self._raw = open(path, "rb")  # noqa: SIM115
        self.size: int | None = None
        self.identity: str | None = None
        if path != "-" and self._raw.seekable():
            facts = os.fstat(self._raw.fileno())
            self.size, self.identity = facts.st_size, f"{facts.st_size}:{facts.st_mtime_ns}"
        is_gzip = self._raw.peek(2)[:2] == _GZIP  # type: ignore[attr-defined]
        self._text = cast("IO[bytes]", gzip.GzipFile(fileobj=self._raw) if is_gzip else self._raw)

    def seek(self, offset: int) -> None:
        """Continues at a byte of the text. In a compressed file it reads up to there."""
        if offset:
            self._text.seek(offset)

    def done(self) -> int:
        """The bytes of the file that were read; of a pipe 0."""
        return self._raw.tell() if self.size is not None else 0

    def read(self, size: int) -> bytes:
        """Reads at most `size` bytes of text."""
        return self._text.read(size)

    def estimate_lines(self) -> int:
        """Estimates the number of lines from samples, and adds 5 %.

        Reads 1 MiB in 16 places of a plain file, or the first 16 MiB of the text of a compressed
        one: what was read of the file is known to 128 KiB only.

        Raises:
            BloomlineError: a pipe has no samples.
        """
        if self.size is None:
            raise BloomlineError("use --capacity, since the length of this input is unknown")
        lines = read = 0
        if self._text is self._raw:
            for sample in range(16):
                self._raw.seek(self.size * sample // 16)
                data = self._raw.read(MIB // 16)
                lines, read = lines + data.count(b"\n"), read + len(data)
        else:
            lines, read = self._text.read(16 * MIB).count(b"\n"), self._raw.tell()
        self._text.seek(0)
        return math.ceil(1.05 * self.size * lines / max(read, 1)) + 1


def read_blocks(source: Source, size: int) -> Iterator[bytes]:
    """Yields blocks of whole lines, of about `size` bytes. A longer line is one block."""
    parts: list[bytes] = []
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

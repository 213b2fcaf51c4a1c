"""What the command prints: plain lines, and a progress bar on a terminal if tqdm is installed."""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from typing import Any, TextIO

# Seconds between two plain lines.
_PLAIN_SECONDS = 10.0


def say(text: str, *, is_error: bool = False) -> None:
    """Prints a line. The output may be closed, and nobody may be reading."""
    file: TextIO | None = sys.stderr if is_error else sys.stdout
    if file is None:
        return
    # A name of a file or a key may be no text.
    encoding = file.encoding or "utf-8"
    text = text.encode(encoding, "backslashreplace").decode(encoding)
    try:
        print(text, file=file, flush=True)
    except OSError:
        # Otherwise Python writes what is left when it ends, and fails again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())


class Progress:
    """The progress of a file of `size` bytes.

    `done` bytes and `lines` were read by earlier runs: no rate includes them.
    """

    def __init__(self, size: int | None, done: int = 0, lines: int = 0) -> None:
        is_terminal = sys.stderr is not None and sys.stderr.isatty()
        self._size = size
        self._first_lines = lines
        self._first_done = self._done = done
        self._began = self._shown = time.monotonic()
        self._bar: Any = None
        if is_terminal and importlib.util.find_spec("tqdm"):
            tqdm = importlib.import_module("tqdm").tqdm
            self._bar = tqdm(total=size, initial=done, unit="B", unit_scale=True)
        self._is_plain = self._bar is None and sys.stderr is not None

    def show(self, done: int, lines: int, numbers: str) -> None:
        """Shows the bytes that were read, and a text with the other numbers."""
        rate = self._rate(lines)
        if self._bar is not None:
            self._bar.set_postfix_str(f"{numbers}, {rate / 1e6:.2f} M lines/s", refresh=False)
            self._bar.update(done - self._done)
        self._done = done
        if self._is_plain and time.monotonic() - self._shown >= _PLAIN_SECONDS:
            self._shown = time.monotonic()
            percent = f"{done / self._size:.1%}, " if self._size else ""
            text = f"{percent}{numbers}, {rate / 1e6:.2f} million lines/s{self._left()}"
            say(text, is_error=True)

    def summary(self, lines: int) -> str:
        """Seconds and rates of this run."""
        seconds = self._seconds()
        rate, megabytes = self._rate(lines) / 1e6, (self._done - self._first_done) / seconds / 1e6
        return f"{seconds:.1f} s: {rate:.2f} million lines/s, {megabytes:.0f} MB/s"

    def _left(self) -> str:
        if not self._size or self._done <= self._first_done:
            return ""
        rate = (self._done - self._first_done) / self._seconds()
        minutes, seconds = divmod(round((self._size - self._done) / rate), 60)
        return f", {minutes}:{seconds:02} left"

    def _seconds(self) -> float:
        return max(time.monotonic() - self._began, 1e-9)

    def _rate(self, lines: int) -> float:
        return (lines - self._first_lines) / self._seconds()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

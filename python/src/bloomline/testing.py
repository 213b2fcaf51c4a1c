"""A fixture for the tests of programs that use Bloomline; pytest finds it by itself."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from .errors import BloomlineError
from .module import LocalServer


@pytest.fixture(scope="session")
def bloomline_server() -> Iterator[LocalServer]:
    """A server with the module for all tests of a run: `bloomline_server.url` is its URL.

    It keeps its data between tests. A test is skipped where there is no server or no module, and
    fails if BLOOMLINE_SERVER or BLOOMLINE_SO names one.
    """
    # The path of a Unix socket has at most 107 bytes, so pytest's own folders are too deep.
    with tempfile.TemporaryDirectory(prefix="bloomline-") as folder:
        try:
            server = LocalServer(Path(folder))
        except BloomlineError as error:
            if os.environ.get("BLOOMLINE_SERVER") or os.environ.get("BLOOMLINE_SO"):
                raise
            pytest.skip(str(error))
        with server:
            yield server

"""Connects by a URL, with the client library that is installed."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from .errors import BloomlineError

# Client libraries, with their classes for a server and for a cluster.
_LIBRARIES = {"redis": ("Redis", "RedisCluster"), "valkey": ("Valkey", "ValkeyCluster")}


def library() -> Any:
    """Returns redis-py, or valkey-py without it.

    Raises:
        BloomlineError: neither is installed.
    """
    for name in _LIBRARIES:
        if importlib.util.find_spec(name):
            return importlib.import_module(name)
    raise BloomlineError("there is no client library: pip install redis, or valkey")


def client_class(*, is_cluster: bool = False) -> Any:
    """Returns the class of the clients of a server, or of a cluster."""
    module = library()
    return getattr(module, _LIBRARIES[module.__name__][is_cluster])


def connect(url: str, *, is_cluster: bool = False, **options: Any) -> Any:
    """Returns a client of a server, or of the cluster that it belongs to.

    `options` are those of the library. A reply may take 60 seconds unless they say otherwise, since
    a new layer of a large filter takes the server some time.
    """
    return client_class(is_cluster=is_cluster).from_url(url, **{"socket_timeout": 60, **options})

"""redis-py, or valkey-py, whose API is the same: the one that BLOOMLINE_LIBRARY names."""

import importlib
import os

NAME = os.environ.get("BLOOMLINE_LIBRARY", "redis")
CLASS = {"redis": "Redis", "valkey": "Valkey"}[NAME]

exceptions = importlib.import_module(f"{NAME}.exceptions")
ResponseError = exceptions.ResponseError
module = importlib.import_module(NAME)
Client, VERSION = getattr(module, CLASS), module.__version__


def async_client(**options):
    """Returns a client for asyncio, which releases of redis-py before 4.2 do not have."""
    return getattr(importlib.import_module(f"{NAME}.asyncio"), CLASS)(**options)

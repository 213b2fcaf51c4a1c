"""Bloom and cuckoo filters on Redis and Valkey.

`Filter` and `CuckooFilter` are for clients that wait, `AsyncFilter` and `AsyncCuckooFilter` for
asyncio. `Create` has the parameters of a new filter.
"""

import importlib

# Type checkers take it for true, and need not import `typing`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from .aio import AsyncCuckooFilter, AsyncFilter
    from .answers import Answers
    from .creation import Create, CreateCuckoo
    from .errors import BloomlineError, BulkError
    from .filters import CuckooFilter, Filter
    from .packing import Fixed, Lines
    from .sharding import AsyncShardedFilter, ShardedFilter, how_many_shards

__all__ = [
    "Answers",
    "AsyncCuckooFilter",
    "AsyncFilter",
    "AsyncShardedFilter",
    "BloomlineError",
    "BulkError",
    "Create",
    "CreateCuckoo",
    "CuckooFilter",
    "Filter",
    "Fixed",
    "Lines",
    "ShardedFilter",
    "how_many_shards",
]

_MODULES = ("aio", "answers", "creation", "errors", "filters", "packing", "sharding")


def __getattr__(name: str) -> object:
    """Imports a name when it is used first, so that the command line can be interrupted earlier."""
    if name in __all__:
        for module in _MODULES:
            found = importlib.import_module(f".{module}", __name__)
            if name in vars(found):
                globals()[name] = vars(found)[name]
                return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""Bloom and cuckoo filters on Redis and Valkey.

`Filter` and `CuckooFilter` are for clients that wait, `AsyncFilter` and `AsyncCuckooFilter` for
asyncio. `Create` has the parameters of a new filter.
"""

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

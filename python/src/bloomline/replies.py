"""The shapes in which client libraries return the replies of one command."""

from __future__ import annotations

from typing import Any

# Attributes of the objects that `client.bf().info()` of redis-py and valkey-py return, once it was
# called in a program, by the names of the server.
_ATTRIBUTES = {
    "capacity": "Capacity",
    "size": "Size",
    "bucketNum": "Number of buckets",
    "filterNum": "Number of filters",
    "insertedNum": "Number of items inserted",
    "deletedNum": "Number of items deleted",
    "bucketSize": "Bucket size",
    "expansionRate": "Expansion rate",
    "maxIteration": "Max iterations",
}


def as_dict(reply: Any) -> dict[str, Any]:
    """Returns names and values: from a map of RESP3, a list of RESP2, or an object."""
    if isinstance(reply, dict):
        pairs = list(reply.items())
    elif isinstance(reply, (list, tuple)):
        pairs = list(zip(reply[::2], reply[1::2]))
    else:
        given = vars(reply)
        pairs = [(name, given[key]) for key, name in _ATTRIBUTES.items() if key in given]
    return {str(_text(name)): _text(value) for name, value in pairs}


def _text(value: Any) -> Any:
    if isinstance(value, list):
        return [_text(each) for each in value]
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def executed_of(replies: list[Any]) -> Any:
    """The replies of the calls of a transaction, or the error that prevented it."""
    errors = (reply for reply in replies if isinstance(reply, Exception))
    return next(errors, replies[-1])


def is_unknown(reply: Any) -> bool:
    """Whether the server does not know the command: by its reply, or by a client of a cluster."""
    if not isinstance(reply, Exception):
        return False
    text = str(reply).lower()
    # The second text is of the clients, which ask a server of the cluster where the key stands.
    return "unknown command" in text or "command doesn't exist in " in text


def is_missing(error: Exception) -> bool:
    """Whether a command failed because its key is missing."""
    return "not found" in str(error).lower()


def is_wrong_type(error: Exception) -> bool:
    """Whether a command failed because its key holds a value of another type."""
    return "wrongtype" in str(error).lower() or "wrong kind of value" in str(error).lower()


def is_exists(error: Exception) -> bool:
    """Whether a filter was not created because there is one: of any of the modules."""
    return "item exists" in str(error).lower()


def is_full(error: Exception) -> bool:
    """Whether a cuckoo filter has no room for the item."""
    return "filter is full" in str(error).lower()

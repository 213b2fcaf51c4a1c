"""`bloomline export` and `import`: a filter to a file, and back."""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from typing import IO, Any

from ..drivers import call, node_of
from ..errors import BloomlineError, response_errors
from ..identity import Identity, identity_call, identity_in
from ..replies import as_dict, is_unknown
from . import dump
from .console import say
from .explain import naming

# How often a filter whose shape changes is read.
_ATTEMPTS = 5


_FILE_HELP = (
    "a regular file is replaced when the dump is complete, a pipe or a device is written to; - for "
    "the output"
)


def add_export_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `export`."""
    parser.add_argument("key", help="the filter")
    parser.add_argument("file", help=_FILE_HELP)


def export(client: Any, options: argparse.Namespace) -> int:
    """Writes a filter to a file, a pipe or a device, when its dump is complete."""
    client = node_of(client, options.key)
    is_output = _is_output(options.file)
    if is_output and sys.stdout is None:
        raise BloomlineError("the standard output is closed")
    target = None if is_output else _regular(options.file)
    if target is not None:
        name, output = options.file, _replacing(target)
    elif is_output:
        name, output = "the standard output", _in_place(sys.stdout.fileno())
    else:
        name, output = options.file, _in_place(options.file)
    with naming(name, "written"), output as file:
        size = _write_whole(client, options.key, file)
    say(f"{size:,} bytes", is_error=is_output)
    return 0


def _is_output(name: str) -> bool:
    """Whether a name is that of the standard output, where a message would be among the bytes."""
    if name == "-":
        return True
    # It may be closed.
    with contextlib.suppress(OSError, AttributeError):
        return os.path.samestat(os.stat(name), os.fstat(sys.stdout.fileno()))
    return False


def _regular(name: str) -> str | None:
    """The regular file at the end of all links, which may be missing; None of anything else."""
    target = os.path.realpath(name)
    if not os.path.exists(name):
        return target
    # A link in /proc may have no target that has a name.
    is_regular = os.path.isfile(target) and os.path.samefile(name, target)
    return target if is_regular else None


@contextlib.contextmanager
def _in_place(where: str | int) -> Iterator[IO[bytes]]:
    """A temporary file, which is copied at the end to what cannot be replaced."""
    # It is opened first: a reader of a pipe ends if the dump fails.
    with (
        open(where, "wb", closefd=isinstance(where, str)) as output,
        tempfile.TemporaryFile() as file,
    ):
        yield file
        file.seek(0)
        shutil.copyfileobj(file, output)


@contextlib.contextmanager
def _replacing(target: str) -> Iterator[IO[bytes]]:
    """A file that gets the name, the mode and, if the user may, the owner of another at the end."""
    # Its name is that of no other export.
    partial = f"{target}.{secrets.token_hex(4)}.partial"
    replaced = os.stat(target) if os.path.exists(target) else None
    # Nobody may read it meanwhile who may not read the one that it replaces.
    mode = 0o666 if replaced is None else 0o600
    try:
        with open(partial, "xb", opener=lambda path, flags: os.open(path, flags, mode)) as file:
            yield file
            if replaced is not None:
                _keep_rights(file.fileno(), replaced)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(partial)


def _keep_rights(file: int, replaced: os.stat_result) -> None:
    mode = stat.S_IMODE(replaced.st_mode)
    try:
        os.chown(file, replaced.st_uid, replaced.st_gid)
    except PermissionError:
        # The rights of its group are not for another group.
        if os.fstat(file).st_gid != replaced.st_gid:
            mode &= ~stat.S_IRWXG
    os.chmod(file, mode)


def _write_whole(client: Any, key: str, file: IO[bytes]) -> int:
    """Writes a dump whose chunks are of one filter of one shape. Returns its bytes.

    Raises:
        BloomlineError: the filter was replaced, or its shape changed during each attempt.
    """
    head = dump.head_of(client, key)
    before = _identity_of(client, key, head.family)
    for _ in range(_ATTEMPTS):
        file.seek(0)
        file.truncate()
        try:
            size = dump.write(file, head, dump.chunks_of(client, head, key))
        except response_errors() as error:
            if "begin again" not in str(error):
                raise
            size = None
        after = _identity_of(client, key, head.family)
        if not before.may_become(after):
            raise BloomlineError(f"{key} was replaced by another filter during the export")
        if size is not None and before.has_shape_of(after):
            return size
        before = after
    raise BloomlineError(
        f"{key} changed during each of {_ATTEMPTS} attempts: while layers are added or dropped, or "
        "a cuckoo filter is written to, its chunks are not those of one filter"
    )


def _identity_of(client: Any, key: str, family: bytes) -> Identity:
    """Returns the identity of a filter of a family, `BF` or `CF`, on any server.

    Raises:
        ResponseError: the key is missing, or holds another type.
    """
    try:
        return identity_in(call(client, *identity_call(key, family.decode())))
    except response_errors() as error:
        if not is_unknown(error):
            raise
    return identity_in(call(client, "BF.INFO", key))


def add_import_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `import`."""
    parser.add_argument("key", help="the filter to create")
    parser.add_argument("file", help="written by export; - for the input")
    parser.add_argument("--replace", action="store_true", help="replace a key that exists")


def import_(client: Any, options: argparse.Namespace) -> int:
    """Creates a filter from a file. A damaged file changes nothing."""
    client = node_of(client, options.key)
    is_input = options.file == "-"
    if is_input and sys.stdin is None:
        raise BloomlineError("the standard input is closed")
    name = "the standard input" if is_input else options.file
    where = sys.stdin.fileno() if is_input else options.file
    with naming(name), open(where, "rb", closefd=not is_input) as file:
        head, chunks = dump.read(file, name)
        dump.load_chunks(client, head, options.key, chunks, replace=options.replace)
    say(f"{options.key}: {_items(client, head, options.key):,} items")
    return 0


def _items(client: Any, head: dump.Head, key: str) -> int:
    """The number of items that were added."""
    if head.family == b"BF":
        return int(call(client, "BF.CARD", key))
    info = as_dict(call(client, "CF.INFO", key))
    return int(info["Number of items inserted"])

"""The commands of the command line and their arguments."""

from __future__ import annotations

import argparse
import contextlib
import os
from importlib import metadata
from tempfile import TemporaryDirectory
from typing import Any, Callable

from ..connecting import connect
from ..errors import BloomlineError, library_errors, reason_of
from ..module import command, path
from . import check, copying, load, plan
from .console import say
from .explain import explain, naming

Main = Callable[[Any, argparse.Namespace], int]

# The commands that need a server: their arguments and what runs them.
_ON_SERVER: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None], Main]] = {
    "load": ("add the lines of files", load.add_arguments, load.main),
    "check": ("count the lines of a file that are found", check.add_arguments, check.main),
    "export": ("write a filter to a file", copying.add_export_arguments, copying.export),
    "import": ("create a filter from a file", copying.add_import_arguments, copying.import_),
}

_NO_MOVE = (
    "there is no command move, because a copy in chunks can lack what was added meanwhile: use "
    "MIGRATE for a filter, replication for a whole data set, `bloomline export` and `import` for a "
    "filter that is not written to meanwhile"
)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bloomline", description="Filters on Redis and Valkey.")
    version = metadata.version("bloomline")
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for name, (text, add_arguments, _) in _ON_SERVER.items():
        each = commands.add_parser(name, help=text, description=text)
        each.add_argument(
            "--url",
            default=os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"),
            help="of the server (default: REDIS_URL, or redis://127.0.0.1:6379)",
        )
        each.add_argument(
            "--cluster", action="store_true", help="the server is a node of a cluster"
        )
        add_arguments(each)
    # Its arguments are those of the program.
    commands.add_parser("plan", help="the size of a filter", add_help=False)
    text = "print the file for loadmodule"
    commands.add_parser("path", help=text, description=text)
    text = "start a server with the module"
    serve = commands.add_parser(
        "serve",
        help=text,
        description=f"{text}, in the foreground. It saves nothing and loads nothing, except with "
        "--dir FOLDER among its options: there it does as the server does by itself",
        usage="%(prog)s [--port PORT] [-- options ...]",
    )
    serve.add_argument("--port", type=int, default=6379, help="6379 by default")
    serve.add_argument("options", nargs="*", help="of the server, such as --maxmemory 1gb")
    return parser


def run(arguments: list[str]) -> int:
    """Runs a command. Returns its status: 1 after an error, which is one line."""
    try:
        return _run(arguments)
    except Exception as error:
        if not isinstance(error, (BloomlineError, OSError, ValueError)):
            raise
        say(f"bloomline: {reason_of(error)}", is_error=True)
        return 1


def _run(arguments: list[str]) -> int:
    if arguments[:1] == ["plan"]:
        return plan.main(arguments[1:])
    if arguments[:1] == ["move"]:
        raise BloomlineError(_NO_MOVE)
    options = _parser().parse_args(arguments)
    if options.command == "path":
        say(str(path()))
        return 0
    if options.command == "serve":
        _serve(options.port, options.options)
    _, _, main = _ON_SERVER[options.command]
    try:
        return main(_connect(options), options)
    except Exception as error:
        if not isinstance(error, library_errors()):
            raise
        raise BloomlineError(explain(error, options)) from error


def _serve(port: int, options: list[str]) -> None:
    """Becomes the server, by default in a new folder: it loads and replaces files of its folder."""
    words = command("--port", str(port))
    with contextlib.ExitStack() as stack:
        if "--dir" not in options:
            folder = stack.enter_context(TemporaryDirectory(prefix="bloomline-"))
            words += ["--dir", folder, "--save", ""]
        words += options
        with naming(words[0], "started"):
            os.execv(words[0], words)


def _connect(options: argparse.Namespace) -> Any:
    try:
        # Arguments and names of files that are no UTF-8 are sent as their bytes.
        return connect(options.url, is_cluster=options.cluster, encoding_errors="surrogateescape")
    except ValueError as error:
        raise BloomlineError(f"--url or REDIS_URL names no server: {error}") from error

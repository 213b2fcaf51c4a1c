"""Free TCP ports for servers, also of the tests of the Python package."""

import contextlib
import itertools
import random
import socket

# The system gives ports from 32768 on to connections, also between a probe and the start of a
# server. The first is at random, because several processes run tests at the same time.
PORTS = itertools.count(random.randrange(10_000))


def free_port():
    """Returns a TCP port that nobody uses at the moment, each time another one."""
    while True:
        port = 10_000 + next(PORTS) % 10_000
        with socket.socket() as probe, contextlib.suppress(OSError):
            # As servers do: closed connections of the port are no obstacle.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return port

"""A stand-in for a server with valkey-bloom 1.0.1: its commands, replies and error texts.

No registry has that module. Sets take the place of its filters, so it has no false positives; a
filter has at most `LIMIT` items, as one that would grow beyond the limit of its memory.
"""

import contextlib
import socketserver
import threading

LIMIT = 20_000

COMMANDS = "ADD", "MADD", "EXISTS", "MEXISTS", "INSERT", "RESERVE", "CARD", "INFO"
# Options of BF.INSERT that have a value.
VALUED = {b"CAPACITY", b"ERROR", b"EXPANSION", b"TIGHTENING", b"SEED", b"VALIDATESCALETO"}


class Refused(Exception):
    """An error reply."""


class Stored:
    def __init__(self, capacity=100, is_growing=True):
        self.capacity = capacity
        self.is_growing = is_growing
        self.items = set()

    def add(self, item):
        if item in self.items:
            return 0
        if not self.is_growing and len(self.items) >= self.capacity:
            return Refused("ERR non scaling filter is full")
        if len(self.items) >= LIMIT:
            return Refused("ERR operation exceeds bloom object memory limit")
        self.items.add(item)
        return 1

    def add_all(self, items):
        """The error is the last element: there are none for the items behind it."""
        replies = []
        for item in items:
            replies.append(self.add(item))
            if isinstance(replies[-1], Refused):
                break
        return replies


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        with contextlib.suppress(ConnectionError, ValueError):
            while words := self.read():
                try:
                    reply = self.reply(words)
                except Refused as error:
                    reply = error
                self.wfile.write(self.encode(reply))

    def read(self):
        count = self.rfile.readline()
        words = []
        for _ in range(int(count[1:]) if count else 0):
            size = int(self.rfile.readline()[1:])
            words.append(self.rfile.read(size + 2)[:-2])
        return words

    def encode(self, reply):
        if isinstance(reply, Refused):
            return b"-%s\r\n" % " ".join(str(reply).split("\n")).encode()
        if isinstance(reply, str):
            return b"+%s\r\n" % reply.encode()
        if isinstance(reply, bytes):
            return b"$%d\r\n%s\r\n" % (len(reply), reply)
        if isinstance(reply, int):
            return b":%d\r\n" % reply
        if isinstance(reply, dict):
            # Only HELLO has one.
            pairs = (self.encode(name) + self.encode(reply[name]) for name in reply)
            return b"%%%d\r\n" % len(reply) + b"".join(pairs)
        return b"*%d\r\n" % len(reply) + b"".join(map(self.encode, reply))

    def reply(self, words):
        name, arguments = words[0].decode().upper(), words[1:]
        if name.startswith("BF.") and name[3:] in COMMANDS:
            if len(arguments) < (1 if name in ("BF.CARD", "BF.INFO", "BF.INSERT") else 2):
                raise Refused(f"ERR wrong number of arguments for '{name}' command")
            return getattr(self, name[3:].lower())(*arguments)
        if name == "HELLO":
            return {b"server": b"valkey", b"version": b"8.1.1", b"proto": int(arguments[0])}
        if name in ("CLIENT", "SELECT", "PING"):
            return "OK"
        if name == "TYPE":
            return "bloomfltr" if arguments[0] in self.filters else "none"
        if name == "PTTL":
            return -1
        if name == "EXISTS":
            return sum(each in self.filters for each in arguments)
        begin = "".join(f"'{each.decode(errors='replace')[:100]}' " for each in arguments)
        raise Refused(f"ERR unknown command '{name}', with args beginning with: {begin}")

    @property
    def filters(self):
        return self.server.filters

    def reserve(self, key, error, capacity=b"", *options):
        known = ([], [b"NONSCALING"]) if len(options) < 2 else ([b"EXPANSION", options[1]],)
        if [each.upper() for each in options] not in known:
            raise Refused("ERROR")
        if not 0 < float(error) < 1:
            raise Refused("ERR (0 < error rate range < 1)")
        if key in self.filters:
            raise Refused("ERR item exists")
        self.filters[key] = Stored(int(capacity), options != (b"NONSCALING",))
        return "OK"

    def insert(self, key, *words):
        stored, remaining = Stored(), iter(words)
        for word in remaining:
            option = word.upper()
            if option == b"ITEMS":
                break
            value = next(remaining) if option in VALUED else None
            if option == b"CAPACITY":
                stored.capacity = int(value)
            elif option == b"NONSCALING":
                stored.is_growing = False
            elif option not in VALUED:
                raise Refused("ERR unknown argument received")
        return self.filters.setdefault(key, stored).add_all(remaining)

    def add(self, key, item):
        reply = self.filters.setdefault(key, Stored()).add(item)
        if isinstance(reply, Refused):
            raise reply
        return reply

    def madd(self, key, *items):
        return self.filters.setdefault(key, Stored()).add_all(items)

    def exists(self, key, item):
        return self.mexists(key, item)[0]

    def mexists(self, key, *items):
        stored = self.filters.get(key, Stored())
        return [int(item in stored.items) for item in items]

    def card(self, key):
        return len(self.filters.get(key, Stored()).items)

    def info(self, key):
        if key not in self.filters:
            raise Refused("ERR not found")
        stored = self.filters[key]
        fields = [b"Capacity", stored.capacity, b"Size", 384, b"Number of filters", 1]
        fields += [b"Number of items inserted", len(stored.items), b"Error rate", b"0.01"]
        return [*fields, b"Tightening ratio", b"0.5"]


class Server(socketserver.ThreadingUnixStreamServer):
    """Use it in a `with` statement; `url` is its URL."""

    daemon_threads = True

    def __init__(self, folder):
        self.filters = {}
        self.url = f"unix://{folder}/socket"
        super().__init__(f"{folder}/socket", Handler)
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def __exit__(self, *reasons):
        self.shutdown()
        super().__exit__(*reasons)

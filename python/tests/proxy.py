"""A way to a server that loses the connection after a call has run, before its reply."""

import contextlib
import socket
import threading


class Proxy:
    """Listens on a port of this machine. `target` is the path of a socket, or host and port.

    The next `cuts` connections that carry `text` are closed when the server replies.
    """

    def __init__(self, target):
        self.target = target
        self.text, self.cuts = b"", 0
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port = self._listener.getsockname()[1]
        self._links = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self, text, cuts=1):
        self.text, self.cuts = text, cuts

    def drop(self):
        """Loses all connections that there are, whatever they carry."""
        links, self._links = self._links, []
        for link in links:
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)

    def _connect(self):
        if isinstance(self.target, tuple):
            return socket.create_connection(self.target)
        link = socket.socket(socket.AF_UNIX)
        link.connect(str(self.target))
        return link

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                try:
                    server = self._connect()
                except OSError:
                    client.close()
                    continue
                self._links.extend((client, server))
                has_text = threading.Event()
                for source, sink, is_up in ((client, server, True), (server, client, False)):
                    words = (source, sink, is_up, has_text)
                    threading.Thread(target=self._carry, args=words, daemon=True).start()

    def _carry(self, source, sink, is_up, has_text):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if is_up and self.cuts > 0 and self.text in data:
                    has_text.set()
                if not is_up and has_text.is_set():
                    self.cuts -= 1
                    break
                sink.sendall(data)
        for link in (source, sink):
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)

    def close(self):
        for link in (self._listener, *self._links):
            with contextlib.suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
            link.close()

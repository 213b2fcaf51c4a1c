"""A web site on this machine that has every page and counts the fetches of each page."""

import collections
import http.server
import sys
import threading


class LocalSite(http.server.ThreadingHTTPServer):
    """Serves until `close`. `fetched` counts the fetches by path."""

    # A crawler opens more connections at the same time than the default of five.
    request_queue_size = 128

    def __init__(self, port=0):
        super().__init__(("127.0.0.1", port), Page)
        self.fetched = collections.Counter()
        self.counting = threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    def close(self):
        self.shutdown()
        self.server_close()


class Page(http.server.BaseHTTPRequestHandler):
    """Any page."""

    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self):
        with self.server.counting:
            self.server.fetched[self.path] += 1
        body = f"<title>Page {self.path}</title>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    site = LocalSite(int(sys.argv[1]) if len(sys.argv) > 1 else 8000)
    print(f"{site.url}: Enter shows the number of fetches, Ctrl-D ends", flush=True)
    for _ in sys.stdin:
        print(f"{len(site.fetched)} pages, {site.fetched.total()} times", flush=True)

"""A web site on this machine that has every page and counts the fetches of each page."""

import argparse
import collections
import http.server
import sys
import threading
import time


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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", nargs="?", type=int, default=8000, help="default: 8000")
    site = LocalSite(parser.parse_args().port)
    print(f"{site.url}: prints the number of fetches, Ctrl-C ends", flush=True)
    shown = 0
    # It reads nothing, so it also runs in the background, without a terminal.
    while True:
        time.sleep(1)
        fetches = site.fetched.total()
        if fetches != shown:
            print(f"{len(site.fetched)} pages, {fetches} times", flush=True)
            shown = fetches


if __name__ == "__main__":
    try:
        main()
    except (OSError, OverflowError) as error:
        sys.exit(f"local_site: {error}")
    except KeyboardInterrupt:
        pass

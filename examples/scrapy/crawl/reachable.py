"""Ends a crawl with one line before it begins, if its server or its site cannot be reached.

A request is remembered before it is fetched. So a crawl of a site that is down would remember all
pages that it failed to fetch, and the next crawl would fetch none of them.
"""

import socket
import sys
from urllib.parse import urlsplit

import redis

# Seconds.
TIMEOUT = 10


def check(settings, key, site):
    """Exits with status 1 if the server does not know the commands, or the site cannot be reached."""
    try:
        with redis.Redis.from_url(settings["REDIS_URL"], **settings.getdict("REDIS_PARAMS")) as server:
            # For a key of another type the answer is 0: what to do with it is up to the dupefilter.
            server.execute_command("BF.EXISTS", key, "")
    except (ValueError, OSError, redis.exceptions.RedisError) as error:
        sys.exit(f"crawl: REDIS_URL: {error}")
    try:
        url = urlsplit(site)
        port = url.port or {"http": 80, "https": 443}[url.scheme]
        socket.create_connection((url.hostname, port), TIMEOUT).close()
    except KeyError:
        sys.exit(f"crawl: the site {site} is no URL of http or https")
    except (ValueError, OSError) as error:
        sys.exit(f"crawl: the site {site} cannot be reached, so no page is remembered: {error}")

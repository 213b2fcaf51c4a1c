"""Runs commands through valkey-glide-sync: see ../programs.py for what it reads and writes."""

import sys

from glide_encode import PROTOCOLS, decode, encode, write
from glide_shared.exceptions import RequestError
from glide_sync import GlideClient, GlideClientConfiguration, NodeAddress

_, port, protocol = sys.argv
address = NodeAddress("127.0.0.1", int(port))
client = GlideClient.create(GlideClientConfiguration([address], protocol=PROTOCOLS[protocol], request_timeout=300_000))
for line in sys.stdin:
    try:
        write(encode(client.custom_command(decode(line))))
    except RequestError as error:
        write({"raised": str(error)})
client.close()

"""Runs commands through valkey-glide for Python: see ../programs.py for what it reads and writes."""

import asyncio
import sys

from glide import GlideClient, GlideClientConfiguration, NodeAddress, RequestError
from glide_encode import PROTOCOLS, decode, encode, write


async def main():
    _, port, protocol = sys.argv
    address = NodeAddress("127.0.0.1", int(port))
    settings = GlideClientConfiguration([address], protocol=PROTOCOLS[protocol], request_timeout=300_000)
    client = await GlideClient.create(settings)
    while line := await asyncio.to_thread(sys.stdin.readline):
        try:
            write(encode(await client.custom_command(decode(line))))
        except RequestError as error:
            write({"raised": str(error)})
    await client.close()


asyncio.run(main())

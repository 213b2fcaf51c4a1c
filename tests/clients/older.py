"""Makes windowed filters older, as if time had passed."""

import struct

# Offsets in the header of such a filter: the number of its generations, the time for the next
# rotation by count, and the opening time of the oldest generation.
PRESENT, CLOCK, OPENED = 20, 72, 80
GENERATION_BYTES = 32


def make_older(client, key, seconds):
    """Replaces a filter by a copy of it, all generations of which were opened earlier."""
    chunks = []
    iterator, data = client.execute_command("BF.SCANDUMP", key, 0)
    while iterator:
        chunks.append((iterator, data))
        iterator, data = client.execute_command("BF.SCANDUMP", key, iterator)
    header = bytearray(chunks[0][1])
    (present,) = struct.unpack_from("<I", header, PRESENT)
    for offset in [CLOCK] + [OPENED + GENERATION_BYTES * number for number in range(present)]:
        (millis,) = struct.unpack_from("<Q", header, offset)
        struct.pack_into("<Q", header, offset, max(0, millis - 1000 * seconds))
    chunks[0] = (chunks[0][0], bytes(header))
    client.delete(key)
    for iterator, data in chunks:
        client.execute_command("BF.LOADCHUNK", key, iterator, data)

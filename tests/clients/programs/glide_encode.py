"""How the programs of GLIDE for Python read commands and write replies: see ../programs.py."""

import json

from glide_shared.config import ProtocolVersion

PROTOCOLS = {"2": ProtocolVersion.RESP2, "3": ProtocolVersion.RESP3}


def decode(line):
    return [bytes.fromhex(word) for word in line.strip().split(",")]


def encode(value):
    if isinstance(value, (bytes, str)):
        return (value.encode() if isinstance(value, str) else value).hex()
    if isinstance(value, dict):
        return {"map": [[encode(name), encode(member)] for name, member in value.items()]}
    if isinstance(value, Exception):
        return {"error": str(value)}
    return [encode(element) for element in value] if isinstance(value, list) else value


def write(value):
    print(json.dumps(value), flush=True)

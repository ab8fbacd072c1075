#!/usr/bin/env python3
"""Writes the seed corpus for the WebSocket frame parser: websocket_seeds.py FOLDER. Each seed is a byte of options, a seed
for the cuts, and server frames."""

import os
import struct
import sys
import zlib


def frame(opcode, payload=b"", final=True, compressed=False, size=None):
    head = bytes([(0x80 if final else 0) | (0x40 if compressed else 0) | opcode])
    count = len(payload)
    size = size or (1 if count < 126 else 2 if count < 65536 else 8)
    head += bytes([count]) if size == 1 else struct.pack(">BH", 126, count) if size == 2 else struct.pack(">BQ", 127, count)
    return head + payload


def deflate(*messages):
    deflater = zlib.compressobj(wbits=-15)
    return [(deflater.compress(message) + deflater.flush(zlib.Z_SYNC_FLUSH))[:-4] for message in messages]


text = "Grüße, 東京, 🍵".encode()
first, second = deflate(text * 3, text * 5)
seeds = {
    "text": frame(1, text),
    "binary": frame(2, bytes(range(200))),
    "fragments": frame(1, text[:4], final=False) + frame(9, b"ping") + frame(0, text[4:]),
    "pong": frame(10, b"pong") + frame(9),
    "close": frame(8, struct.pack(">H", 1000) + b"bye"),
    "close-empty": frame(8),
    "close-wrong": frame(8, struct.pack(">H", 1005)),
    "long-form": frame(2, b"x" * 100, size=8),
    "large": frame(2, b"x" * 66000),
    "masked": bytes([0x81, 0x81, 1, 2, 3, 4, 5]),
    "surrogate": frame(1, b"\xed\xa0\x80"),
}
compressed = {
    "compressed": frame(1, first, compressed=True) + frame(1, second, compressed=True),
    "compressed-fragments": frame(1, first[:5], final=False, compressed=True) + frame(9) + frame(0, first[5:]),
    "bomb": frame(2, deflate(b"\0" * (2 << 20))[0], compressed=True),
    "stored": frame(2, b"\0\x03\0\xfc\xffabc\0", compressed=True),
    "corrupt": frame(2, b"\xff\xff\xff", compressed=True),
}
os.makedirs(sys.argv[1], exist_ok=True)
for choice in range(8):
    for name, data in (seeds | compressed if choice & 1 else seeds).items():
        with open(os.path.join(sys.argv[1], f"{name}-{choice}"), "wb") as file:
            file.write(bytes([choice, choice * 36]) + data)

#!/usr/bin/env python3
"""The server of the socket benchmarks: socket_server.py CERTIFICATE KEY. Prints {"plain": port, "tls": port} and exits when its
standard input is closed. It uses threads and blocking sockets for low overhead.

For the path /0 it echoes (small) messages; for /N it sends messages of N bytes as fast as the client reads them. A client
speaks WebSocket, or begins with "BARE /N" and exchanges the same bytes without frames.
"""

import base64
import hashlib
import json
import os
import socket
import ssl
import struct
import sys
import threading

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def frames(size):
    """Returns whole frames: 4 MiB of them, or a single larger one."""
    head = bytes([0x82])
    head += bytes([size]) if size < 126 else struct.pack(">BH", 126, size) if size < 65536 else struct.pack(">BQ", 127, size)
    return (head + bytes(size)) * max(1, (4 << 20) // (size + len(head)))


def echo_frames(connection):
    """Echoes small frames, of which the buffer may hold one or many."""
    rest = b""
    while more := connection.recv(65536):
        rest += more
        answer = b""
        while len(rest) >= 6 and len(rest) >= 6 + (rest[1] & 0x7F):
            size = rest[1] & 0x7F
            if rest[0] & 0x0F == 8:
                return
            mask = rest[2:6] * (size // 4 + 1)
            plain = int.from_bytes(rest[6:6 + size], "little") ^ int.from_bytes(mask[:size], "little")
            answer += rest[:1] + bytes([size]) + plain.to_bytes(size, "little")
            rest = rest[6 + size:]
        connection.sendall(answer)


def serve(connection, context):
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context:
            connection = context.wrap_socket(connection, server_side=True)
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(65536)
        head, rest = head.split(b"\r\n\r\n", 1)
        size = int(head.split()[1][1:])
        if head.startswith(b"GET"):
            key = next(l.split(b":")[1].strip() for l in head.split(b"\r\n") if l.lower().startswith(b"sec-websocket-key:"))
            accept = base64.b64encode(hashlib.sha1(key + GUID).digest())
            connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                               b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n")
        if size:
            block = memoryview(frames(size))
            while True:
                connection.sendall(block)
        elif head.startswith(b"GET"):
            echo_frames(connection)
        else:
            connection.sendall(rest)
            while more := connection.recv(65536):
                connection.sendall(more)
    except (OSError, IndexError, ValueError):
        pass
    finally:
        connection.close()


def listen(context=None):
    server = socket.create_server(("127.0.0.1", 0), backlog=256)

    def accept():
        while True:
            threading.Thread(target=serve, args=(server.accept()[0], context), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return server.getsockname()[1]


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
print(json.dumps({"plain": listen(), "tls": listen(context)}), flush=True)
sys.stdin.read()
os._exit(0)

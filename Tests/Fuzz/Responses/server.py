#!/usr/bin/env python3
"""Servers that send invalid responses of every kind. Prints {"plain": port, "tls": port, "h2": port, "ca": file} and exits when
its standard input is closed. The path of a request selects the response: /SEED/INDEX always gets the same one. Requires `h2` and
`cryptography`.
"""

import asyncio
import json
import os
import pathlib
import random
import re
import socket
import ssl
import struct
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "Peers")]

import http1
import http2
from certificates import make_all

# How long a connection stays open without a new request; this also ends responses that are incomplete.
PATIENCE = 0.15
TARGET = re.compile(rb"/(\d+)/(\d+)")


def chosen(path):
    found = TARGET.match(path)
    return (int(found[1]), int(found[2])) if found else (0, 0)


class Ending(asyncio.Protocol):
    """The common part of both protocols: writes while the connection is open, and ends it in several ways."""

    def connection_made(self, transport):
        self.transport, self.timer, self.is_over = transport, None, False
        transport.set_write_buffer_limits(high=1 << 24)

    def connection_lost(self, error):
        self.is_over = True
        if self.timer:
            self.timer.cancel()

    def write(self, data):
        if data and not self.is_over:
            self.transport.write(data)

    def wait(self):
        if self.timer:
            self.timer.cancel()
        self.timer = asyncio.get_running_loop().call_later(PATIENCE, self.end, "close")

    def end(self, how):
        if self.is_over:
            return
        if how == "keep":
            return self.wait()
        self.is_over = True
        if how == "reset":
            connection = self.transport.get_extra_info("socket")
            if connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return self.transport.abort()
        # The TLS shutdown must not keep the connection open.
        self.transport.close()
        asyncio.get_running_loop().call_later(PATIENCE, self.transport.abort)


class HTTP1(Ending):
    def connection_made(self, transport):
        super().connection_made(transport)
        self.buffer, self.is_clean, self.is_busy, self.is_deaf = b"", True, False, False

    def data_received(self, data):
        if self.is_deaf:
            return
        self.buffer += data
        if not self.is_busy:
            self.serve()

    def serve(self):
        while not self.is_over and not self.is_busy:
            end = self.buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self.buffer[:end + 4]
            method, _, path = head.partition(b" ")
            seed, index = chosen(path)
            source = random.Random(f"{seed}/{index}")
            # Some respond before the request's body is complete.
            early = source.random() < 0.1
            length = self.length_of_body(head, end + 4)
            if b"\nexpect: 100-continue" in head.lower() and len(self.buffer) == end + 4 and not early:
                if source.random() < 0.7:
                    self.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            if length is None and not early:
                return self.wait()
            if length is None:
                # Anything that follows is not a request.
                self.is_clean, self.is_deaf, self.buffer = False, True, b""
            else:
                self.buffer = self.buffer[end + 4 + length:]
            reply = http1.make(source, index, method == b"HEAD")
            if not self.is_clean or not seed:
                reply.pieces = [piece.replace(b"X-Proof:", b"X-Guess:") for piece in reply.pieces]
            self.is_clean &= reply.is_clean
            self.is_busy = True
            self.deliver(reply)

    def length_of_body(self, head, start):
        """Returns the length of the request's body, or None while it is incomplete."""
        lower = head.lower()
        found = re.search(rb"\ncontent-length: *(\d+)", lower)
        if found:
            length = int(found[1])
            return length if len(self.buffer) - start >= length else None
        if b"\ntransfer-encoding: chunked" not in lower:
            return 0
        end = self.buffer.find(b"0\r\n\r\n", start)
        return end + 5 - start if end >= 0 else None

    def deliver(self, reply):
        if self.is_over:
            return
        self.write(reply.pieces.pop(0))
        if reply.pieces:
            asyncio.get_running_loop().call_soon(self.deliver, reply)
            return
        self.is_busy = False
        self.end(reply.then)
        self.serve()


class HTTP2(Ending):
    def connection_made(self, transport):
        super().connection_made(transport)
        self.connection = http2.Connection(self.write, self.end, self.respond)

    def data_received(self, data):
        if not self.is_over:
            self.wait()
            self.connection.received(data)

    def respond(self, path, head, stream):
        seed, index = chosen(path)
        self.connection.send(random.Random(f"{seed}/{index}"), index, stream, head)


def context(folder, *protocols):
    result = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    result.load_cert_chain(folder / "good.pem", folder / "good.key")
    result.set_alpn_protocols(protocols)
    return result


async def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_all(folder)
        loop = asyncio.get_running_loop()
        ports = {}
        for label, protocol, tls in [
            ("plain", HTTP1, None), ("tls", HTTP1, context(folder, "http/1.1")), ("h2", HTTP2, context(folder, "h2"))]:
            server = await loop.create_server(protocol, "127.0.0.1", 0, ssl=tls, backlog=1024)
            ports[label] = server.sockets[0].getsockname()[1]
        # TLS reports errors when the client disconnects, which is expected here.
        loop.set_exception_handler(lambda loop, context: None if isinstance(context.get("exception"), (OSError, ssl.SSLError))
                                   else loop.default_exception_handler(context))
        print(json.dumps({**ports, "ca": str(folder / "ca.pem")}), flush=True)
        await loop.run_in_executor(None, sys.stdin.read)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main())

#!/usr/bin/env python3
"""TLS servers, good and bad, one port each. Prints {"ports": {"name": port, ...}, "folder": …} and ends with its standard input."""

import asyncio
import json
import os
import pathlib
import ssl
import sys
import tempfile
import urllib.parse
import warnings

from certificates import make_all

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


async def answer(reader, writer):
    try:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(ANSWER)
        await writer.drain()
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        pass
    finally:
        writer.close()


async def echo(reader, writer):
    """Sends the head of each request back, or its client to the URL that comes after `/to/`."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            target = urllib.parse.unquote_to_bytes(head.split(b" ")[1])
            if target.startswith(b"/to/"):
                writer.write(b"HTTP/1.1 307 Temporary Redirect\r\nContent-Length: 0\r\nLocation: " + target[4:] + b"\r\n\r\n")
            else:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(head) + head)
            await writer.drain()
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        pass
    finally:
        writer.close()


async def claim(reader, writer):
    """Says HTTP/2 where HTTP/1.1 was negotiated, if it is asked for `/claim`. Sends each path back."""
    try:
        while True:
            path = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1]
            version = b"HTTP/2" if path == b"/claim" else b"HTTP/1.1"
            writer.write(version + b" 200 OK\r\nContent-Length: %d\r\n\r\n" % len(path) + path)
            await writer.drain()
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        pass
    finally:
        writer.close()


async def cut(reader, writer):
    """Takes the first bytes of the ClientHello and closes."""
    await reader.read(1)
    writer.close()


async def silent(reader, writer):
    """Takes the connection, and never says a word."""
    try:
        while await reader.read(65536):
            pass
    except OSError:
        pass
    writer.close()


async def refuse(reader, writer):
    """A server without TLS: what it reads is no HTTP, which it says at once."""
    await reader.read(1)
    writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    writer.close()


async def main():
    ports, servers = {}, []

    async def serve(name, handler, context=None):
        server = await asyncio.start_server(handler, "127.0.0.1", 0, ssl=context)
        servers.append(server)
        ports[name] = server.sockets[0].getsockname()[1]

    with tempfile.TemporaryDirectory() as folder:
        make_all(folder)
        for name in ("good", "wrong-host", "expired", "not-yet", "self-signed", "unknown-root"):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(pathlib.Path(folder) / f"{name}.pem", pathlib.Path(folder) / f"{name}.key")
            await serve(name, answer, context)
            if name == "good":
                await serve("echo", echo, context)
                await serve("claim", claim, context)
        await serve("plain", refuse)
        await serve("cut", cut)
        await serve("silent", silent)
        # No client of today takes these.
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        old.load_cert_chain(pathlib.Path(folder) / "good.pem", pathlib.Path(folder) / "good.key")
        old.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1
        await serve("old", answer, old)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pathlib.Path(folder) / "good.pem", pathlib.Path(folder) / "good.key")
        context.load_verify_locations(pathlib.Path(folder) / "ca.pem")
        context.verify_mode = ssl.CERT_REQUIRED
        # In TLS 1.3 the client hears of its refusal only after its handshake.
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        await serve("client-required", answer, context)
        print(json.dumps({"ports": ports, "folder": folder}), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)


asyncio.run(main())

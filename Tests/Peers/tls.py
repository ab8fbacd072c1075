#!/usr/bin/env python3
"""Correct and faulty TLS servers, each on its own port. Prints {"ports": {"name": port, ...}, "folder": …} and exits when its
standard input is closed.
"""

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
    """Responds with the head of each request, or redirects to the URL that follows `/to/`."""
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
    """Responds with the path of each request; for `/claim` the status line says HTTP/2 although HTTP/1.1 was negotiated."""
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


async def client(reader, writer):
    """Responds to each request with the name in the certificate of the client, which may be cached."""
    try:
        name = dict(pair for part in writer.get_extra_info("peercert")["subject"] for pair in part)["commonName"].encode()
        while await reader.readuntil(b"\r\n\r\n"):
            writer.write(b"HTTP/1.1 200 OK\r\nCache-Control: private, max-age=60\r\nContent-Length: %d\r\n\r\n" % len(name) + name)
            await writer.drain()
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        pass
    finally:
        writer.close()


async def cut(reader, writer):
    """Closes the connection after the first byte of the ClientHello."""
    await reader.read(1)
    writer.close()


async def silent(reader, writer):
    """Accepts the connection and never sends anything."""
    try:
        while await reader.read(65536):
            pass
    except OSError:
        pass
    writer.close()


async def refuse(reader, writer):
    """A server without TLS, which responds to a ClientHello with 400 at once."""
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
        # Current clients do not accept these.
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
        # In TLS 1.3 the client learns of its rejection only after the handshake.
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        await serve("client-required", answer, context)
        await serve("client-name", client, context)
        print(json.dumps({"ports": ports, "folder": folder}), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)


asyncio.run(main())

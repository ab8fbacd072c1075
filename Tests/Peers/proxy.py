#!/usr/bin/env python3
"""Correct and faulty HTTP proxies, each on its own port, and two servers behind them. Prints {"ports": {"name": port, ...},
"folder": …} and exits when its standard input is closed. Requests through the good proxy may name any host: all of them reach
the servers of this script.
"""

import asyncio
import base64
import json
import os
import pathlib
import socket
import ssl
import sys

from certificates import make_all
from folder import temporary_folder

CREDENTIALS = b"basic " + base64.b64encode(b"someone:s%cret")
ports = {}


async def origin(reader, writer):
    """Responds with the head of each request, on a persistent connection."""
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(head) + head)
            await writer.drain()
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        pass
    finally:
        writer.close()


async def pump(reader, writer, limit=None):
    try:
        while limit is None or limit > 0:
            data = await reader.read(65536 if limit is None else limit)
            if not data:
                break
            limit = limit if limit is None else limit - len(data)
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


def proxy(*, credentials=None, refusal=None, limit=None):
    """`limit`: the number of bytes from the server that are forwarded before the connection is closed."""

    async def serve(reader, writer):
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head.lower().split(b"\r\n")
            fields = {line.split(b":")[0]: line.split(b":", 1)[1].strip() for line in lines[1:-2]}
            method, target, _ = head.split(b"\r\n")[0].split(b" ")
            if credentials and fields.get(b"proxy-authorization", b"").lower() != credentials.lower():
                return await answer(writer, b"407 Proxy Authentication Required", b"Proxy-Authenticate: Basic realm=x\r\n")
            if refusal:
                return await answer(writer, refusal)
            if method == b"CONNECT":
                # Credentials for the server must not be sent to the proxy.
                if fields.keys() & {b"authorization", b"cookie", b"x-secret"}:
                    return await answer(writer, b"400 Credentials in CONNECT")
                up, down = await asyncio.open_connection("127.0.0.1", ports["tls-origin"])
                writer.write(b"HTTP/1.1 200 Connection established\r\nX-Proxy: 1\r\n\r\n")
            else:
                up, down = await asyncio.open_connection("127.0.0.1", ports["origin"])
                down.write(head)
            await asyncio.gather(pump(reader, down), pump(up, writer, limit))
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    return serve


async def answer(writer, status, fields=b""):
    writer.write(b"HTTP/1.1 " + status + b"\r\n" + fields + b"Content-Length: 4\r\nConnection: close\r\n\r\nsad\n")
    await writer.drain()


async def socks(reader, writer):
    """RFC 1928, for IPv4 addresses and names, without credentials."""
    try:
        await reader.readexactly((await reader.readexactly(2))[1])
        writer.write(b"\x05\x00")
        kind = (await reader.readexactly(4))[3]
        length = (await reader.readexactly(1))[0] if kind == 3 else 4
        host = await reader.readexactly(length)
        port = int.from_bytes(await reader.readexactly(2))
        up, down = await asyncio.open_connection(host.decode() if kind == 3 else socket.inet_ntoa(host), port)
        writer.write(b"\x05\x00\x00\x01" + bytes(6))
        await asyncio.gather(pump(reader, down), pump(up, writer))
    except (OSError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def late_socks(reader, writer):
    """Gets a request, reports it to the server that it names, and never replies. Reports the end of the connection, too."""
    async def report(path):
        _, down = await asyncio.open_connection(socket.inet_ntoa(request[4:8]), int.from_bytes(request[8:]))
        down.write(b"GET " + path + b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")

    try:
        await reader.readexactly((await reader.readexactly(2))[1])
        writer.write(b"\x05\x00")
        request = await reader.readexactly(10)
        await report(b"/requested")
        rest = await reader.read()
        await report(b"/left" if not rest else b"/sent")
    except (OSError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


def after_head(data, *, start=b"", forever=False, reset=False):
    async def serve(reader, writer):
        try:
            await reader.readuntil(b"\r\n\r\n")
            if reset:
                return writer.transport.abort()
            writer.write(start + data)
            while forever:
                writer.write(data)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    return serve


# Responses to CONNECT without an end.
ENDLESS = {
    "fields": (b"HTTP/1.1 200 OK\r\n", b"X-A: b\r\n"), "status": (b"", b"HTTP/1.1 200 OK\r\n"),
    "folds": (b"HTTP/1.1 200 OK\r\nX-A: b\r\n", b" c\r\n"), "interim": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "chunks": (b"HTTP/1.1 407 No\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n"),
    "body": (b"HTTP/1.1 502 No\r\nContent-Length: 99999999999\r\n\r\n", b"abc"),
}


async def silent(reader, writer):
    await reader.read()
    while not writer.is_closing():
        try:
            await reader.readexactly(1)
        except (OSError, asyncio.IncompleteReadError):
            writer.close()


async def main():
    servers = []

    async def serve(name, handler, context=None):
        server = await asyncio.start_server(handler, "127.0.0.1", 0, ssl=context)
        servers.append(server)
        ports[name] = server.sockets[0].getsockname()[1]

    with temporary_folder() as folder:
        make_all(folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pathlib.Path(folder) / "good.pem", pathlib.Path(folder) / "good.key")
        await serve("origin", origin)
        await serve("tls-origin", origin, context)
        await serve("good", proxy())
        await serve("socks", socks)
        await serve("late-socks", late_socks)
        await serve("authenticating", proxy(credentials=CREDENTIALS))
        await serve("forbidding", proxy(refusal=b"403 Forbidden"))
        await serve("failing", proxy(refusal=b"502 Bad Gateway"))
        await serve("dying", after_head(b""))
        await serve("resetting", after_head(b"", reset=True))
        # In the middle of the TLS handshake, or of a plain response.
        await serve("dying-later", proxy(limit=30))
        await serve("garbage", after_head(b"\x00\xff\x16 what?\r\n\r\n"))
        for name, (start, data) in ENDLESS.items():
            await serve(f"endless-{name}", after_head(data * 1_000, start=start, forever=True))
        await serve("endless-garbage", after_head(b"x" * 4096, forever=True))
        await serve("silent", silent)
        print(json.dumps({"ports": ports, "folder": folder}), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    # Exits without waiting for open connections.
    os._exit(0)


asyncio.run(main())

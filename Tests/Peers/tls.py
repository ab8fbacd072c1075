#!/usr/bin/env python3
"""Correct and faulty TLS servers, each on its own port. Prints {"ports": {"name": port, ...}, "folder": …} and exits when its
standard input is closed.
"""

import asyncio
import json
import os
import pathlib
import socket
import ssl
import struct
import sys
import threading
import urllib.parse
import warnings

from certificates import make_all
from folder import temporary_folder


def until_closed(handler):
    """Ends a handler when the client is gone or sends nonsense, and then closes the connection."""
    async def ended(reader, writer):
        try:
            await handler(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    return ended


ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


@until_closed
async def answer(reader, writer):
    await reader.readuntil(b"\r\n\r\n")
    writer.write(ANSWER)
    await writer.drain()


@until_closed
async def echo(reader, writer):
    """Responds with the head of each request, or redirects to the URL that follows `/to/`."""
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        target = urllib.parse.unquote_to_bytes(head.split(b" ")[1])
        if target.startswith(b"/to/"):
            writer.write(b"HTTP/1.1 307 Temporary Redirect\r\nContent-Length: 0\r\nLocation: " + target[4:] + b"\r\n\r\n")
        else:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(head) + head)
        await writer.drain()


@until_closed
async def claim(reader, writer):
    """Responds with the path of each request; for `/claim` the status line says HTTP/2 although HTTP/1.1 was negotiated."""
    while True:
        path = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1]
        version = b"HTTP/2" if path == b"/claim" else b"HTTP/1.1"
        writer.write(version + b" 200 OK\r\nContent-Length: %d\r\n\r\n" % len(path) + path)
        await writer.drain()


@until_closed
async def client(reader, writer):
    """Responds to each request with the name in the certificate of the client, which may be cached, for all users at `/public`,
    or redirects to the URL that follows `/to/`."""
    peer = writer.get_extra_info("peercert") or {}
    name = dict(pair for part in peer.get("subject", ()) for pair in part).get("commonName", "nobody").encode()
    while True:
        target = urllib.parse.unquote_to_bytes((await reader.readuntil(b"\r\n\r\n")).split(b" ")[1])
        if target.startswith(b"/to/"):
            writer.write(b"HTTP/1.1 307 Temporary Redirect\r\nContent-Length: 0\r\nLocation: " + target[4:] + b"\r\n\r\n")
            continue
        scope = b"public" if target == b"/public" else b"private"
        writer.write(b"HTTP/1.1 200 OK\r\nCache-Control: %s, max-age=60\r\nContent-Length: %d\r\n\r\n" % (scope, len(name)) + name)
        await writer.drain()


# What follows the body of a response to a path that begins with the key, in the record that ends the body.
SURPLUS = {
    b"response": b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", b"byte": b"\n", b"long": b"!" * 5_000,
    b"half": b"HTTP/1.1 200 OK\r\nContent-Le", b"timeout": b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n",
}
late = []


@until_closed
async def surplus(reader, writer):
    """Responds with the path of each request and its number on the connection, head and body in records of their own."""
    number = 0
    while True:
        path = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1]
        kind = path.split(b"/")[1]
        number += 1
        body = b"%s %d" % (path, number)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
        await writer.drain()
        writer.write(body + SURPLUS.get(kind, b""))
        await writer.drain()
        if kind == b"late":
            late.append(writer)


@until_closed
async def bulk(reader, writer):
    """Reads the body of each request, and responds with as many zeros as the path says, or with the length of that body."""
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if line)
        left = length = int(fields.get(b"content-length", b"0"))
        while left > 0:
            left -= len(await reader.read(min(left, 65536))) or left
        count = int(head.split(b" ")[1][1:])
        body = bytes(count) if count else b"%d" % length
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()


held = []


@until_closed
async def records(reader, writer):
    """Responds with records of the size and the number that the path says, and with a last byte once there was a request for
    `/go`."""
    while True:
        path = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1]
        if path == b"/go":
            held.pop().set()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        else:
            size, count = (int(part) for part in path[1:].split(b"/"))
            body = bytes(range(251)) * (size * count // 251 + 1)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (size * count + 1))
            for start in range(0, size * count, size):
                writer.write(body[start:start + size])
            held.append(asyncio.Event())
            await held[-1].wait()
            writer.write(b"!")
        await writer.drain()


@until_closed
async def hints(reader, writer):
    """Sends many interim responses, each in a record of its own, and responds with the body, which it does not ask for."""
    await reader.readuntil(b"\r\n\r\n")
    writer.writelines([b"HTTP/1.1 103 Early Hints\r\n\r\n"] * 200)
    body = await reader.readexactly(4)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\n" + body)
    await writer.drain()


@until_closed
async def ending(reader, writer):
    """Responds in the way that the path names, and ends the connection: at once, or, for `announced`, with a close_notify."""
    kind = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1]
    field, body = {
        b"/length": (b"Content-Length: 4\r\n", b"body"), b"/identity": (b"Transfer-Encoding: identity\r\n", b"body"),
        b"/chunked": (b"Transfer-Encoding: chunked\r\n", b"4\r\nbody\r\n0\r\n\r\n"),
    }.get(kind, (b"", b"body"))
    writer.write(b"HTTP/1.1 200 OK\r\n" + field + b"\r\n")
    await writer.drain()
    writer.write(body)
    await writer.drain()
    if kind != b"/announced":
        writer.transport.abort()


def listen(loop):
    """For each line, sends a response that nobody asked for on every connection that was used for the path `/late`."""
    def send():
        while late:
            late.pop().write(SURPLUS[b"response"])
        print("sent", flush=True)

    for _ in sys.stdin:
        loop.call_soon_threadsafe(send)


async def cut(reader, writer):
    """Closes the connection after the first byte of the ClientHello."""
    await reader.read(1)
    writer.close()


async def reset(reader, writer):
    """Resets the connection after the first byte of the ClientHello."""
    await reader.read(1)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def forwarding(port):
    """Accepts two connections and closes them at once, as a proxy does while its server restarts, and then forwards them."""
    count = 0

    async def copy(reader, writer):
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    async def handler(reader, writer):
        nonlocal count
        count += 1
        if count <= 2:
            return writer.close()
        their_reader, their_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(copy(reader, their_writer), copy(their_reader, writer), return_exceptions=True)

    return handler


def saying_why(context):
    """Responds to requests, one after the other. A handshake that fails ends with an alert, which asyncio does not send."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            connection = listener.accept()[0]
            try:
                with context.wrap_socket(connection, server_side=True) as stream:
                    stream.recv(65536)
                    stream.sendall(ANSWER)
            except OSError:
                connection.close()

    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


def refusing(context, resets=False):
    """Sends the alert of a handshake that fails, and reads until the client closes, or resets the connection at once."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            stream = context.wrap_socket(listener.accept()[0], server_side=True, do_handshake_on_connect=False)
            try:
                stream.do_handshake()
            except OSError:
                pass
            if resets:
                stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                stream.close()
                continue
            try:
                while socket.socket.recv(stream, 65536):
                    pass
            except OSError:
                pass
            stream.close()

    threading.Thread(target=serve, daemon=True).start()
    return listener.getsockname()[1]


def renegotiating(folder):
    """Begins another handshake (RFC 5246 §7.4.1.1) when the client has sent the line `go`, sends the line `ready`, and never
    reads again."""
    async def until(stream, start):
        while not (line := await stream.readline()).startswith(start):
            if not line:
                raise EOFError
        return line

    async def copy(reader, writer, has_copied):
        while data := await reader.read(65536):
            writer.write(data)
            has_copied.set()

    async def handler(reader, writer):
        has_sent, has_received = asyncio.Event(), asyncio.Event()
        openssl = await asyncio.create_subprocess_exec(
            "openssl", "s_server", "-tls1_2", "-accept", "127.0.0.1:0", "-naccept", "1",
            "-cert", f"{folder}/good.pem", "-key", f"{folder}/good.key",
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
        try:
            port = int((await until(openssl.stdout, b"ACCEPT")).split(b":")[-1])
            their_reader, their_writer = await asyncio.open_connection("127.0.0.1", port)
            forward = asyncio.create_task(copy(reader, their_writer, has_received))
            back = asyncio.create_task(copy(their_reader, writer, has_sent))
            await until(openssl.stdout, b"go")
            forward.cancel()
            has_sent.clear()
            openssl.stdin.write(b"R\n")
            await has_sent.wait()
            openssl.stdin.write(b"ready\n")
            await back
        except (OSError, EOFError):
            pass
        finally:
            writer.close()
            openssl.kill()

    return handler


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

    with temporary_folder() as folder:
        make_all(folder)
        for name in ("good", "wrong-host", "expired", "not-yet", "self-signed", "unknown-root"):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(pathlib.Path(folder) / f"{name}.pem", pathlib.Path(folder) / f"{name}.key")
            await serve(name, answer, context)
            if name == "good":
                await serve("echo", echo, context)
                await serve("claim", claim, context)
                await serve("surplus", surplus, context)
                await serve("bulk", bulk, context)
                await serve("records", records, context)
                await serve("ending", ending, context)
                await serve("hints", hints, context)
                old = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                old.load_cert_chain(pathlib.Path(folder) / "good.pem", pathlib.Path(folder) / "good.key")
                old.maximum_version = ssl.TLSVersion.TLSv1_2
                await serve("surplus-1.2", surplus, old)
                await serve("ending-1.2", ending, old)
        await serve("plain", refuse)
        await serve("cut", cut)
        await serve("reset", reset)
        await serve("renegotiating", renegotiating(folder))
        await serve("restarting", forwarding(ports["echo"]))
        await serve("silent", silent)
        # Current clients do not accept these.
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        old.load_cert_chain(pathlib.Path(folder) / "good.pem", pathlib.Path(folder) / "good.key")
        old.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1
        await serve("old", answer, old)
        ports["old-with-alert"] = saying_why(old)
        recent = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        recent.load_cert_chain(pathlib.Path(folder) / "good.pem", pathlib.Path(folder) / "good.key")
        recent.maximum_version = ssl.TLSVersion.TLSv1_2
        ports["1.2-with-alert"] = saying_why(recent)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pathlib.Path(folder) / "good.pem", pathlib.Path(folder) / "good.key")
        context.load_verify_locations(pathlib.Path(folder) / "ca.pem")
        context.verify_mode = ssl.CERT_REQUIRED
        # In TLS 1.3 the client learns of its rejection only after the handshake.
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        await serve("client-required", answer, context)
        ports["client-required-1.2"] = refusing(context)
        for protocol in ("http/1.1", "h2"):
            recent = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            recent.load_cert_chain(pathlib.Path(folder) / "good.pem", pathlib.Path(folder) / "good.key")
            recent.load_verify_locations(pathlib.Path(folder) / "ca.pem")
            recent.verify_mode = ssl.CERT_REQUIRED
            recent.minimum_version = ssl.TLSVersion.TLSv1_3
            recent.set_alpn_protocols([protocol])
            ports[f"client-required-1.3-{protocol}"] = refusing(recent)
            ports[f"client-required-reset-{protocol}"] = refusing(recent, resets=True)
        await serve("client-name", client, context)
        optional = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        optional.load_cert_chain(pathlib.Path(folder) / "good.pem", pathlib.Path(folder) / "good.key")
        optional.load_verify_locations(pathlib.Path(folder) / "ca.pem")
        optional.verify_mode = ssl.CERT_OPTIONAL
        await serve("client-optional", client, optional)
        print(json.dumps({"ports": ports, "folder": folder}), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, listen, asyncio.get_running_loop())
    os._exit(0)


asyncio.run(main())

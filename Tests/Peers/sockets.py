#!/usr/bin/env python3
"""WebSocket servers of two libraries, `websockets` and `aiohttp`, over TCP and TLS. Prints {"ports": {"name": port, ...},
"folder": …} and exits when its standard input is closed.

NAME and NAME-tls, with the subprotocol v1 and with compression where the client offers it, have these paths:
  /        echoes every message
  /both    sends 10,000 messages while receiving as many, then the count
  /kill    aborts the connection after a message
  /deaf    reads nothing and therefore answers no ping
  /close   closes with 4321 and "enough"
  /CODE    refuses the handshake with that status
  plain is `websockets` without compression; mute(-tls) never responds, garbage(-tls) responds with non-HTTP data.
"""

import asyncio
import json
import os
import pathlib
import ssl
import sys

import aiohttp
import websockets
from aiohttp import web
from certificates import make_all
from folder import temporary_folder
from websockets.asyncio.server import serve as serve_websockets

MESSAGES = 10_000


async def both(send, messages):
    """`messages` is an asynchronous iterator."""

    async def count():
        number = 0
        async for message in messages:
            assert message == f"up {number}", message
            number += 1
            if number == MESSAGES:
                return number

    counting = asyncio.ensure_future(count())
    for number in range(MESSAGES):
        await send(f"down {number}")
    await send(str(await counting))


def refuse(connection, request):
    if request.path[1:].isdigit():
        response = connection.respond(int(request.path[1:]), "no\n")
        response.headers["Location"] = "/"
        return response


async def serve_one(socket):
    path = socket.request.path
    try:
        if path == "/both":
            await both(socket.send, socket)
        elif path == "/kill":
            await socket.recv()
            socket.transport.abort()
        elif path == "/deaf":
            socket.transport.pause_reading()
            await socket.wait_closed()
        elif path == "/close":
            return await socket.close(4321, "enough")
        else:
            async for message in socket:
                await socket.send(message)
        await socket.wait_closed()
    except websockets.ConnectionClosed:
        pass


async def answer(request):
    path = request.path
    if path[1:].isdigit():
        return web.Response(status=int(path[1:]), headers={"Location": "/"})
    socket = web.WebSocketResponse(protocols=("v1",), max_msg_size=0, timeout=1)
    await socket.prepare(request)

    async def messages():
        async for message in socket:
            yield message.data

    if path == "/both":
        await both(socket.send_str, messages())
        async for _ in socket:
            pass
    elif path == "/kill":
        await socket.receive()
        request.transport.abort()
    elif path == "/deaf":
        request.transport.pause_reading()
        await asyncio.Event().wait()
    elif path == "/close":
        await socket.close(code=4321, message=b"enough")
    else:
        async for message in socket:
            if message.type == aiohttp.WSMsgType.TEXT:
                await socket.send_str(message.data)
            elif message.type == aiohttp.WSMsgType.BINARY:
                await socket.send_bytes(message.data)
    return socket


async def mute(reader, writer):
    await reader.read()
    writer.close()


async def garbage(reader, writer):
    await reader.read(1)
    writer.write(bytes(range(256)))
    await writer.drain()
    writer.close()


async def main():
    ports, kept = {}, []

    def add(name, server):
        kept.append(server)
        ports[name] = server.sockets[0].getsockname()[1]

    with temporary_folder() as folder:
        make_all(folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pathlib.Path(folder) / "good.pem", pathlib.Path(folder) / "good.key")
        options = {"max_size": None, "subprotocols": ["v1"], "process_request": refuse, "open_timeout": None, "close_timeout": 20}
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", answer)
        runner = web.AppRunner(application, shutdown_timeout=0)
        await runner.setup()
        for suffix, tls in ("", None), ("-tls", context):
            add("websockets" + suffix, await serve_websockets(serve_one, "127.0.0.1", 0, ssl=tls, **options))
            site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
            await site.start()
            add("aiohttp" + suffix, site._server)
            add("mute" + suffix, await asyncio.start_server(mute, "127.0.0.1", 0, ssl=tls))
            add("garbage" + suffix, await asyncio.start_server(garbage, "127.0.0.1", 0, ssl=tls))
        add("plain", await serve_websockets(serve_one, "127.0.0.1", 0, compression=None, **options))
        print(json.dumps({"ports": ports, "folder": folder}), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    # Exits without waiting for the connections of /deaf.
    os._exit(0)


asyncio.run(main())

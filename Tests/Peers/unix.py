#!/usr/bin/env python3
"""aiohttp's server on Unix domain sockets. Prints {"ports": {}, "folder": …} and exits when its standard input is closed.

In the folder, `server.sock` speaks HTTP, `tls.sock` HTTP over TLS, and `dead.sock` is a socket that nobody listens to. The
abstract socket has the folder's path as its name.
  /echo      the body that was sent
  /seen      the request's method, Host, and Authorization
  /redirect  to http://elsewhere.invalid/seen
  /socket    a WebSocket that echoes
"""

import asyncio
import json
import os
import pathlib
import socket
import ssl
import sys

from aiohttp import web
from certificates import make_all
from folder import temporary_folder


async def echo(request):
    return web.Response(body=await request.read())


async def seen(request):
    return web.json_response([request.method, request.host, request.headers.get("Authorization", "")])


async def redirect(request):
    raise web.HTTPTemporaryRedirect("http://elsewhere.invalid/seen")


async def echo_messages(request):
    messages = web.WebSocketResponse()
    await messages.prepare(request)
    async for message in messages:
        await messages.send_str(message.data)
    return messages


async def main(folder):
    app = web.Application(client_max_size=1 << 30)
    app.router.add_route("*", "/echo", echo)
    app.router.add_route("*", "/seen", seen)
    app.router.add_get("/redirect", redirect)
    app.router.add_get("/socket", echo_messages)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    make_all(folder)
    secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secure.load_cert_chain(f"{folder}/good.pem", f"{folder}/good.key")
    for path, context in [(f"{folder}/server.sock", None), (f"{folder}/tls.sock", secure), (f"\0{folder}", None)]:
        await web.UnixSite(runner, path, ssl_context=context).start()
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(f"{folder}/dead.sock")
    dead.close()
    print(json.dumps({"ports": {}, "folder": folder}), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await runner.cleanup()


with temporary_folder() as path:
    os.chmod(path, 0o755)
    asyncio.run(main(str(pathlib.Path(path))))

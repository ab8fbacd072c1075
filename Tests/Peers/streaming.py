#!/usr/bin/env python3
"""Streams from third-party servers: aiohttp in this process, Hypercorn with sse-starlette (streaming_app.py) in others. Prints
{"ports": {"name": port, ...}, "folder": …} and exits when its standard input is closed. `POST /restart` to aiohttp kills the
plain Hypercorn and starts another one on its port.
"""

import asyncio
import json
import os
import pathlib
import sys

from aiohttp import web

from certificates import make_all
from folder import temporary_folder
from ports import free_port

RECORDS = [{"id": number, "name": name} for number, name in enumerate(["teapot", "чайник", "急須", "🫖", "a\u2028b\x85c"])]
LINES = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in RECORDS).encode()


async def started(response, request):
    response.enable_chunked_encoding()
    await response.prepare(request)
    return response


async def dribble(request):
    """Sends each byte as its own chunk, in its own write."""
    response = await started(web.StreamResponse(), request)
    for byte in LINES:
        await response.write(bytes([byte]))
        await asyncio.sleep(0)
    await response.write_eof()
    return response


async def abrupt(request):
    """Ends the connection in the middle of the last record."""
    response = await started(web.StreamResponse(), request)
    await response.write(LINES[:-10])
    if request.query["how"] == "reset":
        await held.wait()
        request.transport.abort()
    else:
        request.transport.close()
    return response


async def release(request):
    held.set()
    held.clear()
    return web.Response()


held = asyncio.Event()


async def main():
    with temporary_folder() as folder:
        make_all(folder)
        app = pathlib.Path(__file__).with_name("streaming_app.py")
        ports = {"hypercorn": free_port(), "hypercorn-tls": free_port()}
        children = {}

        async def start(name, *certificate):
            children[name] = await asyncio.create_subprocess_exec(
                sys.executable, "-B", str(app), str(ports[name]), *certificate, stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL)

        async def answering(name):
            for _ in range(400):
                try:
                    (await asyncio.open_connection("127.0.0.1", ports[name]))[1].close()
                    return
                except OSError:
                    await asyncio.sleep(0.05)

        async def restart(request):
            children["hypercorn"].kill()
            await children["hypercorn"].wait()
            await start("hypercorn")
            return web.Response()

        application = web.Application()
        application.add_routes([
            web.get("/dribble", dribble), web.get("/abrupt", abrupt), web.get("/release", release),
            web.post("/restart", restart)])
        runner = web.AppRunner(application)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        ports["aiohttp"] = site._server.sockets[0].getsockname()[1]
        await start("hypercorn")
        await start("hypercorn-tls", f"{folder}/good.pem", f"{folder}/good.key")
        try:
            await answering("hypercorn")
            await answering("hypercorn-tls")
            print(json.dumps({"ports": ports, "folder": folder}), flush=True)
            await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        finally:
            for child in children.values():
                child.kill()
                await child.wait()
    os._exit(0)


asyncio.run(main())

#!/usr/bin/env python3
"""The resources of http2.py under Hypercorn: http2_app.py PORT FOLDER. It also sends a body back while it arrives."""

import asyncio
import pathlib
import sys

from hypercorn.asyncio import serve
from hypercorn.config import Config

PORT, FOLDER = int(sys.argv[1]), pathlib.Path(sys.argv[2])


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    file = FOLDER / scope["path"].lstrip("/")
    if scope["method"] == "POST":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x-protocol", scope["http_version"].encode())]})
        more = True
        while more:
            message = await receive()
            more = message.get("more_body", False) and message["type"] == "http.request"
            await send({"type": "http.response.body", "body": message.get("body", b""), "more_body": more})
    elif file.is_file():
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        with file.open("rb") as opened:
            while block := opened.read(1 << 16):
                await send({"type": "http.response.body", "body": block, "more_body": True})
        await send({"type": "http.response.body"})
    else:
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body"})


config = Config()
config.bind = [f"127.0.0.1:{PORT}"]
config.certfile, config.keyfile = str(FOLDER / "good.pem"), str(FOLDER / "good.key")
config.errorlog = None
# A connection that waits for a busy machine is not one that nobody uses.
config.keep_alive_timeout = 600
asyncio.run(serve(app, config))

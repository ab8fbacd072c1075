#!/usr/bin/env python3
"""Streams by Starlette and sse-starlette under Hypercorn: streaming_app.py PORT [CERTIFICATE KEY]. With a certificate it also
supports HTTP/2.

Streams take `?run=NAME`: record N + 1 is sent after `POST /ack/NAME/N`, so that a client waiting for it has already received N.
"""

import asyncio
import collections
import json
import sys
import zlib

from hypercorn.asyncio import serve
from hypercorn.config import Config
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

acknowledged = collections.defaultdict(lambda: -1)
changed = asyncio.Condition()


async def ack(request):
    async with changed:
        acknowledged[request.path_params["run"]] = request.path_params["number"]
        changed.notify_all()
    return Response(status_code=204)


async def records(request):
    run, count = request.query_params["run"], int(request.query_params["count"])
    for number in range(count):
        async with changed:
            await changed.wait_for(lambda: acknowledged[run] >= number - 1)
        yield (json.dumps({"id": number, "name": "чай 🫖"}, ensure_ascii=False) + "\n").encode()


async def ndjson(request):
    return StreamingResponse(records(request), media_type="application/x-ndjson")


async def compressed(request):
    """Sends compressed records, with a flush after each. `cut` omits the end of the compressed stream."""
    async def body():
        coder = zlib.compressobj(wbits=31)
        async for record in records(request):
            yield coder.compress(record) + coder.flush(zlib.Z_SYNC_FLUSH)
        if "cut" not in request.query_params:
            yield coder.flush()
    return StreamingResponse(body(), headers={"Content-Encoding": "gzip"}, media_type="application/x-ndjson")


async def events(request):
    """Sends events from the one after Last-Event-ID; the seventh of a connection is sent after two pings."""
    begin = int(request.headers.get("last-event-id", "-1")) + 1
    pings, pinged = 0, asyncio.Event()

    def ping():
        nonlocal pings
        pings += 1
        if pings == 2:
            pinged.set()
        return ServerSentEvent(comment="still here")

    async def body():
        for number in range(begin, begin + 1000):
            if number - begin == 6:
                await pinged.wait()
            yield ServerSentEvent(f"line {number}\nanother", event="tick", id=str(number), retry=20)
            await asyncio.sleep(0.005)
    return EventSourceResponse(body(), ping=0.05, ping_message_factory=ping)


async def finished(request):
    return JSONResponse({})


async def main():
    config = Config()
    config.bind = [f"127.0.0.1:{sys.argv[1]}"]
    config.loglevel = "CRITICAL"
    config.keep_alive_timeout = 600
    if len(sys.argv) > 2:
        config.certfile, config.keyfile = sys.argv[2:]
        config.alpn_protocols = ["h2", "http/1.1"]
    app = Starlette(routes=[
        Route("/ack/{run}/{number:int}", ack, methods=["POST"]),
        Route("/ndjson", ndjson), Route("/gzip", compressed), Route("/events", events), Route("/", finished)])
    await serve(app, config, shutdown_trigger=asyncio.Future)


asyncio.run(main())

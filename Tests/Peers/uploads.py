#!/usr/bin/env python3
"""A tus server (tuspyserver), and a proxy before it that closes each connection after so many bytes of the client's.

Prints {"ports": …, "folder": …}; the folder has the files under the names of their uploads. Exits when its standard input is
closed.
"""

import asyncio
import json
import logging
import os
import sys

import uvicorn
from fastapi import FastAPI, Header, HTTPException
from tuspyserver import create_tus_router

from folder import temporary_folder
from ports import free_port

PATIENCE = 700_000


def authorized(authorization: str = Header(None)):
    if authorization != "Bearer token":
        raise HTTPException(status_code=401)


async def pump(reader, writer, limit=None):
    """Passes bytes on until the end, or until there are more than the limit."""
    try:
        while block := await reader.read(65_536):
            if limit is not None:
                block, limit = block[:limit], limit - len(block)
            writer.write(block)
            await writer.drain()
            if limit is not None and limit <= 0:
                return
    except OSError:
        pass


def cutting(port):
    async def serve(reader, writer):
        try:
            upstream, server = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.close()
            return
        answers = asyncio.create_task(pump(upstream, writer))
        requests = asyncio.create_task(pump(reader, server, PATIENCE))
        await asyncio.wait({answers, requests}, return_when=asyncio.FIRST_COMPLETED)
        for task in answers, requests:
            task.cancel()
        server.close()
        writer.close()
    return serve


async def main():
    logging.disable(logging.CRITICAL)
    with temporary_folder() as folder:
        application = FastAPI()
        application.include_router(create_tus_router(prefix="files", files_dir=folder))
        application.include_router(create_tus_router(prefix="secured", files_dir=folder, auth=authorized))
        port = free_port()
        server = uvicorn.Server(uvicorn.Config(application, host="127.0.0.1", port=port, log_level="critical"))
        task = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.05)
        proxy = await asyncio.start_server(cutting(port), "127.0.0.1", 0)
        ports = {"tus": port, "cutting": proxy.sockets[0].getsockname()[1]}
        print(json.dumps({"ports": ports, "folder": folder}), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        task.cancel()
    os._exit(0)


asyncio.run(main())

#!/usr/bin/env python3
"""Runs Python's `websockets` under the same loads as `SocketLoad`: socket_client.py SCENARIO URL WIDTH SECONDS [CA.pem]"""

import asyncio
import json
import os
import resource
import ssl
import sys
import time

from websockets.asyncio.client import connect

TEXT = "t" * 32


async def main():
    _, scenario, url, width, seconds, *authorities = sys.argv
    context = ssl.create_default_context(cafile=authorities[0]) if authorities else None
    sockets = [await connect(url, ssl=context, compression=None, max_size=None, proxy=None) for _ in range(int(width))]

    async def run(seconds):
        end = time.monotonic() + seconds

        async def one(socket):
            units = 0
            while time.monotonic() < end:
                if scenario == "receive":
                    units += len(await socket.recv())
                else:
                    await socket.send(TEXT)
                    assert await socket.recv() == TEXT
                    units += 1
            return units

        return sum(await asyncio.gather(*map(one, sockets)))

    await run(float(seconds) / 4)
    start, before = time.monotonic(), time.process_time()
    units = await run(float(seconds))
    print(json.dumps({
        "perSecond": units / (time.monotonic() - start), "cpuMicroseconds": (time.process_time() - before) * 1e6 / units,
        "peakMegabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}), flush=True)
    import os

    os._exit(0)


asyncio.run(main())

#!/usr/bin/env python3
"""aiohttp's server, and one that looks up names over HTTPS (RFC 8484). Prints {"ports": {"http": …, "https": …, "dns": …},
"folder": …} and exits when its standard input is closed. The server on `https` has a certificate for elsewhere.invalid.

  /seen            the request's Host and the address that it came from
  /socket          a WebSocket that echoes
  /dns-query/TEST  knows elsewhere.invalid alone
Each line of the standard input is a TEST, and is replied to with the names that it has asked for since the last time.
"""

import asyncio
import collections
import json
import os
import ssl
import sys

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset
from aiohttp import web
from certificates import make_all
from folder import temporary_folder

asked = collections.defaultdict(set)


async def look_up(request):
    query = dns.message.from_wire(await request.read())
    question = query.question[0]
    name = question.name.to_text(omit_final_dot=True)
    asked[request.match_info["test"]].add(name)
    response = dns.message.make_response(query)
    response.flags |= dns.flags.RA
    if name != "elsewhere.invalid":
        response.set_rcode(dns.rcode.NXDOMAIN)
    elif question.rdtype == dns.rdatatype.A:
        response.answer.append(dns.rrset.from_text(question.name, 60, "IN", "A", "127.0.0.1"))
    return web.Response(body=response.to_wire(), content_type="application/dns-message")


async def seen(request):
    return web.json_response([request.host, request.remote])


async def echo_messages(request):
    messages = web.WebSocketResponse()
    await messages.prepare(request)
    async for message in messages:
        await messages.send_str(message.data)
    return messages


def secured(folder, name):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{folder}/{name}.pem", f"{folder}/{name}.key")
    return context


async def main(folder):
    app = web.Application()
    app.router.add_get("/seen", seen)
    app.router.add_get("/socket", echo_messages)
    app.router.add_post("/dns-query/{test}", look_up)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    make_all(folder)
    ports = {}
    for name, context in [
        ("http", None),
        ("https", secured(folder, "wrong-host")),
        ("dns", secured(folder, "good")),
    ]:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        ports[name] = site._server.sockets[0].getsockname()[1]
    print(json.dumps({"ports": ports, "folder": folder}), flush=True)
    while line := await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline):
        print(" ".join(sorted(asked.pop(line.strip(), ()))), flush=True)
    await runner.cleanup()


with temporary_folder() as path:
    os.chmod(path, 0o755)
    asyncio.run(main(path))

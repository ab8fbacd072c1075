#!/usr/bin/env python3
"""One GraphQL schema served by two third-party libraries: Strawberry under aiohttp, Ariadne under Hypercorn. Both support
GraphQL over HTTP, `graphql-transport-ws` and `graphql-sse`. Prints {"ports": {"name": port, ...}, "folder": …} and exits when
its standard input is closed.

`/graphql` is open to everyone, `/secured` requires `Authorization: Bearer new`. A connection whose `connection_init` has the
token `bad` is refused.

`numbers(run, to)` sends the number N + 1 after `ack(run, N)` has been called, so that a client waiting for it has already
received N; `ended(run)` responds when that subscription has ended.
"""

import asyncio
import collections
import json
import logging
import os
import sys
import typing

import ariadne
import ariadne.asgi
import strawberry
from aiohttp import web
from ariadne.asgi.handlers import GraphQLHTTPHandler, GraphQLTransportWSHandler
from ariadne.contrib.sse import SSESubscriptionHandler
from ariadne.exceptions import WebSocketConnectionError
from graphql import GraphQLError
from hypercorn.asyncio import serve
from hypercorn.config import Config
from starlette.responses import Response
from strawberry.aiohttp.views import GraphQLView
from strawberry.exceptions import ConnectionRejectionError
from strawberry.subscriptions import GRAPHQL_SSE_PROTOCOL, GRAPHQL_TRANSPORT_WS_PROTOCOL

from folder import temporary_folder
from ports import free_port

BOOKS = [("1", "Начало"), ("2", "終わり"), ("3", "Lost")]


def author(number):
    if number == "3":
        raise GraphQLError("Nobody knows", extensions={"code": "UNKNOWN", "book": {"id": 3, "old": True}})
    return f"Author {number}"


class Runs:
    """The state of the subscriptions, by the names that the client gives them."""

    def __init__(self):
        self.acknowledged = collections.defaultdict(lambda: -1)
        self.ended = set()
        self.changed = asyncio.Condition()

    async def acknowledge(self, run, number):
        async with self.changed:
            self.acknowledged[run] = number
            self.changed.notify_all()
        return number

    async def numbers(self, run, to):
        try:
            for number in range(to):
                async with self.changed:
                    await self.changed.wait_for(lambda: self.acknowledged[run] >= number - 1)
                yield number
        finally:
            # No `await` here: in a cancelled task it would not complete.
            self.ended.add(run)
            asyncio.get_running_loop().create_task(self.tell())

    async def tell(self):
        async with self.changed:
            self.changed.notify_all()

    async def wait_for_end(self, run):
        async with self.changed:
            await self.changed.wait_for(lambda: run in self.ended)
        return True


# Strawberry, under aiohttp.

strawberry_runs = Runs()


@strawberry.type
class Book:
    id: strawberry.ID
    title: str

    @strawberry.field
    def author(self) -> str | None:
        return author(self.id)


@strawberry.input
class Filter:
    words: list[str]
    limit: int | None = None


@strawberry.type
class Query:
    @strawberry.field
    def books(self, filter: Filter | None = None) -> list[Book]:
        words = filter.words if filter else None
        return [Book(id=number, title=title) for number, title in BOOKS if words is None or title in words]

    @strawberry.field
    async def ended(self, run: str) -> bool:
        return await strawberry_runs.wait_for_end(run)


@strawberry.type
class Mutation:
    @strawberry.mutation
    def add(self, title: str) -> Book:
        if not title:
            raise GraphQLError("A book has a title")
        return Book(id=strawberry.ID("9"), title=title)

    @strawberry.mutation
    async def ack(self, run: str, number: int) -> int:
        return await strawberry_runs.acknowledge(run, number)


@strawberry.type
class Subscription:
    @strawberry.subscription
    async def numbers(self, run: str, to: int) -> typing.AsyncGenerator[int, None]:
        async for number in strawberry_runs.numbers(run, to):
            yield number

    @strawberry.subscription
    async def breaking(self) -> typing.AsyncGenerator[int, None]:
        yield 0
        raise GraphQLError("It broke", extensions={"code": "BROKEN"})


class View(GraphQLView):
    async def on_ws_connect(self, context):
        parameters = context.get("connection_params") or {}
        if parameters.get("token") == "bad":
            raise ConnectionRejectionError({"reason": "bad"})
        return await super().on_ws_connect(context)


async def strawberry_server():
    view = View(
        schema=strawberry.Schema(Query, Mutation, Subscription), graphql_ide=None,
        subscription_protocols=[GRAPHQL_TRANSPORT_WS_PROTOCOL, GRAPHQL_SSE_PROTOCOL])

    async def secured(request):
        if request.headers.get("authorization") != "Bearer new":
            return web.Response(status=401)
        return await view(request)

    application = web.Application()
    application.add_routes([web.route("*", "/graphql", view), web.route("*", "/secured", secured)])
    # Otherwise a handler learns of the end of its connection when it writes: every 15 seconds.
    runner = web.AppRunner(application, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    return site._server.sockets[0].getsockname()[1]


# Ariadne, under Hypercorn.

DEFINITIONS = """
type Book { id: ID! title: String! author: String }
input Filter { words: [String!]! limit: Int }
type Query { books(filter: Filter): [Book!]! ended(run: String!): Boolean! }
type Mutation { add(title: String!): Book! ack(run: String!, number: Int!): Int! }
type Subscription { numbers(run: String!, to: Int!): Int! breaking: Int! }
"""


def ariadne_schema():
    runs = Runs()
    query, mutation = ariadne.QueryType(), ariadne.MutationType()
    subscription, book = ariadne.SubscriptionType(), ariadne.ObjectType("Book")

    @query.field("books")
    def books(_, info, filter=None):
        words = filter["words"] if filter else None
        return [{"id": number, "title": title} for number, title in BOOKS if words is None or title in words]

    @query.field("ended")
    async def ended(_, info, run):
        return await runs.wait_for_end(run)

    @book.field("author")
    def author_of(book, info):
        return author(book["id"])

    @mutation.field("add")
    def add(_, info, title):
        if not title:
            raise GraphQLError("A book has a title")
        return {"id": "9", "title": title}

    @mutation.field("ack")
    async def ack(_, info, run, number):
        return await runs.acknowledge(run, number)

    @subscription.source("numbers")
    async def numbers(_, info, run, to):
        async for number in runs.numbers(run, to):
            yield number

    @subscription.source("breaking")
    async def breaking(_, info):
        yield 0
        raise GraphQLError("It broke", extensions={"code": "BROKEN"})

    @subscription.field("numbers")
    @subscription.field("breaking")
    def same(value, info, **arguments):
        return value

    return ariadne.make_executable_schema(DEFINITIONS, query, mutation, subscription, book)


def on_connect(websocket, parameters):
    if isinstance(parameters, dict) and parameters.get("token") == "bad":
        raise WebSocketConnectionError({"reason": "bad"})


async def ariadne_server():
    handler = ariadne.asgi.GraphQL(
        ariadne_schema(), execute_get_queries=True,
        http_handler=GraphQLHTTPHandler(subscription_handlers=[SSESubscriptionHandler()]),
        websocket_handler=GraphQLTransportWSHandler(on_connect=on_connect))

    async def application(scope, receive, send):
        if scope["type"] == "lifespan":
            return
        headers = dict(scope["headers"])
        if scope["path"] != "/secured" or headers.get(b"authorization") == b"Bearer new":
            return await handler(scope, receive, send)
        if scope["type"] == "http":
            return await Response(status_code=401)(scope, receive, send)
        await receive()
        await send({"type": "websocket.http.response.start", "status": 401, "headers": []})
        await send({"type": "websocket.http.response.body", "body": b"", "more_body": False})

    port = free_port()
    config = Config()
    config.bind = [f"127.0.0.1:{port}"]
    config.loglevel = "CRITICAL"
    # Five seconds by default: a busy machine may need as long until it sends the next POST, which is not repeated.
    config.keep_alive_timeout = 600
    task = asyncio.get_running_loop().create_task(serve(application, config, shutdown_trigger=asyncio.Future))
    while True:
        try:
            (await asyncio.open_connection("127.0.0.1", port))[1].close()
            return port, task
        except OSError:
            await asyncio.sleep(0.05)


async def main():
    # Both log every error of a resolver.
    logging.disable(logging.CRITICAL)
    with temporary_folder() as folder:
        ariadne_port, task = await ariadne_server()
        ports = {"strawberry": await strawberry_server(), "ariadne": ariadne_port}
        print(json.dumps({"ports": ports, "folder": folder}), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    os._exit(0)


asyncio.run(main())

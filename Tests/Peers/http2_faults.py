#!/usr/bin/env python3
"""An HTTP/2 server that misbehaves as the request's path selects. Prints {"ports": {"faulty": port, …}, "folder": …} and exits
when its standard input is closed. Requires the package `h2`.

Each request has a field `X-Test`: what it leaves behind is for requests with the same value.
"""

import asyncio
import collections
import contextlib
import json
import os
import pathlib
import re
import socket
import ssl
import sys
import threading

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings

from certificates import make_all
from folder import temporary_folder

Codes = h2.errors.ErrorCodes
PART = b"a" * 1000
SPOILED = [
    "reset-mid", "cancel-mid", "reset-mid-length", "no-error-mid", "short", "cut", "abort", "garbage", "goaway-cut"]


# Heads that RFC 9113 §8.1.1 calls malformed.
MALFORMED = {
    "no-status": [("a", "b")], "bad-status": [(":status", "abc")], "status-last": [("a", "b"), (":status", "200")],
    "two-status": [(":status", "200"), (":status", "200")], "pseudo": [(":status", "200"), (":path", "/")],
    "upper-case": [(":status", "200"), ("X-A", "b")], "connection": [(":status", "200"), ("connection", "close")],
    "line-feed": [(":status", "200"), ("x-a", "b\nc: d")], "length": [(":status", "200"), ("content-length", "5")],
    "bad-length": [(":status", "200"), ("content-length", "x")],
}

# Frames that bring nothing. Those after HEADERS without END_HEADERS continue the head without a field.
FLOODS = {
    "settings": (4, 0, 0, b""), "ping": (6, 0, 0, bytes(8)), "priority": (2, 0, 1, bytes(5)), "data": (0, 0, 1, b""),
    "window": (8, 0, 0, bytes([0, 0, 0, 1])), "unknown": (200, 0, 0, b""), "continuation": (9, 0, 1, b""),
}


class Test:
    """What the requests of one test leave behind."""

    def __init__(self):
        # The number of requests for each path, and of those whose body was complete.
        self.requests, self.complete = collections.Counter(), collections.Counter()
        # The number of bytes of the bodies that have arrived, for each path.
        self.received = collections.Counter()
        # The number of bytes of endless bodies that were sent.
        self.pumped = collections.Counter()
        # The endings of incomplete responses, which /release sends.
        self.held = []
        # The connections that a request for /name/… has named, and the largest number of their streams at once since then.
        self.named, self.peaks = {}, collections.Counter()


tests = collections.defaultdict(Test)


def frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


class Faulty(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.plain = transport, None
        if transport.get_extra_info("ssl_object").selected_alpn_protocol() != "h2":
            self.plain = b""
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(
            client_side=False, header_encoding="utf-8", validate_outbound_headers=False, normalize_outbound_headers=False))
        self.paths, self.sizes, self.is_stale, self.refused = {}, collections.Counter(), False, set()
        self.is_frozen, self.endless, self.pings, self.turns, self.trailers = False, [], 0, 0, {}
        if self.plain is None:
            self.h2.initiate_connection()
            self.flush()

    def flush(self):
        self.transport.write(self.h2.data_to_send())

    def data_received(self, data):
        if self.plain is not None:
            return self.plain_received(data)
        if self.is_frozen:
            return
        try:
            events = self.h2.receive_data(data)
            # Before anything else is sent: for `h2` they are closed already.
            reset = {event.stream_id for event in events if isinstance(event, h2.events.StreamReset)}
            self.endless = [stream for stream in self.endless if stream not in reset]
            for event in events:
                self.received(event)
        except h2.exceptions.ProtocolError:
            pass
        self.flush()

    def plain_received(self, data):
        """Responds to the head of a request for /early over HTTP/1.1, and reads on. For /stall, only reads. Responds to
        requests for /only-1.1 with their size and number."""
        if (self.plain + data).partition(b" ")[2].startswith(b"/only-1.1"):
            self.plain += data
            head, end, body = self.plain.partition(b"\r\n\r\n")
            sizes = [int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
            if end and len(body) >= sum(sizes):
                self.plain, path = b"", self.plain_head(head)
                self.test.requests[path] += 1
                reply = json.dumps({"size": len(body), "requests": self.test.requests[path]}).encode()
                self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(reply) + reply)
            return
        if b"\r\n\r\n" in self.plain:
            return
        self.plain += data
        if b"\r\n\r\n" in self.plain:
            path = self.plain_head(self.plain)
            self.test.requests[path] += 1
            if path.startswith("/stall"):
                return
            if not path.startswith("/early/"):
                return self.transport.abort()
            status = path.split("/")[2].encode()
            length = b"" if "/unsized/" in path else b"Content-Length: 2\r\n"
            self.transport.write(b"HTTP/1.1 " + status + b" A\r\n" + length + b"Connection: close\r\n\r\nok")
            if not length:
                self.close()

    def plain_head(self, head):
        """Notes whose test a request over HTTP/1.1 is of, and returns its path."""
        self.test = tests[re.search(rb"\r\nx-test: *(\S+)", head, re.IGNORECASE)[1].decode()]
        return head.split(b" ")[1].decode()

    def received(self, event):
        if isinstance(event, h2.events.RequestReceived):
            headers = dict(event.headers)
            path = self.paths[event.stream_id] = headers[":path"]
            # A test shares its connections with no other one.
            self.test = tests[headers["x-test"]]
            self.test.requests[path] += 1
            if self.is_stale:
                return self.transport.abort()
            self.head(path.strip("/").split("/")[0], path, event.stream_id)
        elif isinstance(event, h2.events.DataReceived):
            self.sizes[event.stream_id] += len(event.data)
            self.test.received[self.paths[event.stream_id]] += len(event.data)
            if self.paths[event.stream_id].endswith("/full") and self.sizes[event.stream_id] == 65_535:
                self.reset_after_head(self.paths[event.stream_id], event.stream_id)
            if self.paths[event.stream_id].startswith(("/drip", "/refill")):
                # The same amount again; or a few bytes at a time, however many the client could send.
                count = event.flow_controlled_length
                self.h2.increment_flow_control_window(count)
                self.h2.increment_flow_control_window(7 if self.paths[event.stream_id] == "/drip" else count, event.stream_id)
                return
            # Without an acknowledgement, the window (RFC 9113 §5.2) stops the body.
            if not self.paths[event.stream_id].startswith(("/stall", "/early")):
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, (h2.events.WindowUpdated, h2.events.RemoteSettingsChanged)):
            for stream in self.endless:
                self.pump(stream)
        elif isinstance(event, h2.events.PingReceived):
            self.pings += 1
        elif isinstance(event, h2.events.TrailersReceived):
            self.trailers[event.stream_id] = [list(field) for field in event.headers]
        elif isinstance(event, h2.events.StreamEnded):
            if event.stream_id in self.refused:
                return
            path = self.paths[event.stream_id]
            self.test.complete[path] += 1
            self.whole(path.strip("/").split("/")[0], path, event.stream_id)

    def respond(self, stream, body=b"ok", *fields, end=True, status="200"):
        self.h2.send_headers(stream, [(":status", status), *fields])
        self.h2.send_data(stream, body, end_stream=end)

    def head(self, kind, path, stream):
        """Handles the head of a request, before its body has arrived."""
        for name in [name for name, connection in self.test.named.items() if connection is self]:
            self.test.peaks[name] = max(self.test.peaks[name], self.h2.open_inbound_streams)
        if kind == "drip":
            # The window for a new stream may be 0.
            self.h2.increment_flow_control_window(7, stream)
        if kind == "refuse" or kind == "refuse-once" and self.test.requests[path] == 1:
            self.refused.add(stream)
            self.h2.reset_stream(stream, Codes.REFUSED_STREAM)
        elif kind == "goaway-refuse" and self.test.requests[path] == 1:
            self.refused.add(stream)
            # By hand, because h2 closes the connection with GOAWAY. RFC 9113 §6.8: streams after the last one were not processed.
            self.flush()
            last = max(0, stream - 2)
            self.transport.write(bytes([0, 0, 8, 7, 0, 0, 0, 0, 0]) + last.to_bytes(4, "big") + bytes(4))
        elif kind == "leave" and self.test.requests[path] <= int(path.split("/")[3]):
            # That many requests arrive before the server goes away, or breaks the connection.
            self.refused.add(stream)
            if self.test.requests[path] == int(path.split("/")[3]):
                self.flush()
                if path.split("/")[2] == "abort":
                    self.transport.abort()
                else:
                    self.transport.write(frame(7, 0, 0, max(0, min(self.refused) - 2).to_bytes(4, "big") + bytes(4)))
        elif kind == "turns":
            # A connection takes that many requests.
            self.turns += 1
            if self.turns > int(path.split("/")[2]):
                if not self.refused:
                    self.flush()
                    self.transport.write(frame(7, 0, 0, max(0, stream - 2).to_bytes(4, "big") + bytes(4)))
                self.refused.add(stream)
        elif kind == "expects" and path.split("/")[2] == "continue":
            self.h2.send_headers(stream, [(":status", "100")])
        elif kind == "expects" and path.split("/")[2] == "refuse":
            self.refused.add(stream)
            self.respond(stream, b"", status="413")
        elif kind == "only-1.1":
            how = path.split("/")[2]
            self.refused.add(stream)
            if how == "reset":
                self.h2.reset_stream(stream, Codes.HTTP_1_1_REQUIRED)
            elif how == "goaway":
                self.flush()
                self.transport.write(frame(7, 0, 0, max(0, stream - 2).to_bytes(4, "big") + Codes.HTTP_1_1_REQUIRED.to_bytes(4, "big")))
            else:
                self.respond(stream, b"", status="421")
        elif kind == "reset-head":
            self.h2.reset_stream(stream, Codes.INTERNAL_ERROR)
        elif kind == "early":
            # RFC 9113 §8.1: a complete response before the request is complete, whose rest is no longer needed.
            status = path.split("/")[2]
            if status == "204":
                self.h2.send_headers(stream, [(":status", status)], end_stream=True)
            else:
                self.respond(stream, b"ok", *([] if "/unsized/" in path else [("content-length", "2")]), status=status)
            self.flush()
            if path.endswith("/held"):
                self.test.held.append(lambda: self.spoil("no-error-mid", stream))
            else:
                self.spoil("no-error-mid", stream)

        elif kind == "early-head" and not path.endswith("/full"):
            self.reset_after_head(path, stream)

    def reset_after_head(self, path, stream):
        """Sends the head of a response, and a reset with a code instead of its end. With /full, once the window is used up."""
        _, _, status, code, *_ = path.split("/")
        self.h2.send_headers(stream, [(":status", status)])
        self.flush()

        def reset():
            self.h2.reset_stream(stream, Codes[code])
            self.flush()
        self.test.held.append(reset) if path.endswith("/held") else reset()

    def whole(self, kind, path, stream):
        if kind in ("ok", "refuse-once", "goaway-refuse", "leave", "turns", "expects", "drip", "refill"):
            self.respond(stream, json.dumps({"size": self.sizes[stream]}).encode())
        elif kind == "later":
            def respond():
                # The client may have disconnected.
                with contextlib.suppress(h2.exceptions.ProtocolError):
                    self.respond(stream)
                    self.flush()
            asyncio.get_running_loop().call_later(0.05, respond)
        elif kind == "sent-trailers":
            trailers = self.trailers.get(stream)
            self.respond(stream, json.dumps({"size": self.sizes[stream], "trailers": trailers}).encode())
        elif kind == "counts":
            target = path[len("/counts"):]
            self.respond(stream, json.dumps({"requests": self.test.requests[target], "complete": self.test.complete[target], "received": self.test.received[target]}).encode())
        elif kind == "name":
            self.test.named[path.split("/")[2]] = self
            self.respond(stream)
        elif kind == "set":
            # A setting of another connection, by its number.
            _, _, name, setting, value = path.split("/")
            self.test.named[name].h2.update_settings({int(setting): int(value)})
            self.test.named[name].flush()
            self.respond(stream)
        elif kind == "peak":
            name = path.split("/")[2]
            self.respond(stream, json.dumps({"size": self.test.peaks.pop(name, 0)}).encode())
        elif kind == "hold":
            self.respond(stream, PART, end=False)

            def let_go():
                self.h2.send_data(stream, PART, end_stream=True)
                self.flush()
            self.test.held.append(let_go)
        elif kind == "endless":
            self.respond(stream, b"", end=False)
            self.endless.append(stream)
            self.pump(stream)
        elif kind == "pumped":
            self.respond(stream, json.dumps({"size": self.test.pumped["/" + path.split("/", 2)[2]]}).encode())
        elif kind == "flood":
            how = path.split("/")[2]
            self.flush()
            if how == "continuation":
                self.transport.write(frame(1, 0, stream, b"\x88"))
            elif how == "data":
                self.respond(stream, b"", end=False)
                self.flush()
            frame_kind, flags, number, payload = FLOODS[how]
            asyncio.ensure_future(self.flood(frame(frame_kind, flags, stream if number else 0, payload)))
        elif kind == "pings":
            self.respond(stream, json.dumps({"size": self.pings}).encode())
        elif kind == "pause":
            # What follows is not read, so that the client cannot send all of it.
            self.respond(stream, PART, end=False)
            self.transport.pause_reading()
        elif kind in ("freeze", "last"):
            # The connection is open, and nobody is there any more.
            self.is_frozen = True
            if kind == "last":
                self.respond(stream)
        elif kind == "stale":
            self.is_stale = True
            self.respond(stream)
        elif kind == "release":
            for ending in self.test.held:
                # The client may have disconnected.
                with contextlib.suppress(h2.exceptions.ProtocolError):
                    ending()
            self.test.held.clear()
            self.respond(stream)
        elif kind == "feed":
            self.feed = stream
            self.respond(stream, PART, end=False)
        elif kind == "next":
            # One write that exceeds a TLS record: the part of the feed begins in the next record.
            self.respond(stream, b"b" * 16_350)
            self.h2.send_data(self.feed, PART)
        elif kind in SPOILED:
            fields = [("content-length", "5000")] if kind in ("reset-mid-length", "short") else []
            self.respond(stream, PART, *fields, end=False)
            self.flush()
            if path.endswith("/held"):
                # Waits until the client confirms with a request for /release that the part has arrived.
                self.test.held.append(lambda: self.spoil(kind, stream))
            else:
                self.spoil(kind, stream)
        elif kind == "trailers":
            self.respond(stream, PART, end=False)
            self.h2.send_headers(stream, [("x-trailer", "1"), ("x-sum", "2")], end_stream=True)
        elif kind == "goaway-mid":
            # Without an error: streams in progress are completed.
            self.respond(stream, PART, end=False)
            self.flush()
            # GOAWAY by hand, because h2 closes the connection with it.
            self.transport.write(bytes([0, 0, 8, 7, 0, 0, 0, 0, 0]) + stream.to_bytes(4, "big") + bytes(4))
            self.h2.send_data(stream, PART, end_stream=True)
        elif kind == "goaway-feed":
            # Also without an error; the stream stays open until a request for /release.
            self.respond(stream, PART, end=False)
            self.flush()
            self.transport.write(bytes([0, 0, 8, 7, 0, 0, 0, 0, 0]) + stream.to_bytes(4, "big") + bytes(4))

            def end():
                self.h2.send_data(stream, PART, end_stream=True)
                self.flush()
            self.test.held.append(end)
        elif kind == "large-head":  # And the number of its fields.
            fields = [(f"x-{number}", os.urandom(2000).hex()[:3000]) for number in range(int(path.split("/")[2]))]
            self.respond(stream, b"ok", *fields)
        elif kind == "interim":
            for number in range(100):
                self.h2.send_headers(stream, [(":status", "103"), ("link", f"</{number}>")])
            self.respond(stream)
        elif kind == "malformed":
            self.h2.send_headers(stream, MALFORMED[path.split("/")[2]])
            self.h2.send_data(stream, b"ok", end_stream=True)
        elif kind == "pushes":
            self.h2.clear_outbound_data_buffer()
            # PUSH_PROMISE, although the client has not enabled push.
            self.transport.write(bytes([0, 0, 5, 5, 4]) + stream.to_bytes(4, "big") + (2).to_bytes(4, "big") + b"\x82")


    def spoil(self, kind, stream):
        if kind == "reset-mid":
            self.h2.reset_stream(stream, Codes.INTERNAL_ERROR)
        elif kind == "cancel-mid":
            self.h2.reset_stream(stream, Codes.CANCEL)
        elif kind in ("reset-mid-length", "no-error-mid"):
            self.h2.reset_stream(stream, Codes.NO_ERROR)
        elif kind == "short":
            self.h2.send_data(stream, b"", end_stream=True)
        elif kind == "cut":
            self.close()
        elif kind == "abort":
            self.transport.abort()
        elif kind == "garbage":
            self.transport.write(b"\xff" * 100)
        elif kind == "goaway-cut":
            self.h2.close_connection(Codes.INTERNAL_ERROR, last_stream_id=stream)
            self.flush()
            self.close()
        self.flush()

    def pump(self, stream):
        """Sends as much of an endless body as the client takes."""
        while (count := min(self.h2.local_flow_control_window(stream), 16_384)) > 0:
            self.h2.send_data(stream, bytes(count))
            self.test.pumped[self.paths[stream]] += count

    async def flood(self, frame):
        while not self.transport.is_closing():
            if self.transport.get_write_buffer_size() < 1_000_000:
                self.transport.write(frame * 1_000)
            await asyncio.sleep(0)

    def close(self):
        """Closes the connection; after its close_notify the transport would wait half a minute for the client's."""
        self.transport.close()
        asyncio.get_running_loop().call_later(0.1, self.transport.abort)


class Slow(Faulty):
    """A server with a large flow-control window that reads slowly."""

    def connection_made(self, transport):
        super().connection_made(transport)
        self.h2.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 1 << 24})
        self.h2.increment_flow_control_window(1 << 24)
        self.flush()

    def data_received(self, data):
        super().data_received(data)
        if self.sizes:
            self.transport.pause_reading()
            asyncio.get_running_loop().call_later(0.3, self.transport.resume_reading)


def limited(folder):
    """Allows one stream on each connection, in SETTINGS that come with the end of the handshake. Responds to a request when
    there is one on another connection, too."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pathlib.Path(folder) / "good.pem", pathlib.Path(folder) / "good.key")
    context.set_alpn_protocols(["h2"])
    # Its server is the one that finishes the handshake.
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    listener = socket.create_server(("127.0.0.1", 0))
    both = threading.Barrier(2)

    def serve(connection):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        stream = context.wrap_bio(incoming, outgoing, server_side=True)

        def received(call, *arguments):
            while True:
                try:
                    return call(*arguments)
                except ssl.SSLWantReadError:
                    connection.sendall(outgoing.read())
                    incoming.write(connection.recv(65_536) or b"")
                    if not incoming.pending:
                        raise EOFError from None

        with connection, contextlib.suppress(OSError, EOFError, threading.BrokenBarrierError):
            received(stream.do_handshake)
            stream.write(frame(4, 0, 0, bytes([0, 3, 0, 0, 0, 1])))
            connection.sendall(outgoing.read())
            data = b""
            while len(data) < 24:
                data += received(stream.read, 65_536)
            # After the preface (RFC 9113 §3.4).
            data = data[24:]
            while True:
                while len(data) >= 9 and len(data) >= (end := 9 + int.from_bytes(data[:3], "big")):
                    kind, flags, number = data[3], data[4], int.from_bytes(data[5:9], "big")
                    data = data[end:]
                    if kind == 1:
                        both.wait()
                        stream.write(frame(1, 5, number, b"\x88"))
                    elif kind == 4 and not flags:
                        stream.write(frame(4, 1, 0, b""))
                connection.sendall(outgoing.read())
                if not (piece := received(stream.read, 65_536)):
                    break
                data += piece

    def accept():
        while True:
            threading.Thread(target=serve, args=[listener.accept()[0]], daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


async def main():
    with temporary_folder() as folder:
        make_all(folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pathlib.Path(folder) / "good.pem", pathlib.Path(folder) / "good.key")
        context.set_alpn_protocols(["h2", "http/1.1"])
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Faulty, "127.0.0.1", 0, ssl=context)
        slow = await loop.create_server(Slow, "127.0.0.1", 0, ssl=context)
        slow.sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 256 * 1024)
        ports = {"faulty": server.sockets[0].getsockname()[1], "slow": slow.sockets[0].getsockname()[1],
            "limited": limited(folder)}
        print(json.dumps({"ports": ports, "folder": folder}), flush=True)
        await loop.run_in_executor(None, sys.stdin.read)
    os._exit(0)


asyncio.run(main())

"""Generates HTTP/2 responses with the package `h2`, whose frames are then dropped, repeated, truncated and corrupted."""

import contextlib

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import hpack

from http1 import FIELDS, CODINGS, LENGTHS, body_of, spoil

STATUSES = ["200"] * 12 + ["204", "206", "301", "302", "304", "307", "401", "404", "408", "416", "417", "421", "429", "500", "503",
                           "100", "101", "abc", "", "20", "2000", "-1"]
HEADER = 9
# Huffman coding in Python is slow for long fields, which corrupted frames produce as well.
SHORT = [field for field in FIELDS if len(field) < 200]


def frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + (stream & 0xFFFFFFFF).to_bytes(4, "big") + payload


def split(data):
    """Splits the output of h2 into frames."""
    frames = []
    while len(data) >= HEADER:
        length = HEADER + int.from_bytes(data[:3], "big")
        frames.append(data[:length])
        data = data[length:]
    return frames + ([data] if data else [])


def stray(random, stream):
    """Returns an unexpected frame."""
    number = random.randrange(1 << 32).to_bytes(4, "big")
    return random.choice([
        lambda: frame(0, random.randrange(256), random.choice([0, stream, stream + 2, 2]), bytes(random.randrange(40))),
        lambda: frame(1, random.randrange(256), random.choice([0, stream, stream + 2, 2]), random.choice([b"\x88", b"\x82", b"\xff" * 9, b"\x3f\xe1\xff\xff\x7f", b""])),
        lambda: frame(2, 0, stream, random.randbytes(random.choice([5, 5, 4]))),
        lambda: frame(3, 0, random.choice([0, stream, stream + 2]), random.choice([number, bytes(4), b"\0\0\0\x07", b"\0\0\0\x08", b"\0\0\0\x0d", b""])),
        lambda: frame(4, random.choice([0, 1]), random.choice([0, 0, stream]), random.choice([
            b"", b"\0\1\0\0\0\0", b"\0\3\0\0\0\0", b"\0\3\0\0\0\1", b"\0\4\x7f\xff\xff\xff", b"\0\4\xff\xff\xff\xff", b"\0\4\0\0\0\0",
            b"\0\5\0\0\0\0", b"\0\5\0\xff\xff\xff", b"\0\2\0\0\0\1", b"\0\6\0\0\0\0", b"\0\7\0", b"\0\x99" + number])),
        lambda: frame(5, random.choice([0, 4]), stream, b"\0\0\0\2\x88"),
        lambda: frame(6, random.choice([0, 1]), random.choice([0, stream]), bytes(random.choice([8, 8, 0, 9]))),
        lambda: frame(7, 0, random.choice([0, 0, stream]), random.choice([
            bytes(8), b"\x7f\xff\xff\xff" + bytes(4), (max(0, stream - 2)).to_bytes(4, "big") + bytes(4),
            stream.to_bytes(4, "big") + b"\0\0\0\x0bcalm", number + number, b""])),
        lambda: frame(8, 0, random.choice([0, stream]), random.choice([bytes(4), b"\x7f\xff\xff\xff", b"\0\0\0\1", b"", number])),
        lambda: frame(9, random.choice([0, 4]), stream, b"\x88"),
        lambda: frame(random.randrange(10, 256), random.randrange(256), stream, random.randbytes(random.randrange(30))),
    ])()


def mangle(random, data, stream):
    frames = split(data)
    for _ in range(random.choice([1, 1, 2, 4])):
        if not frames:
            break
        at = random.randrange(len(frames))
        kind = random.randrange(9)
        if kind == 0:
            del frames[at]
        elif kind == 1:
            frames.insert(at, frames[at])
        elif kind == 2:
            frames[at] = frames[at][:random.randrange(len(frames[at]) + 1)]
        elif kind == 3:
            frames[at] = frames[at][:HEADER] + spoil(random, frames[at][HEADER:])
        elif kind == 4:
            frames[at] = spoil(random, frames[at])
        elif kind == 5 and len(frames[at]) >= HEADER:
            changed = bytearray(frames[at])
            changed[random.choice([3, 4, 4, 8])] = random.randrange(256)
            frames[at] = bytes(changed)
        elif kind == 6:
            other = random.randrange(len(frames))
            frames[at], frames[other] = frames[other], frames[at]
        else:
            frames.insert(at, stray(random, stream))
    return b"".join(frames)


def fields_of(random):
    """Returns header fields, some of which HTTP/2 forbids."""
    fields = []
    for field in random.sample(SHORT, random.choice([0, 1, 3, 10])):
        name, _, value = field.partition(b":")
        fields.append((name.lower() if random.random() < 0.9 else name, value.strip()))
    if random.random() < 0.05:
        fields.append(random.choice([(b":status", b"200"), (b":path", b"/"), (b"connection", b"close"), (b"transfer-encoding", b"chunked"),
                                     (b"te", b"trailers"), (b"", b"x"), (b":", b""), (b"x" * 300, b"y" * 9000)]))
    if random.random() < 0.003:
        fields += [(b"x-%d" % number, b"v" * 500) for number in range(random.choice([50, 400]))]
    return fields


class Connection:
    """The protocol of one connection without its transport; `write`, `end` and `respond` are callbacks of the server."""

    def __init__(self, write, end, respond):
        self.write, self.end, self.respond = write, end, respond
        self.is_clean, self.requests = True, {}
        self.h2 = h2.connection.H2Connection(h2.config.H2Configuration(
            client_side=False, header_encoding=None, validate_inbound_headers=False, validate_outbound_headers=False,
            normalize_outbound_headers=False))
        self.h2.initiate_connection()
        self.write(self.h2.data_to_send())

    def received(self, data):
        try:
            events = self.h2.receive_data(data)
        except (h2.exceptions.ProtocolError, ValueError, KeyError, IndexError):
            self.write(self.h2.data_to_send())
            return self.end("close")
        for event in events:
            if isinstance(event, h2.events.RequestReceived):
                self.requests[event.stream_id] = dict(event.headers)
            elif isinstance(event, h2.events.DataReceived):
                with contextlib.suppress(h2.exceptions.ProtocolError):
                    self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded) and event.stream_id in self.requests:
                headers = self.requests.pop(event.stream_id)
                self.respond(headers.get(b":path", b"/"), headers.get(b":method") == b"HEAD", event.stream_id)
        self.write(self.h2.data_to_send())

    def send(self, random, index, stream, head):
        self.write(self.h2.data_to_send())
        is_right = random.random() < 0.3
        # h2 refuses operations that its state forbids after actions of the client or an earlier mutation.
        with contextlib.suppress(h2.exceptions.H2Error, ValueError):
            self.right(index, stream, head) if is_right else self.wrong(random, index, stream)
        data = self.h2.data_to_send()
        if is_right or random.random() < 0.2:
            return self.write(data)
        self.is_clean = False
        data = mangle(random, data, stream)
        if random.random() < 0.15:
            data = data[:random.randrange(len(data) + 1)]
        self.write(data)
        self.end(random.choice(["keep"] * 5 + ["close", "close", "reset"]))

    def right(self, index, stream, head):
        body = body_of(index)
        fields = [(b":status", b"200"), (b"content-length", b"%d" % len(body))]
        if self.is_clean and index:
            # Not in the dynamic table (RFC 7541 §6.2.3), so that a corrupted head cannot refer to it.
            fields.append(hpack.NeverIndexedHeaderTuple(b"x-proof", b"%d" % index))
        self.h2.send_headers(stream, fields, end_stream=head)
        if not head:
            self.data(stream, body)

    def data(self, stream, body, end=True):
        # Data beyond the client's current window is never sent; the client then waits until the connection is closed.
        while body:
            count = min(len(body), self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)
            if count <= 0:
                self.is_clean = False
                return
            self.h2.send_data(stream, body[:count])
            body = body[count:]
        if end:
            self.h2.end_stream(stream)

    def wrong(self, random, index, stream):
        for _ in range(random.choice([0, 0, 0, 1, 5])):
            self.h2.send_headers(stream, [(b":status", random.choice([b"100", b"103", b"199"])), *fields_of(random)])
        body = body_of(index)
        fields = [(b":status", random.choice(STATUSES).encode()), *fields_of(random)]
        if random.random() < 0.5:
            length = b"%d" % (len(body) + random.choice([0, 0, 1, -1])) if random.random() < 0.8 else random.choice(LENGTHS)
            fields.append((b"content-length", length))
        if random.random() < 0.2:
            fields.append((b"content-encoding", random.choice(CODINGS)))
        ending = random.choice(["body", "body", "body", "trailers", "reset", "goaway", "open", "head"])
        self.h2.send_headers(stream, fields, end_stream=ending == "head")
        if ending == "head":
            return
        self.data(stream, body, end=ending == "body")
        if ending == "trailers":
            self.h2.send_headers(stream, fields_of(random) or [(b"x-t", b"1")], end_stream=True)
        elif ending == "reset":
            self.h2.reset_stream(stream, random.choice(list(h2.errors.ErrorCodes)))
        elif ending == "goaway":
            last = random.choice([0, stream, max(0, stream - 2), 2 ** 31 - 1])
            self.h2.close_connection(random.choice(list(h2.errors.ErrorCodes)), last_stream_id=last)

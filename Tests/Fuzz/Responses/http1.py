"""Generates valid and invalid HTTP/1.1 responses: `make(random, index)` returns the data to send, and what to do afterwards."""

import dataclasses
import gzip
import zlib

BLANKS = [b" ", b"\t", b"  ", b" \t "]
LINES = [
    b"HTTP/1.1 200 OK", b"HTTP/1.1 200 OK", b"HTTP/1.1 200 OK", b"HTTP/1.0 200 OK", b"HTTP/1.1 200", b"HTTP/1.1 200 ",
    b"HTTP/1.1 204 No Content", b"HTTP/1.1 205 Reset Content", b"HTTP/1.1 206 Partial Content", b"HTTP/1.1 304 Not Modified",
    b"HTTP/1.1 301 Moved", b"HTTP/1.1 302 Found", b"HTTP/1.1 303 See Other", b"HTTP/1.1 307 Temporary", b"HTTP/1.1 308 Permanent",
    b"HTTP/1.1 400 Bad", b"HTTP/1.1 401 Unauthorized", b"HTTP/1.1 404 Not Found", b"HTTP/1.1 407 Proxy", b"HTTP/1.1 408 Timeout",
    b"HTTP/1.1 413 Too Large", b"HTTP/1.1 416 Range", b"HTTP/1.1 417 Expectation", b"HTTP/1.1 421 Misdirected",
    b"HTTP/1.1 426 Upgrade", b"HTTP/1.1 429 Slow", b"HTTP/1.1 500 Error", b"HTTP/1.1 503 Busy", b"HTTP/1.1 999 What",
    b"HTTP/1.1 101 Switching", b"HTTP/1.1 600 X", b"HTTP/1.1 000 X", b"HTTP/1.1 20 OK", b"HTTP/1.1 abc OK", b"HTTP/1.1 2000 OK",
    b"HTTP/2 200", b"HTTP/2.0 200 OK", b"HTTP/3 200", b"HTTP/0.9 200 OK", b"HTTP/9.9 200 OK", b"HTTP/1.1\t200\tOK", b"HTTP/1.1200 OK",
    b"HTTP/ 200 OK", b"http/1.1 200 OK", b"ICY 200 OK", b"HTTP/1.1  200 OK", b" HTTP/1.1 200 OK", b"HTTP/1.1 200 O\0K",
    b"HTTP/1.1 200 \xff\xfe", b"HTTP/1.1 -200 OK", b"HTTP/1.1 +200 OK", b"RTSP/1.0 200 OK", b"SSH-2.0-x", b"", b"<html>",
]
INTERIM = [b"HTTP/1.1 100 Continue", b"HTTP/1.1 102 Processing", b"HTTP/1.1 103 Early Hints", b"HTTP/1.1 199 X", b"HTTP/1.0 100 C"]
LENGTHS = [
    b"0", b"1", b"-1", b"-0", b"+5", b"5 ", b"0005", b"5, 5", b"5,6", b"5;6", b"0x5", b"1e3", b"", b" ", b"9223372036854775807",
    b"9223372036854775808", b"18446744073709551615", b"18446744073709551616", b"99999999999999999999", b"4294967296", b"a", b"5\0",
    b"2147483648",
]
CHUNK_SIZES = [
    b"0", b"00", b"-1", b"+1", b"zz", b"", b" 5", b"5 ", b"0x5", b"ffffffff", b"7fffffffffffffff", b"8000000000000000",
    b"ffffffffffffffff", b"fffffffffffffffff", b"5;", b"5;a=b", b"5;a=\"\r\n\"", b"5" * 40, b"\0", b"5\n5",
]
FIELDS = [
    b"Location: /next", b"Location: //elsewhere.invalid/", b"Location: http://[", b"Location: ", b"Location: ftp://127.0.0.1/",
    b"Location: ../../..", b"Location: /\xff", b"Location: #a", b"Location: ?q", b"Location: http://127.0.0.1:1/",
    b"WWW-Authenticate: Basic realm=\"a", b"WWW-Authenticate: Digest", b"WWW-Authenticate: Negotiate", b"WWW-Authenticate: NTLM TlRM",
    b"Proxy-Authenticate: Basic", b"Retry-After: 0", b"Retry-After: -5", b"Retry-After: Mon", b"Set-Cookie: a=b",
    b"Set-Cookie: a=b; Domain=.1; Max-Age=99999999999999999999; Path=x", b"Set-Cookie: =", b"Set-Cookie: " + b"c" * 5000,
    b"Set-Cookie: a\0b=c", b"Content-Range: bytes 0-4/5", b"Content-Range: bytes 9-1/0", b"Content-Range: bytes */5",
    b"Content-Range: x", b"Content-Type: application/json", b"Content-Type: text/event-stream", b"Content-Type: \"",
    b"ETag: \"a\"", b"ETag: W/\"a", b"Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT", b"Last-Modified: never", b"Date: x",
    b"Connection: close", b"Connection: keep-alive", b"Connection: Upgrade", b"Connection: ,,close,", b"Keep-Alive: timeout=0, max=0",
    b"Proxy-Connection: close", b"Upgrade: h2c", b"Upgrade: websocket", b"Alt-Svc: h3=\":1\"; ma=9", b"Alt-Svc: clear",
    b"Strict-Transport-Security: max-age=1", b"Trailer: X-T", b"Expires: 0", b"Cache-Control: max-age=-1, no-store", b"Vary: *",
    b"Persistent-Auth: true", b"Link: </a>; rel=preload", b"Content-MD5: x", b"Transfer-Encoding: identity", b"TE: x",
    b": none", b":", b"no colon", b"X-A", b"X A: b", b"X-A : b", b"X-A:", b"X-A:b", b"X-\xe9: b", b"X-A: \xe9\xff", b"X-A: \0",
    b"\0: b", b"X-A: a\rb", b"\r", b"X-A: " + b"a" * 20000, b"X-" + b"n" * 5000 + b": a", b"HTTP/1.1 200 OK", b"HTTP/1.1: x",
]
CODINGS = [b"gzip", b"deflate", b"br", b"zstd", b"x-gzip", b"compress", b"identity", b"none", b"gzip, gzip", b"gzip, deflate, br",
           b",", b"", b"GZIP", b"gzip;q=1", b"gzip, gzip, gzip, gzip, gzip, gzip, gzip, gzip", b"\xff"]


@dataclasses.dataclass
class Reply:
    pieces: list
    # keep: wait for the next request; close; reset
    then: str
    # Whether client and server agree on the end of the response, so that the next one on the connection can be valid.
    is_clean: bool


def body_of(index):
    """Returns the body of a valid response, which the client computes too."""
    return (b"%d " % index) * (1 + index % 7 + (index % 97 == 0) * 20000)


def right(random, index, head):
    body = b"" if head else body_of(index)
    proof = b"X-Proof: %d\r\n" % index
    if random.random() < 0.5 or head:
        length = len(body_of(index))
        return Reply([b"HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\n\r\n" % (proof, length) + body], "keep", True)
    data = b"HTTP/1.1 200 OK\r\n%bTransfer-Encoding: chunked\r\n\r\n" % proof
    while body:
        count = random.randrange(1, max(2, len(body) + 1))
        data += b"%x\r\n%b\r\n" % (count if count <= len(body) else len(body), body[:count])
        body = body[count:]
    return Reply([data + b"0\r\n\r\n"], "keep", True)


def chunks(random, body):
    data = b""
    while body:
        count = random.randrange(1, len(body) + 1)
        size = b"%x" % count if random.random() < 0.85 else random.choice(CHUNK_SIZES)
        if random.random() < 0.1:
            size += b";" + b"e" * random.choice([1, 10, 5000])
        data += size + random.choice([b"\r\n", b"\r\n", b"\r\n", b"\n", b"\r"]) + body[:count]
        data += random.choice([b"\r\n", b"\r\n", b"\r\n", b"\n", b""])
        body = body[count:]
    data += random.choice([b"0\r\n", b"0\r\n", b"000\r\n", b"0;x\r\n", b"", b"-0\r\n"])
    for _ in range(random.choice([0, 0, 0, 1, 3, 200])):
        data += random.choice(BLANKS) * (random.random() < 0.2) + random.choice(FIELDS) + b"\r\n"
    return data + random.choice([b"\r\n", b"\r\n", b"\r\n", b"\n", b"", b"x\r\n\r\n"])


def coded(random, body):
    """Returns a Content-Encoding field and a body in these codings, sometimes corrupted."""
    field = random.choice(CODINGS)
    for coding in field.lower().split(b","):
        coding = coding.strip()
        if coding in (b"gzip", b"x-gzip"):
            body = gzip.compress(body, 1, mtime=0)
        elif coding == b"deflate":
            body = zlib.compress(body) if random.random() < 0.5 else zlib.compress(body)[2:-4]
    if random.random() < 0.3:
        body = spoil(random, body, 2)
    return b"Content-Encoding: " + field, body


def head_of(random, line, fields):
    end = random.choice([b"\r\n"] * 12 + [b"\n", b"\r", b"\r\r\n", b"\n\r"])
    data = line + end
    if random.random() < 0.12:
        # A continuation line without a preceding header field.
        data += random.choice(BLANKS) + random.choice([b"folded: x", b"x", b"", b"Content-Length: 1", b"y" * 3000]) + end
    for field in fields:
        data += field + end
        while random.random() < 0.08:
            data += random.choice(BLANKS) + random.choice([b"more", b"", b"a: b", b"m" * 9000]) + end
    return data + random.choice([end] * 20 + [b"", b" \r\n\r\n", b"\r\n\r\n", b"\0\r\n\r\n"])


def spoil(random, data, most=6):
    data = bytearray(data)
    for _ in range(random.randrange(1, most + 1)):
        if not data:
            break
        at, count = random.randrange(len(data)), random.randrange(1, 20)
        kind = random.randrange(6)
        if kind == 0:
            data[at] = random.randrange(256)
        elif kind == 1:
            data[at] ^= 1 << random.randrange(8)
        elif kind == 2:
            del data[at:at + count]
        elif kind == 3:
            data[at:at] = data[at:at + count]
        elif kind == 4:
            data[at:at] = random.choice([b"\r\n", b"\n", b"\r\n\r\n", b" ", b"\0", b":", b"\r\n ", b"\xff", b"0\r\n\r\n"])
        else:
            data[at:at + count] = bytes(count)
    return bytes(data)


def wrong(random, index):
    data = b""
    for _ in range(random.choice([0, 0, 0, 0, 1, 1, 2, 5, 40])):
        data += head_of(random, random.choice(INTERIM), random.sample(FIELDS, random.choice([0, 1, 3])))
    fields = random.sample(FIELDS, random.choice([0, 0, 1, 2, 5, 30]))
    if random.random() < 0.02:
        fields += [b"X-%d: %b" % (number, b"v" * random.choice([1, 100])) for number in range(random.choice([200, 3000]))]
    body = body_of(index)
    if random.random() < 0.25:
        field, body = coded(random, body)
        fields.append(field)
    framing = random.choice(["length", "length", "chunked", "chunked", "both", "many", "none", "odd"])
    payload = body
    if framing in ("length", "both", "many"):
        fields.append(b"Content-Length: %d" % (len(body) + random.choice([0, 0, 0, 0, 1, -1, 5, 1000])))
    if framing == "many":
        fields.append(b"Content-Length: " + random.choice(LENGTHS + [b"%d" % len(body)] * 10))
    if framing == "odd":
        fields.append(b"Content-Length: " + random.choice(LENGTHS))
    if framing in ("chunked", "both"):
        fields.append(b"Transfer-Encoding: " + random.choice([b"chunked"] * 8 + [
            b"gzip, chunked", b"chunked, chunked", b"chunked, gzip", b"chunke", b"CHUNKED", b"identity", b"x", b"", b"gzip"]))
        payload = chunks(random, body)
    random.shuffle(fields)
    if random.random() < 0.1:
        payload += b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad"
    data += head_of(random, random.choice(LINES), fields) + payload
    if random.random() < 0.4:
        data = spoil(random, data)
    if random.random() < 0.35:
        data = data[:random.randrange(len(data) + 1)]
    pieces = [data]
    if random.random() < 0.4 and data:
        cuts = sorted(random.randrange(len(data)) for _ in range(random.choice([1, 2, 5])))
        pieces = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)])]
    return Reply(pieces, random.choice(["keep", "keep", "keep", "close", "close", "reset"]), False)


def make(random, index, head=False):
    return right(random, index, head) if random.random() < 0.25 else wrong(random, index)

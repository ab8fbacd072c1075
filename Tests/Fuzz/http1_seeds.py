#!/usr/bin/env python3
"""Writes the seed corpus for the HTTP/1.1 response parser: http1_seeds.py FOLDER. Each seed is a byte that selects the
method, a seed for the cuts, and what the server sends before it closes."""

import os
import sys


def response(*fields, status="HTTP/1.1 200 OK", body=b"", end="\r\n"):
    return end.join([status, *fields, "", ""]).encode("latin-1") + body


def chunks(*texts, extension=b"", trailers=b"", end=b"\r\n"):
    lines = [b"%x%s%s%s%s" % (len(text), extension, end, text, end) for text in texts]
    return b"".join(lines) + b"0" + extension + end + trailers + end


chunked = "Transfer-Encoding: chunked"
early = response("Link: </a>; rel=preload", status="HTTP/1.1 103 Early Hints")
seeds = {
    "length": response("Content-Length: 5", body=b"hello"),
    "length-repeated": response("Content-Length: 2", "content-length: 2, 2", body=b"ab"),
    "length-contradictory": response("Content-Length: 2", "Content-Length: 3", body=b"abc"),
    "length-huge": response("Content-Length: 9223372036854775807", body=b"a"),
    "length-overflow": response("Content-Length: 9223372036854775808", body=b"a"),
    "length-cut-off": response("Content-Length: 9", body=b"hello"),
    "length-zero": response("Content-Length: 0"),
    "surplus": response("Content-Length: 1", body=b"a" + response("Content-Length: 0")),
    "chunked": response(chunked, body=chunks(b"hello", b"0123456789abcdef")),
    "chunked-extension": response(chunked, body=chunks(b"hello", extension=b' ;a="b" ; c')),
    "chunked-padding": response(chunked, body=b"0005  \r\nhello\r\n0 \t\r\n\r\n"),
    "chunked-line-feeds": response(chunked, body=chunks(b"hello", end=b"\n")),
    "chunked-trailers": response(chunked, body=chunks(b"hello", trailers=b"Digest: a\r\n b\r\nA: b\r\n")),
    "chunked-malformed": response(chunked, body=b"5\r\nhello!\r\n0\r\n\r\n"),
    "chunked-huge": response(chunked, body=b"7fffffffffffffff\r\na"),
    "chunked-overflow": response(chunked, body=b"8000000000000000\r\na"),
    "chunked-cut-off": response(chunked, body=b"5\r\nhel"),
    "chunked-and-length": response(chunked, "Content-Length: 3", body=chunks(b"hello")),
    "chunked-identity": response("Transfer-Encoding: identity, Chunked", body=chunks(b"hello")),
    "chunked-twice": response(chunked, chunked, body=chunks(b"hello")),
    "identity": response("Transfer-Encoding: identity", body=b"hello"),
    "unknown-coding": response("Transfer-Encoding: gzip, chunked", body=chunks(b"hello")),
    "until-close": response("Content-Type: text/plain", body=b"hello"),
    "no-content": response(status="HTTP/1.1 204 No Content"),
    "no-content-length": response("Content-Length: 5", status="HTTP/1.1 204 No Content"),
    "not-modified": response("Content-Length: 5", 'ETag: "a"', status="HTTP/1.1 304 Not Modified"),
    "interim": response(status="HTTP/1.1 100 Continue") + early + response("Content-Length: 1", body=b"a"),
    "interim-alone": early,
    "switching": response("Upgrade: x", status="HTTP/1.1 101 Switching Protocols"),
    "version-1.0": response("Connection: Keep-Alive", "Content-Length: 1", status="HTTP/1.0 200 OK", body=b"a"),
    "version-2": response(status="HTTP/2 200"),
    "close": response("Connection: x, close", "Content-Length: 1", body=b"a"),
    "line-feeds": response("content-length:5", status="HTTP/1.1 200", body=b"hello", end="\n"),
    "folds": response("A: b", " c", "Content-Length:", "\t1", body=b"a"),
    "many-folds": response("A: b", *[" c"] * 101),
    "blank-before-colon": response("Content-Length : 1", body=b"a"),
    "irregular": response("A: b\rc", "B: \0", "Caf\xe9: \xe9", "Location: /\xe9", ": d"),
    "malformed-field": response("no colon"),
    "second-status-line": response("HTTP/1.1 200 OK"),
    "repeated": response("Set-Cookie: a=b", "set-cookie: c=d", "SET-COOKIE: e=f", "Content-Length: 0"),
    "unreachable": response(status="HTTP/1.1 407 Proxy Authentication Required", body=b"<html>"),
    "not-http": b"SSH-2.0-OpenSSH\r\n",
    "empty": b"",
}
os.makedirs(sys.argv[1], exist_ok=True)
for method in range(3):
    for index, (name, data) in enumerate(seeds.items()):
        with open(os.path.join(sys.argv[1], f"{name}-{method}"), "wb") as file:
            file.write(bytes([method, index * 3 + method]) + data)

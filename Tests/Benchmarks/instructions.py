#!/usr/bin/env python3
"""Counts the instructions of a warm `send`: instructions.py [--check]. Needs valgrind.

Two runs of different length under callgrind; their difference has no start and no end of a process in it. --check fails where a
figure is more than a tenth away from EXPECTED, in either direction: what became cheaper is to be written down as well.
"""
import os, re, socket, statistics, subprocess, sys, threading

HERE = os.path.dirname(os.path.abspath(__file__))
BODY = b'{"id":12345,"name":"a teapot of fine porc","price":12.50}'
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY
# Of a release build on x86-64, Debian 12, Swift 6.3. `mock` is building a request, carrying it through its attempt and decoding
# 57 bytes of JSON: about half of it is Foundation's (URLRequest, JSONDecoder). `wire` is the same through libcurl's loop and
# thread, to a server in another process; what the kernel does is not in it. On Debian 12's libcurl an easy handle is used once,
# because a response can corrupt the memory of a second use: `wire` pays for that.
EXPECTED = {"mock": 63_000, "wire": 209_000}
FEW, MANY, ROUNDS = 500, 1500, 3


def serve(listener):
    def answer(connection):
        with connection:
            while data := connection.recv(65536):
                connection.sendall(RESPONSE * data.count(b"\r\n\r\n"))
    while True:
        threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()


def listening():
    """The URL of a new server."""
    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, args=(listener,), daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


def count(program, kind, sends, url):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, kind, str(sends), url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode or not found:
        raise SystemExit("callgrind cannot run this program:\n" + done.stderr)
    return int(found[1])


def main():
    # As `run.py websocket` builds it, so that the library is compiled once for both.
    build = ["swift", "build", "-c", "release", "-Xswiftc", "-enable-testing", "--package-path", os.path.join(HERE, "Library")]
    subprocess.run(build, check=True, stdout=sys.stderr)
    folder = subprocess.run([*build, "--show-bin-path"], check=True, capture_output=True, text=True).stdout.strip()
    # valgrind cannot read the debugging information of today.
    program = os.path.join(folder, "Instructions-stripped")
    subprocess.run(["strip", "-o", program, os.path.join(folder, "Instructions")], check=True)
    url = listening()
    missed = []
    for kind, expected in EXPECTED.items():
        found = [
            (count(program, kind, MANY, url) - count(program, kind, FEW, url)) / (MANY - FEW) for _ in range(ROUNDS)]
        middle = statistics.median(found)
        print(f"{kind}: {middle:.0f} instructions for each send ({min(found):.0f} to {max(found):.0f}), "
            f"{middle / expected - 1:+.1%} of what is expected")
        if abs(middle / expected - 1) > 0.1:
            missed.append(kind)
    if "--check" in sys.argv and missed:
        raise SystemExit("out of bounds: " + ", ".join(missed))


if __name__ == "__main__":
    main()

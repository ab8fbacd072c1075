#!/usr/bin/env python3
"""Counts the instructions of a warm `send`: instructions.py [--check]. Requires valgrind.

The figure is the difference of two runs of different lengths under callgrind, which excludes process startup and exit. --check
fails if a figure differs from EXPECTED by more than a tenth in either direction: improvements must be recorded as well.
"""
import os, re, socket, statistics, subprocess, sys, threading

HERE = os.path.dirname(os.path.abspath(__file__))
BODY = b'{"id":12345,"name":"a teapot of fine porc","price":12.50}'
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY
# For a release build as users have it, on x86-64, Debian 12, Swift 6.3. `mock` builds a request, performs its attempt and decodes 57 bytes of
# JSON; about half of it is spent in Foundation (URLRequest, JSONDecoder). `wire` does the same over plain http, through the event
# loop and its thread, with a server in another process; work in the kernel is not counted.
EXPECTED = {"mock": 62_500, "wire": 105_000}
FEW, MANY, ROUNDS = 500, 1500, 3


def serve(listener):
    def answer(connection):
        with connection:
            while data := connection.recv(65536):
                connection.sendall(RESPONSE * data.count(b"\r\n\r\n"))
    while True:
        threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()


def listening():
    """Starts a server and returns its URL."""
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
    build = ["swift", "build", "-c", "release", "--package-path", HERE]
    subprocess.run(build, check=True, stdout=sys.stderr)
    folder = subprocess.run([*build, "--show-bin-path"], check=True, capture_output=True, text=True).stdout.strip()
    # valgrind cannot read current debugging information.
    program = os.path.join(folder, "Instructions-stripped")
    subprocess.run(["strip", "-o", program, os.path.join(folder, "Instructions")], check=True)
    url = listening()
    missed = []
    for kind, expected in EXPECTED.items():
        found = [
            (count(program, kind, MANY, url) - count(program, kind, FEW, url)) / (MANY - FEW) for _ in range(ROUNDS)]
        middle = statistics.median(found)
        print(f"{kind}: {middle:.0f} instructions for each send ({min(found):.0f} to {max(found):.0f}), "
            f"{middle / expected - 1:+.1%} relative to the expected count")
        if abs(middle / expected - 1) > 0.1:
            missed.append(kind)
    if "--check" in sys.argv and missed:
        raise SystemExit("out of bounds: " + ", ".join(missed))


if __name__ == "__main__":
    main()

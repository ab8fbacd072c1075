"""Runs several processes that fill the directory of one cache, kills them at random moments, and checks the remaining entries.

usage: run.py CLIENT [KILLS [SECONDS [LEAST]]]

Stops after KILLS kills or SECONDS seconds, and fails if there were fewer than LEAST kills by then. Entries may be lost. A
stored response that differs from the one the server sent, or an incompletely written file under its final name, fails the
test.
"""
import http.server
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zlib

client, wanted = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 300
limit = float(sys.argv[3]) if len(sys.argv) > 3 else 60.0
least = int(sys.argv[4]) if len(sys.argv) > 4 else wanted
SIZES = [0, 10, 500, 5_000, 32_768, 40_000, 65_536, 150_000, 400_000]
WRITERS, ROUNDS = 3, 8


def body(number):
    """Returns a random body of a certain size, and its checksum."""
    size = SIZES[number % len(SIZES)]
    piece = random.randbytes(4096)
    content = (piece * (size // len(piece) + 1))[:size]
    return content, f"{size}-{zlib.adler32(content)}"


BODIES = {number: [body(number) for _ in range(4)] for number in range(40)}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        content, check = random.choice(BODIES[int(self.path[1:])])
        self.send_response(200)
        self.send_header("Cache-Control", "max-age=3600")
        self.send_header("X-Check", check)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        # A client that is killed resets its connections.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
problems = []


def write(folder):
    """Starts a writer and kills it shortly after it has begun to write; returns 1 if it was killed, 0 if it ended before."""
    process = subprocess.Popen([client, url, folder, "fill"], stdout=subprocess.PIPE)
    if not process.stdout.readline():
        problems.append(f"a writer ended with {process.wait()}")
        return 0
    # Drains its output, because it would block when the pipe is full.
    threading.Thread(target=process.stdout.read, daemon=True).start()
    time.sleep(random.uniform(0, 0.03))
    process.send_signal(signal.SIGKILL)
    if process.wait() != -signal.SIGKILL:
        problems.append(f"a writer ended with {process.returncode}")
        return 0
    return 1


def verify(folder):
    """Returns the number of stored responses; appends any defects to `problems`."""
    lines = subprocess.check_output([client, url, folder, "verify"], text=True).splitlines()
    found, wrong = map(int, lines[-1].split()[1:])
    problems.extend(line for line in lines[:-1])
    if wrong:
        problems.append(f"{wrong} of {found} stored responses are wrong")
    return found


start, kills, hits, looks, left = time.monotonic(), 0, 0, 0, 0
with tempfile.TemporaryDirectory() as folder:
    while kills < wanted and not problems and time.monotonic() - start < limit:
        counts = []
        writers = [
            threading.Thread(target=lambda: counts.extend(write(folder) for _ in range(ROUNDS))) for _ in range(WRITERS)
        ]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        kills += sum(counts)
        hits += verify(folder)
        looks += 1
    root = os.path.join(folder, "EKNetworkHTTPCache-1")
    rights = {os.stat(path).st_mode & 0o077 for path, _, _ in os.walk(root)}
    left = sum(name.startswith("new-") for name in os.listdir(root))

print(
    f"{kills} processes killed, {WRITERS} at a time; {hits} stored responses read in {looks} checks, none of them wrong;"
    f" {left} temporary files left, {time.monotonic() - start:.0f} s"
    if not problems
    else f"{kills} processes killed: {problems[0]}"
)
if problems or not hits or rights != {0}:
    sys.exit(1)
if kills < least:
    sys.exit(f"only {kills} of {least} kills in {limit:.0f} s")

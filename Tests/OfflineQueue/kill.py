"""Kills a process that has a queue of requests at random moments, and counts the requests that arrive at a server.

usage: kill.py CLIENT [KILLS [SECONDS]]

No request for which `enqueue` has returned may be lost, and a request that arrives twice must have the same Idempotency-Key.
"""
import http.server
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

client, wanted = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 300
limit = float(sys.argv[3]) if len(sys.argv) > 3 else 110.0
lock = threading.Lock()
arrivals = {}  # request number: its keys, one per arrival


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if len(body) < int(self.headers["Content-Length"]):
            # The client was killed before it had sent the whole body.
            self.close_connection = True
            return
        number = int(body)
        with lock:
            arrivals.setdefault(number, []).append(self.headers["Idempotency-Key"])
        # Some responses are lost, or report an overloaded server.
        chance = random.random()
        if chance < 0.05:
            self.close_connection = True
            return
        self.send_response(503 if chance < 0.1 else 204)
        self.send_header("Content-Length", "0") if chance < 0.1 else None
        self.end_headers()

    def log_message(self, *arguments):
        pass


def run(folder, url, count, first, lifetime):
    """Returns the numbers for which `enqueue` returned, whether everything was delivered, and whether the client was killed."""
    process = subprocess.Popen([client, folder, url, str(count), str(first)], stdout=subprocess.PIPE)
    killer = None
    if lifetime is not None:
        killer = threading.Timer(lifetime, process.send_signal, [signal.SIGKILL])
        killer.start()
    lines = process.stdout.read().decode().split("\n")
    code = process.wait()
    if killer:
        killer.cancel()
    if code not in (0, -signal.SIGKILL):
        raise SystemExit(f"the client exited with {code}")
    return [int(line.split()[1]) for line in lines[:-1] if line.startswith("kept")], "empty" in lines, code != 0


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        # A client that is killed resets its connections.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/"
start, kept, kills, done = time.monotonic(), set(), 0, 0
with tempfile.TemporaryDirectory() as folder:
    # The lifetime of a process without work; the kills are spread around it to hit processes that have some.
    began = time.monotonic()
    run(folder, url, 0, 0, None)
    idle = time.monotonic() - began
    while kills < wanted and time.monotonic() - start < limit:
        numbers, _, was_killed = run(folder, url, 60, done * 1000, random.uniform(idle * 0.3, idle * 1.5))
        kept.update(numbers)
        kills += was_killed
        done += 1
    _, is_empty, _ = run(folder, url, 0, 0, None)

lost = kept - arrivals.keys()
forged = {number for number, keys in arrivals.items() if len(set(keys)) != 1 or not keys[0]}
twice = sum(len(keys) > 1 for keys in arrivals.values())
print(
    f"{done} runs, {kills} killed, {len(kept)} requests kept, {len(arrivals)} arrived, {twice} of them more than once,"
    f" {len(lost)} lost, {len(forged)} with a different key, {time.monotonic() - start:.0f} s"
)
if lost or forged or not is_empty or not kept or twice == 0:
    sys.exit(1)
if kills < wanted:
    sys.exit(f"only {kills} of {wanted} kills in {limit:.0f} s")

#!/usr/bin/env python3
"""Third-party servers with HTTP/2, all but the last over TLS: http2.py nginx|nghttpd|hypercorn|go|cleartext. Prints {"ports": {"good": port}, "folder": …}
and exits when its standard input is closed.

Each answers `/item.json`, `/large` (64 MiB) and `/missing` (404), and all but nginx send a body back.
"""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time

from certificates import make_all
from folder import temporary_folder
from ports import free_port

ITEM = b'{"id":1,"name":"teapot"}'
LARGE = 64 << 20
HERE = pathlib.Path(__file__).resolve().parent


def nginx(path, port):
    temporary = " ".join(f"{kind}_temp_path {path / kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (path / "nginx.conf").write_text(f"""
worker_processes 1; daemon off; master_process off; error_log {path / "error.log"}; pid {path / "pid"};
{"user root;" if os.getuid() == 0 else ""}
events {{ worker_connections 1024; }}
http {{
  access_log off; default_type application/json; {temporary}
  # After so many requests it says GOAWAY, and the next ones need another connection.
  keepalive_requests 200;
  # A stream that waits for its reader, on a machine that is busy, is not one that has stalled.
  send_timeout 600s;
  server {{
    listen 127.0.0.1:{port} ssl http2; root {path};
    ssl_certificate {path / "good.pem"}; ssl_certificate_key {path / "good.key"};
  }}
}}""")
    return [shutil.which("nginx") or "/usr/sbin/nginx", "-c", path / "nginx.conf"]


def nghttpd(path, port):
    return [shutil.which("nghttpd") or "/usr/sbin/nghttpd", "--echo-upload", "-a", "127.0.0.1", "-d", path, str(port),
        path / "good.key", path / "good.pem"]


def cleartext(path, port):
    return [*nghttpd(path, port)[:-2], "--no-tls"]


def go(path, port):
    subprocess.run(["go", "build", "-o", path / "server", HERE / "http2_server.go"], check=True, stdout=sys.stderr)
    return [path / "server", f"127.0.0.1:{port}", path]


def hypercorn(path, port):
    return [sys.executable, "-B", HERE / "http2_app.py", str(port), path]


def main():
    with temporary_folder() as folder:
        os.chmod(folder, 0o755)
        make_all(folder)
        path = pathlib.Path(folder)
        (path / "item.json").write_bytes(ITEM)
        with open(path / "large", "wb") as file:
            file.truncate(LARGE)
        port = free_port()
        command = {"nginx": nginx, "nghttpd": nghttpd, "hypercorn": hypercorn, "go": go, "cleartext": cleartext}[sys.argv[1]](path, port)
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(400):
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except OSError:
                    time.sleep(0.05)
            print(json.dumps({"ports": {"good": port}, "folder": folder}), flush=True)
            sys.stdin.read()
        finally:
            server.kill()
            server.wait()


main()

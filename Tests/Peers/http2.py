#!/usr/bin/env python3
"""nginx with HTTP/2 over TLS. Prints {"ports": {"good": port}, "folder": …} and exits when its standard input is closed."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from certificates import make_all
from ports import free_port


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        make_all(folder)
        path = pathlib.Path(folder)
        (path / "item.json").write_text('{"id":1,"name":"teapot"}')
        with open(path / "large", "wb") as file:
            file.truncate(64 << 20)
        port = free_port()
        temporary = " ".join(
            f"{kind}_temp_path {path / kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
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
    listen 127.0.0.1:{port} ssl http2; root {folder};
    ssl_certificate {path / "good.pem"}; ssl_certificate_key {path / "good.key"};
  }}
}}""")
        nginx = subprocess.Popen([shutil.which("nginx") or "/usr/sbin/nginx", "-c", str(path / "nginx.conf")],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(200):
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except OSError:
                    time.sleep(0.05)
            print(json.dumps({"ports": {"good": port}, "folder": folder}), flush=True)
            sys.stdin.read()
        finally:
            nginx.kill()
            nginx.wait()


main()

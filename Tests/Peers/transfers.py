#!/usr/bin/env python3
"""Servers for uploads and downloads: nginx (WebDAV PUT, byte ranges), aiohttp (hashes of bodies) and Werkzeug (forms).

Prints {"ports": …, "folder": …}. Each line on its standard input kills nginx's worker, which its master replaces. Exits when
its standard input is closed.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

from aiohttp import web
from werkzeug.formparser import parse_form_data
from werkzeug.serving import WSGIRequestHandler, make_server

from certificates import make_all
from folder import temporary_folder
from ports import free_port


def start_nginx(path, port, secure_port):
    temporary = " ".join(
        f"{kind}_temp_path {path / kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (path / "nginx.conf").write_text(f"""
worker_processes 1; daemon off; error_log {path / "error.log"}; pid {path / "pid"};
{"user root;" if os.getuid() == 0 else ""}
events {{ worker_connections 256; }}
http {{
  log_format ranges '$status "$http_range" $body_bytes_sent';
  access_log {path / "access.log"} ranges; client_max_body_size 0; default_type application/octet-stream; {temporary}
  server {{
    listen 127.0.0.1:{port}; listen 127.0.0.1:{secure_port} ssl http2; root {path};
    ssl_certificate {path / "good.pem"}; ssl_certificate_key {path / "good.key"};
    location /put/ {{ dav_methods PUT; create_full_put_path on; }}
    location /slow/ {{ alias {path}/; limit_rate 150m; }}
    location /small/ {{ alias {path}/; client_max_body_size 1m; dav_methods PUT; }}
  }}
}}""")
    return subprocess.Popen([shutil.which("nginx") or "/usr/sbin/nginx", "-c", str(path / "nginx.conf")],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def children(parent):
    for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name in parentheses may contain anything; the parent is the second field after it.
            if int(status.read_text().rpartition(")")[2].split()[1]) == parent:
                yield int(status.parent.name)
        except (OSError, ValueError):
            pass


async def hashed(request):
    digest, count = hashlib.sha256(), 0
    async for chunk in request.content.iter_any():
        digest.update(chunk)
        count += len(chunk)
    return web.json_response({"sha256": digest.hexdigest(), "size": count})


def start_aiohttp(port):
    async def serve():
        app = web.Application(client_max_size=1 << 40)
        app.router.add_route("*", "/{tail:.*}", hashed)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", port).start()
        await asyncio.Event().wait()

    threading.Thread(target=lambda: asyncio.run(serve()), daemon=True).start()


def form(environ, start_response):
    _, fields, files = parse_form_data(environ)
    found = [{"name": name, "filename": None, "sha256": hashlib.sha256(value.encode()).hexdigest(), "type": None}
        for name, value in fields.items(multi=True)]
    found += [{"name": name, "filename": file.filename, "type": file.content_type,
        "sha256": hashlib.file_digest(file.stream, "sha256").hexdigest()} for name, file in files.items(multi=True)]
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps(found).encode()]


class Silent(WSGIRequestHandler):
    def log(self, *_):
        pass


def main():
    with temporary_folder() as folder, contextlib.ExitStack() as ending:
        os.chmod(folder, 0o755)
        path = pathlib.Path(folder)
        (path / "put").mkdir()
        # A file system of 1 MiB, if the process may mount one.
        (path / "full").mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", path / "full"], capture_output=True)
        if mounted.returncode == 0:
            ending.callback(subprocess.run, ["umount", path / "full"], capture_output=True)
            (path / "full" / "mounted").touch()
        make_all(folder)
        ports = {"nginx": free_port(), "h2": free_port(), "aiohttp": free_port(), "werkzeug": free_port()}
        nginx = start_nginx(path, ports["nginx"], ports["h2"])
        start_aiohttp(ports["aiohttp"])
        werkzeug = make_server("127.0.0.1", ports["werkzeug"], form, threaded=True, request_handler=Silent)
        threading.Thread(target=werkzeug.serve_forever, daemon=True).start()
        try:
            for port in ports.values():
                for _ in range(200):
                    try:
                        socket.create_connection(("127.0.0.1", port)).close()
                        break
                    except OSError:
                        time.sleep(0.05)
            print(json.dumps({"ports": ports, "folder": folder}), flush=True)
            for _ in sys.stdin:
                for worker in children(nginx.pid):
                    os.kill(worker, signal.SIGKILL)
        finally:
            nginx.terminate()
            nginx.wait()


main()

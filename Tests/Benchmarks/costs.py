#!/usr/bin/env python3
"""Measures the costs of a client other than request time: costs.py [--keep]

Compares the same small program written with this library, async-http-client and plain URLSession: the time of a clean release
build, the size of the executable, its memory use, and the time from its start until the first response is decoded. Run it on an
idle machine; it takes twenty minutes. --keep reuses the builds of the last run and omits the first row.
"""
import asyncio, json, os, shutil, ssl, statistics, subprocess, sys, tempfile, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
CLIENTS = {"EKNetwork": "EKNetwork", "async-http-client": "AsyncHTTPClient", "URLSession": "URLSession"}
FEEDS, STARTS = 1000, 50
BODY = b'{"id":12345,"name":"a teapot of fine porc","price":12.50}'


async def serve(reader, writer):
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            if head.startswith(b"GET /feed "):
                writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
            else:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY))
    except (asyncio.IncompleteReadError, OSError):
        writer.close()


def start_server(folder):
    """Starts the server and returns its URLs and certificate once it listens."""
    key, certificate = os.path.join(folder, "key.pem"), os.path.join(folder, "ca.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out",
                    certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    found = {}
    listening = threading.Event()

    async def main():
        servers = [await asyncio.start_server(serve, "127.0.0.1", 0, backlog=4096, ssl=tls) for tls in (None, context)]
        found["http"], found["https"] = (server.sockets[0].getsockname()[1] for server in servers)
        listening.set()
        await asyncio.Event().wait()

    threading.Thread(target=asyncio.run, args=(main(),), daemon=True).start()
    listening.wait()
    return f"http://127.0.0.1:{found['http']}", f"https://localhost:{found['https']}", certificate


def build(package, scratch, *options):
    command = ["swift", "build", "-c", "release", "--package-path", package, "--scratch-path", scratch, *options]
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    seconds = time.monotonic() - begin
    folder = subprocess.run([*command, "--show-bin-path"], check=True, capture_output=True, text=True).stdout.strip()
    return os.path.join(folder, "Client"), seconds


def stripped_megabytes(program, folder):
    target = os.path.join(folder, "stripped")
    subprocess.run(["strip", "-o", target, program], check=True)
    return os.path.getsize(target) / 1e6


def said(*command):
    """Runs a client; returns the milliseconds until its first decoded response, and the memory use it reports, in MiB."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    decoded = process.stdout.readline().strip()
    milliseconds = (time.monotonic() - begin) * 1000
    memory = process.stdout.read()
    process.stdout.close()
    if process.wait() or decoded != "12345":
        raise SystemExit(f"{command}: {decoded} {memory}")
    return milliseconds, int(memory.split()[1]) / 1024


def main():
    is_kept = "--keep" in sys.argv
    rows, programs = {}, {}

    def note(row, client, value):
        rows.setdefault(row, {})[client] = value
        print(f"{row}: {client} {value:.1f}", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        # The linker looks for a name of libcurl that only its development package has.
        libraries = subprocess.run(["ldconfig", "-p"], check=True, capture_output=True, text=True).stdout
        found = [line.split("=>")[1].strip() for line in libraries.splitlines() if "libcurl.so.4 " in line]
        if found:
            os.symlink(found[0], os.path.join(folder, "libcurl.so"))
        for client, name in CLIENTS.items():
            package = os.path.join(HERE, "Costs", name)
            scratch, static = (os.path.join(HERE, ".build-costs", f"{name}-{kind}") for kind in ("dynamic", "static"))
            if not is_kept:
                # Fetching dependencies is not part of the build time.
                for path in (scratch, static):
                    shutil.rmtree(path, ignore_errors=True)
                subprocess.run(["swift", "package", "--package-path", package, "--scratch-path", scratch, "resolve"], check=True,
                               capture_output=True)
            programs[client], seconds = build(package, scratch)
            if not is_kept:
                note("clean release build, s", client, seconds)
            note("executable, stripped, MB", client, stripped_megabytes(programs[client], folder))
            program, _ = build(package, static, "--static-swift-stdlib", "-Xlinker", f"-L{folder}")
            note("executable with static Swift libraries, MB", client, stripped_megabytes(program, folder))
        http, https, authority = start_server(folder)
        for client, program in programs.items():
            note("memory after one request, MiB", client, statistics.median(said(program, http)[1] for _ in range(5)))
            note(f"memory with {FEEDS} idle feeds, MiB", client, said(program, http, str(FEEDS))[1])
        starts = {"http": {client: [] for client in CLIENTS}, "https": {client: [] for client in CLIENTS if client != "URLSession"}}
        for _ in range(STARTS):
            for client in CLIENTS:
                starts["http"][client].append(said(programs[client], http)[0])
            for client in starts["https"]:
                starts["https"][client].append(said(programs[client], https, "0", authority)[0])
        for scheme, times in starts.items():
            for client, values in times.items():
                note(f"start to the first response, {scheme}, ms", client, statistics.median(values))
    print(f"{'':44}" + "".join(f"{client:>20}" for client in CLIENTS))
    for row, values in rows.items():
        print(f"{row:44}" + "".join(f"{values[client]:20.1f}" if client in values else f"{'-':>20}" for client in CLIENTS))


main()

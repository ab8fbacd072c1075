"""Compares file uploads and downloads with curl in the same run."""
import os, resource, shutil, socket, statistics, subprocess, tempfile, threading, time

GIB = 1 << 30


class Sink:
    """A server that reads and discards bodies, because only the client is measured."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            threading.Thread(target=self.serve, args=(self.listener.accept()[0],), daemon=True).start()

    def serve(self, connection):
        buffer = bytearray(1 << 20)
        view = memoryview(buffer)
        rest = b""
        with connection:
            while True:
                while b"\r\n\r\n" not in rest:
                    piece = connection.recv(65536)
                    if not piece:
                        return
                    rest += piece
                head, _, rest = rest.partition(b"\r\n\r\n")
                fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
                if b"expect" in fields:
                    connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                if b"content-length" in fields:
                    left = int(fields[b"content-length"]) - len(rest)
                    rest = b""
                    while left > 0:
                        count = connection.recv_into(view, min(left, len(buffer)))
                        if not count:
                            return
                        left -= count
                else:  # Chunked: the terminating bytes do not occur elsewhere in these bodies.
                    tail = rest[-5:]
                    while tail != b"0\r\n\r\n":
                        count = connection.recv_into(view)
                        if not count:
                            return
                        tail = (tail + bytes(view[max(0, count - 5):count]))[-5:]
                    rest = b""
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


def curl(*arguments):
    """Runs curl; returns its bytes per second and CPU time per byte."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    subprocess.run(["curl", "-s", "-f", *arguments], check=True, stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"perSecond": GIB / seconds, "cpuMicroseconds": cpu * 1e6 / GIB}


def transfers(server, load, quick, measured, ratios):
    if not shutil.which("curl"):
        print("curl is not available: transfers are skipped")
        return []
    sink = Sink()
    # In memory if there is room, because the disk is not to be measured.
    memory = "/dev/shm"
    roomy = os.path.isdir(memory) and shutil.disk_usage(memory).free > 4 * GIB
    folder = tempfile.mkdtemp(dir=memory if roomy else None)
    source, target = os.path.join(folder, "source"), os.path.join(folder, "target")
    with open(source, "wb") as file:
        file.truncate(GIB)
    with open(os.path.join(server.folder, "gib"), "wb") as file:
        file.truncate(GIB)
    missed = []
    try:
        print("\nOne GiB, file to socket and socket to file")
        for kind, url, reference in (
            ("upload", sink.url + "/", lambda: curl("-T", source, "-H", "Expect:", sink.url + "/")),
            ("download", server.http + "/gib", lambda: curl("-o", target, server.http + "/gib")),
        ):
            file = source if kind == "upload" else target
            contenders = [lambda: measured(load, "eknetwork", kind, url, "1", "0", file), reference]
            reference()  # Warms up the page cache.
            runs = []
            for turn in range(5):
                pair = [None, None]
                for index in (0, 1) if turn % 2 == 0 else (1, 0):
                    # Both write a new file: freeing the old one would add to the work of only one of them.
                    if os.path.exists(target):
                        os.remove(target)
                    pair[index] = contenders[index]()
                runs.append(pair)
            ours, theirs = ({key: statistics.median(run[index][key] for run in runs) for key in runs[0][index]} for index in (0, 1))
            for name, result in (("eknetwork", ours), ("curl", theirs)):
                print(f"{kind:10}{name:12}{result['perSecond'] / 1e6:8.0f} MB/s {result['cpuMicroseconds'] * GIB / 1e6:6.2f} s CPU"
                      + (f"  peak {result['peakMegabytes']:.1f} MiB" if "peakMegabytes" in result else ""))
            # Compares neighbouring runs: client and server have more busy threads than cores, so whole rounds are fast or slow.
            for figure, key in (("", "perSecond"), ("CPU of ", "cpuMicroseconds")):
                ratios[f"{figure}{kind} vs curl"] = statistics.median(our[key] / their[key] for our, their in runs)
        with open(source, "wb") as file:
            file.truncate((1 if quick else 10) * GIB)
        for kind in ("upload", "form", "sequence"):
            found = measured(load, "eknetwork", kind, sink.url + "/", "1", "0", source)
            print(f"{kind} of {1 if quick else 10} GiB: {found['perSecond'] / 1e6:.0f} MB/s, {found['growthMegabytes']:.1f} MiB of memory growth")
            if found["growthMegabytes"] > 16:
                missed.append(f"growth of {kind}")
    finally:
        shutil.rmtree(folder)
    return missed

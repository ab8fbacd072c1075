#!/usr/bin/env python3
"""Measures the library against its peers: run.py [--quick] [--check] [--namespace] [SECTION…]

Starts its own nginx on loopback, runs every contender in its own process in alternating rounds, and prints the medians.
Sections: http, https, http2, loops, flat, stream, parsing, cache, httpcache, burst, soak, transfers, waiting, websocket. --check fails
if a ratio is out of its bound. Bounds are well away from the values of an idle machine: they detect regressions, not small
changes. A request ratio that is out of bounds after the first rounds is measured in 18 more rounds, and the median of all
rounds decides, because a single round on a shared machine can be off by a third. With --namespace nginx has its own network
namespace and core, and the contenders have the other cores.
"""
import json, os, resource, shutil, signal, statistics, subprocess, sys, tempfile, time, urllib.request

from transfers import transfers

HERE = os.path.dirname(os.path.abspath(__file__))
SECTIONS = ["http", "https", "http2", "loops", "flat", "stream", "parsing", "cache", "httpcache", "burst", "soak", "transfers", "waiting",
            "websocket"]
# By section. The goal for the HTTP cache is 3. It is relative to a request over the network, which gets cheaper too.
FLOORS = {
    "httpcache": {"HTTP cache: send vs a hit in memory": 2.4},
    "http": {"requests vs urlsession at 16": 2.5},
    "http2": {"http2 requests vs async-http-client at 16": 1.5},
    "stream": {"chunks vs async-http-client": 0.7, "https chunks vs async-http-client": 0.6,
               "http2 chunks vs async-http-client": 0.8},
    "parsing": {"body-ndjson vs decoding split lines": 0.6, "body-lines-64 vs lines-64": 2, "body-bytes vs bytes": 30},
    "transfers": {"upload vs curl": 0.5, "download vs curl": 0.35},
    "websocket": {"ws echo at 16 vs nio-websocket": 0.75, "wss echo at 16 vs nio-websocket": 1,
                  "ws echo at 16 vs websockets": 1,
                  "ws receive-65536 vs nio-websocket": 0.75, "wss receive-65536 vs nio-websocket": 0.65,
                  "ws receive-65536 vs nio": 0.5, "wss receive-65536 vs nio": 0.55}}
# CPU time is steadier than throughput on a machine with other load.
CEILINGS = {
    "http": {"CPU vs urlsession at 16": 0.4, "CPU vs async-http-client at 16": 0.95},
    "http2": {"http2 CPU vs async-http-client at 16": 0.6},
    "websocket": {"ws echo at 16 CPU vs nio-websocket": 1.1, "wss echo at 16 CPU vs nio-websocket": 1.05,
                  "ws echo at 16 CPU vs websockets": 0.8,
                  "ws receive-65536 CPU vs nio-websocket": 1.05, "wss receive-65536 CPU vs nio-websocket": 1.5,
                  "ws receive-65536 CPU vs nio": 1.7, "wss receive-65536 CPU vs nio": 1.7}}
ratios = {}
# The contenders with bounds that may not be installed, and are not.
absent = set() if shutil.which("curl") else {"curl"}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=HERE, timeout=900).stdout


def measured(*command):
    return json.loads(run(*command).splitlines()[-1])


def port():
    import socket
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def certify(key, certificate, host="127.0.0.1"):
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
        "-subj", "/CN=localhost", "-addext", f"subjectAltName=DNS:localhost,IP:{host}", "-keyout", key, "-out", certificate)


class Loopback:
    """Runs nginx on loopback, on the same cores as its clients."""
    host, prefix = "127.0.0.1", []

    def close(self):
        pass


class Namespace:
    """Runs nginx in a network namespace behind a veth pair, and on the last core, which the clients do not use."""
    host = "10.213.77.2"

    def __init__(self):
        name = self.name = f"ekn{os.getpid()}"
        *cores, own = sorted(os.sched_getaffinity(0))
        self.prefix = ["ip", "netns", "exec", name, "taskset", "-c", str(own)]
        for command in (f"netns add {name}", f"link add {name} type veth peer name inner netns {name}",
                        f"addr add 10.213.77.1/24 dev {name}", f"link set {name} up",
                        f"-n {name} addr add {self.host}/24 dev inner", f"-n {name} link set inner up",
                        f"-n {name} link set lo up"):
            run("ip", *command.split())
        os.sched_setaffinity(0, cores)

    def close(self):
        run("ip", "netns", "del", self.name)


class Nginx:
    def __init__(self, place):
        self.place = place

    def __enter__(self):
        self.folder, self.process = tempfile.mkdtemp(), None
        try:
            return self.started()
        except BaseException:
            self.__exit__()
            raise

    def started(self):
        host = self.place.host
        os.chmod(self.folder, 0o755)
        path = lambda name: os.path.join(self.folder, name)
        with open(path("item.json"), "w") as file:
            file.write('{"id":12345,"name":"a teapot of fine porc","price":12.50}')
        with open(path("large"), "wb") as file:
            file.truncate(400 << 20)
        with open(path("gib"), "wb") as file:
            file.truncate(1 << 30)
        with open(path("huge"), "wb") as file:
            file.truncate(10 << 30)
        certify(path("key.pem"), path("ca.pem"), host)
        self.ca, plain, tls, http2, others = path("ca.pem"), port(), port(), port(), [port() for _ in range(4)]
        with open(path("nginx.conf"), "w") as file:
            file.write(f"""
worker_processes 1; daemon off; error_log {path("error.log")}; pid {path("pid")};
{"user root;" if os.getuid() == 0 else ""}
events {{ worker_connections 4096; }}
http {{
  access_log off; sendfile on; keepalive_requests 100000000; default_type application/json;
  client_body_temp_path {path("b")}; proxy_temp_path {path("p")}; fastcgi_temp_path {path("f")};
  uwsgi_temp_path {path("u")}; scgi_temp_path {path("s")};
  server {{
    listen {host}:{plain}; listen {host}:{tls} ssl; root {self.folder};
    {" ".join(f"listen {host}:{other};" for other in others)}
    ssl_certificate {path("ca.pem")}; ssl_certificate_key {path("key.pem")};
  }}
  server {{
    listen {host}:{http2} ssl http2; root {self.folder}; http2_max_concurrent_streams 1000;
    ssl_certificate {path("ca.pem")}; ssl_certificate_key {path("key.pem")};
  }}
}}""")
        self.process = subprocess.Popen([*self.place.prefix, shutil.which("nginx") or "/usr/sbin/nginx", "-c", path("nginx.conf")])
        self.http = f"http://{host}:{plain}"
        self.https, self.http2 = (f"https://{'localhost' if host == Loopback.host else host}:{number}" for number in (tls, http2))
        self.origins = [f"http://{host}:{other}" for other in others]
        for _ in range(100):
            try:
                urllib.request.urlopen(self.http + "/item.json").read()
                return self
            except OSError:
                time.sleep(0.05)
        raise SystemExit("nginx does not answer")

    def __exit__(self, *_):
        if self.process:
            self.process.terminate()
            self.process.wait()
        shutil.rmtree(self.folder)
        self.place.close()


def rounds(commands, count, pick=lambda key, values: statistics.median(values), found=None):
    """Returns the median of each figure of each contender over alternating rounds, or the value that `pick` computes. `found`
    accumulates the rounds of several calls."""
    found = {} if found is None else found
    for turn in range(count):
        for name in list(commands) if turn % 2 == 0 else reversed(list(commands)):
            found.setdefault(name, []).append(measured(*commands[name]))
    return {name: {key: pick(key, [run[key] for run in found[name]]) for key in found[name][0]} for name in commands}


def beyond_bounds():
    return ([name for bounds in FLOORS.values() for name, floor in bounds.items() if name in ratios and ratios[name] < floor] +
            [name for bounds in CEILINGS.values() for name, ceiling in bounds.items()
             if name in ratios and ratios[name] > ceiling])


def unmeasured(wanted):
    """Returns the bounds of these sections that no ratio has been compared with, apart from those with a contender that is not
    installed."""
    names = [name for section in wanted for bounds in (FLOORS, CEILINGS) for name in bounds.get(section, {})
             if name not in ratios]
    lacking = [name for name in names if any(f"vs {contender}" in name for contender in absent)]
    if lacking:
        skip(f"benchmarks without {' and '.join(sorted(absent))}: {', '.join(lacking)}")
    return [f"{name} (not measured)" for name in names if name not in lacking]


def skip(what):
    """Prints what this machine cannot run, which the gate (.ci/run) repeats at its end."""
    print(f"skipped: {what}")
    if list_of_skipped := os.environ.get("EKNETWORK_SKIPPED"):
        with open(list_of_skipped, "a") as file:
            file.write(f"{what}\n")


def built_go(folder):
    """Builds the contender in Go, and returns its path; `None` without Go."""
    if not shutil.which("go"):
        return None
    program = os.path.join(folder, "GoLoad")
    run("go", "build", "-o", program, os.path.join(HERE, "Go", "main.go"))
    return program


def requests(title, base, load, quick, go, ca=None):
    print(f"\n{title}: GET of 57 bytes of JSON, decoded")
    print(f"{'':20}" + "".join(f"{f'{width} at once':>34}" for width in (1, 16, 64)))
    print(f"{'':20}" + f"{'req/s':>14}{'us CPU':>10}{'MiB':>10}" * 3)
    seconds, extra = "0.7" if quick else "2", [ca] if ca else []
    table = {}
    for width in (1, 16, 64):
        url = base + "/item.json"
        commands = {name: [load, name, "get", url, str(width), seconds, *extra] for name in ("eknetwork", "async-http-client")}
        if not ca:
            commands["urlsession"] = [load, "urlsession", "get", url, str(width), seconds]
        if go:
            commands["Go's net/http"] = [go, url, str(width), seconds, *extra]
        found = {}
        for count in (3 if quick else 5, 18):
            table[width] = rounds(commands, count, found=found)
            own = table[width]["eknetwork"]
            for name in [name for name in commands if name != "eknetwork"]:
                for figure, key in (("requests", "perSecond"), ("CPU", "cpuMicroseconds")):
                    ratios[f"{title + ' ' if ca else ''}{figure} vs {name} at {width}"] = own[key] / table[width][name][key]
            if not any(name.endswith(f" at {width}") for name in beyond_bounds()):
                break
    for name in table[1]:
        cells = [table[width][name] for width in (1, 16, 64)]
        print(f"{name:20}" + "".join(
            f"{cell['perSecond']:14.0f}{cell['cpuMicroseconds']:10.1f}{cell['peakMegabytes']:10.1f}" for cell in cells))


def loops(server, load, quick):
    """Compares one event loop with two, with four origins of one server and with one origin and 256 connections."""
    urls = [origin + "/item.json" for origin in server.origins]
    for title, url, connections in (("four origins", ",".join(urls), []), ("one origin, 256 connections", urls[0], ["LOAD_CONNECTIONS=256"])):
        print(f"\nGET of 57 bytes of JSON from {title}, decoded")
        print(f"{'at once':>8}" + "".join(f"{name:>30}" for name in ("one event loop", "two", "async-http-client")))
        for width in (1, 16, 64, 256, 1024):
            rest = ["get", url, str(width), "0.7" if quick else "2"]
            commands = {str(count): ["env", f"EKNETWORK_EVENT_LOOPS={count}", *connections, load, "eknetwork", *rest]
                        for count in (1, 2)}
            commands["async-http-client"] = ["env", *connections, load, "async-http-client", *rest]
            found = rounds(commands, 3 if quick else 7)
            print(f"{width:8}" + "".join(
                f"{result['perSecond']:16.0f} /s{result['cpuMicroseconds']:8.1f} us" for result in found.values()))
            for kind, key in (("requests", "perSecond"), ("CPU", "cpuMicroseconds")):
                ratios[f"{kind} of two event loops vs one at {width}, {title}"] = found["2"][key] / found["1"][key]


def flat(server, load, quick):
    """Checks that requests waiting for one of six connections cost no more CPU each than few of them, on each libcurl next to the checkout."""
    folder = os.path.join(HERE, "../../../shared/libcurl/lib")
    versions = sorted(os.listdir(folder), key=lambda name: [int(part) for part in name.split(".")]) if os.path.isdir(folder) else []
    widths = (6, 64, 1024, 20_000)
    print("\nMicroseconds of CPU per request, by the number of concurrent requests over six connections")
    print(f"{'libcurl':>10}" + "".join(f"{width:10}" for width in widths))
    missed = []
    for version in versions or ["system"]:
        path = [] if version == "system" else [f"LD_LIBRARY_PATH={os.path.join(folder, version)}"]
        rest = lambda width: [load, "eknetwork", "get", server.http + "/item.json", str(width), "1" if quick else "3"]
        found = rounds({width: ["env", "LOAD_CONNECTIONS=6", *path, *rest(width)] for width in widths}, 3 if quick else 5)
        print(f"{version:>10}" + "".join(f"{found[width]['cpuMicroseconds']:10.1f}" for width in widths))
        for width in widths[2:]:
            if found[width]["cpuMicroseconds"] > 1.25 * found[64]["cpuMicroseconds"]:
                missed.append(f"{width} waiting requests on libcurl {version}")
    return missed


def stream(server, load, quick):
    for title, base, options in (
            ("", server.http, []), ("https ", server.https, [server.ca]), ("http2 ", server.http2, [server.ca])):
        print(f"\n{title or 'http '}body of 400 MiB from nginx, counted as it arrives")
        url = base + "/large"
        commands = {name: [load, name, "stream", url, "1", "1" if quick else "3", *options]
                    for name in ("eknetwork", "async-http-client")}
        found = rounds(commands, 3 if quick else 5)
        curl = []
        if shutil.which("curl"):
            for _ in range(3 if quick else 5):
                before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
                run("curl", "-s", *(["--cacert", *options] if options else []), *["-o", "/dev/null", url] * 4)
                seconds, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
                curl.append((4 * (400 << 20) / seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime))
            perSecond, seconds = (statistics.median(values) for values in zip(*curl))
            found["curl -o /dev/null"] = {
                "perSecond": perSecond, "cpuMicroseconds": seconds * 1e6 / (4 * (400 << 20)), "peakMegabytes": 0}
        for name, result in found.items():
            print(f"{name:20}{result['perSecond'] / 1e6:10.0f} MB/s{result['cpuMicroseconds'] * 1e6:10.0f} ms of CPU for a GB"
                  f"  peak {result['peakMegabytes']:.1f} MiB")
            if name != "eknetwork":
                ratios[f"{title}chunks vs {name}"] = found["eknetwork"]["perSecond"] / result["perSecond"]
                ratios[f"{title}chunks CPU vs {name}"] = found["eknetwork"]["cpuMicroseconds"] / result["cpuMicroseconds"]


def latency(load):
    """Measures the latency of small events, sent every 5 ms with their send time."""
    import socket, threading
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(1)

        def serve():
            connection, _ = listener.accept()
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
                for _ in range(400):
                    connection.sendall(b"data: %d\n\n" % time.clock_gettime_ns(time.CLOCK_MONOTONIC))
                    time.sleep(0.005)

        server = threading.Thread(target=serve)
        server.start()
        found = measured(load, "eknetwork", "latency", f"http://127.0.0.1:{listener.getsockname()[1]}/", "1", "0")
        server.join()
    print(f"Age of an event when it arrives: {found['median']:.2f} ms in the median, "
          f"{found['percentile99']:.2f} ms for 99 of 100 ({found['count']} events)")
    return ["age of events"] if found["median"] > 5 or found["count"] != 400 else []


def pause(server, load):
    """Checks that memory does not grow with bodies that are not read, beyond the buffers of the library and the system."""
    left = []
    for title, url, width, limit, extra in (
            ("One body", server.http, 1, 16, []),
            # Over six connections with a hundred at a time, each of which holds 16 MiB at most of what is not read; a request has a
            # task, a stream and a head.
            ("1,000 bodies over HTTP/2", server.http2, 1000, 160, [server.ca])):
        found = measured(load, "eknetwork", "pause", url + "/huge", str(width), "2", *extra)
        print(f"{title} of 10 GiB that nobody reads: {found['growthMegabytes']:.1f} MiB of memory growth")
        if found["growthMegabytes"] > limit:
            left.append(f"growth while not reading, {title.lower()}")
    return left


def longest_backlog():
    with open("/proc/sys/net/core/somaxconn") as file:
        return int(file.read())


def burst(load, quick):
    """Sends 5,000 concurrent requests, each on its own connection, to servers that accept connections slowly."""
    left = []
    print("\n5000 at once against a server that accepts slowly")
    # When the backlog is full, connections wait for the kernel's exponential backoff, some beyond the timeout.
    for backlog, delay in ((4096, 0.0005), (8, 0.001))[: 1 if quick else 2]:
        server = subprocess.Popen([sys.executable, os.path.join(HERE, "slow_accept.py"), str(backlog), str(delay)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/item.json"
        found = measured(load, "eknetwork", "burst", url, "5000", "0")
        server.communicate("")
        print(f"backlog {backlog:5d}, one every {delay * 1000} ms:", json.dumps(found))
        # With a long backlog all are served. Where the kernel has a shorter one, some may time out.
        descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        isUnlimited = longest_backlog() >= backlog and (descriptors == resource.RLIM_INFINITY or descriptors > 6000)
        least = 4000 if backlog == 4096 and isUnlimited else 0
        if found["wrong"] or found["served"] + sum(found["failed"].values()) != 5000 or found["served"] < least:
            left.append(f"burst with a backlog of {backlog}")
    return left


def parsing(load, quick):
    print("\nParsers, from memory in blocks of 256 KiB")
    forms = ["lines-1k", "lines-64", "ndjson", "events", "bytes"]
    kinds = forms + ["body-" + form for form in forms] + ["ndjson-split"]
    commands = {kind: [load, "eknetwork", kind, "http://localhost/", "1", "0.5" if quick else "2"] for kind in kinds}
    found = rounds(commands, 3)
    for kind, result in found.items():
        print(f"{kind:20}{result['perSecond'] / 1e6:10.0f} MB/s")
    for kind in ["ndjson", "body-ndjson"]:
        ratios[f"{kind} vs decoding split lines"] = found[kind]["perSecond"] / found["ndjson-split"]["perSecond"]
    for kind in ["lines-64", "events", "bytes"]:
        ratios[f"body-{kind} vs {kind}"] = found["body-" + kind]["perSecond"] / found[kind]["perSecond"]


def websocket(load, quick):
    """Compares with a WebSocket of SwiftNIO, with the same bytes over SwiftNIO without frames, and with Python's `websockets`,
    if installed. The server is a busy process too, and a round that gets both cores when it needs them is four times as fast.
    Therefore the mean is used: one such round would decide the best, and the median would depend on whether they are more than
    half."""
    mean = lambda key, values: max(values) if key == "peakMegabytes" else statistics.mean(values)
    python = os.environ.get("EKNETWORK_PEERS_PYTHON") or os.path.join(HERE, "../../.build/peers/bin/python")
    contenders = {name: [load, name] for name in ("eknetwork", "nio-websocket", "nio")}
    if os.path.exists(python) and not subprocess.run([python, "-c", "import websockets"], capture_output=True).returncode:
        contenders["websockets"] = [python, os.path.join(HERE, "socket_client.py")]
    else:
        absent.add("websockets")
    with tempfile.TemporaryDirectory() as keys:
        key, certificate = os.path.join(keys, "key.pem"), os.path.join(keys, "ca.pem")
        certify(key, certificate)
        server = subprocess.Popen([sys.executable, os.path.join(HERE, "socket_server.py"), certificate, key],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            ports = json.loads(server.stdout.readline())
            for scheme, number, extra in (("ws", ports["plain"], []), ("wss", ports["tls"], [certificate])):
                print(f"\n{scheme}: round trips of 32 bytes, and messages received as fast as they arrive")
                loads = [("echo", 0, 16), ("receive", 65536, 1)]
                if not quick:
                    loads += [("echo", 0, 1), ("receive", 128, 1), ("receive", 1 << 20, 1)]
                for scenario, size, width in loads:
                    rest = [scenario, f"{scheme}://127.0.0.1:{number}/{size}", str(width), "0.5" if quick else "1", *extra]
                    title = f"echo at {width}" if scenario == "echo" else f"receive-{size}"
                    kept = {}
                    for count in (3 if quick else 5, 18):
                        found = rounds({name: command + rest for name, command in contenders.items()}, count, mean, kept)
                        for name in [name for name in found if name != "eknetwork"]:
                            for figure, key in (("", "perSecond"), ("CPU ", "cpuMicroseconds")):
                                ratios[f"{scheme} {title} {figure}vs {name}"] = found["eknetwork"][key] / found[name][key]
                        if not any(name.startswith(f"{scheme} {title} ") for name in beyond_bounds()):
                            break
                    for name, cell in found.items():
                        print(f"{title:18}{name:>16}" + (
                            f"{cell['perSecond']:8.0f} /s{cell['cpuMicroseconds']:7.1f} us CPU" if scenario == "echo" else
                            f"{cell['perSecond'] / 1e6:8.0f} MB/s{cell['cpuMicroseconds'] * 1e6:6.0f} ms of CPU for a GB"
                            f"{cell['peakMegabytes']:6.0f} MiB"))
        finally:
            server.stdin.close()
            server.wait()


def cache(load):
    print("\nThe response cache, nanoseconds per call")
    for entries in (1_000, 10_000, 100_000):
        runs = [measured(load, "eknetwork", "cache", "http://localhost/", str(entries), "0") for _ in range(3)]
        figures = {key: statistics.median(run[key] for run in runs) for key in sorted(runs[0]) if key != "entries"}
        print(f"{entries:8d} entries " + "".join(f"{key:>18} {value:6.0f}" for key, value in figures.items()))


def httpcache(server, load):
    """Measures sequential requests: through the cache, bypassing it, and without a cache."""
    found = measured(load, "eknetwork", "httpcache", server.http, "1", "0")
    print("\nThe HTTP cache, microseconds per call; opening in milliseconds, streaming 1 GiB in MB/s, its growth in MiB")
    for name, value in found.items():
        if isinstance(value, list):
            # A dictionary with numeric keys is encoded as key, value, key, value.
            value = dict(zip(value[::2], value[1::2]))
        values = sorted((int(key), figure) for key, figure in value.items()) if isinstance(value, dict) else [("", value)]
        print(f"{name:>18}" + "".join(f"{key:>10} {figure:8.1f}" for key, figure in values))
    ratios["HTTP cache: send vs a hit in memory"] = found["send"] / found["memoryHit"]
    ratios["HTTP cache: past the cache vs send"] = found["sendPastCache"] / found["send"]
    return ["a hit of 1 GiB takes memory"] if found["streamingGrowth"] > 32 else []


def soak(server, load, seconds):
    """Sends mixed requests, 64 at a time, a quarter of them cancelled at random, and checks that no resources leak. A third of
    the time it does so over TLS."""
    left = []
    for url, share, authorities in ((server.http, seconds * 2 // 3, []), (server.https, seconds // 3, [server.ca])):
        found = measured(load, "eknetwork", "soak", url + "/", "64", str(share), *authorities)
        print(f"\nSoak of {url}, {share} s:", json.dumps(found))
        # Connections stay in their pool, which holds at most 64 per host.
        left += [f"{name} of {url}" for name, bound in (
            ("wrong", 0), ("growthMegabytes", 10), ("descriptorsLeft", 64), ("threadsLeft", 4)) if found[name] > bound]
        # More than half of the requests are neither cancelled nor refused on purpose, and there are thousands each second.
        if found["answered"] < found["requests"] / 3 or found["requests"] < 100 * share:
            left.append(f"number of answered requests of {url}")
    burst = measured(load, "eknetwork", "get", server.http + "/item.json", "5000", "0")
    print(f"5000 at once: all served, {burst['peakMegabytes']:.1f} MiB at the peak")
    return left


def waiting(load, quick):
    """Measures 2 000 requests whose connections are never accepted; the process exits while they are in flight."""
    import socket
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(4096)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        found = measured(load, "eknetwork", "waiting", url, "2000", "3" if quick else "10")
    print(f"\n2000 requests waiting for a response: {found['cpuPercent']:.2f} % of a core, "
          f"{found['descriptors']} descriptors, {found['peakMegabytes']:.0f} MiB at the peak")
    idle = {kind: idle_streams(load, kind) for kind in ("chunks", "events")}
    print(f"800 idle streams: {idle['chunks']:.1f} KiB each, subscriptions of events {idle['events']:.1f}")
    return [name for name, isWrong in (
        ("CPU of waiting requests", found["cpuPercent"] > 2), ("number of waiting requests", found["descriptors"] < 2000),
        # 97 on 2026-11-26. It was 150 when the compiler inlined non-suspending functions into the frames of suspending ones, and
        # 169 when each connection was opened in a multi handle of its own.
        ("memory of waiting requests", found["peakMegabytes"] > 116),
        # 15 and 20 on 2026-11-29. It was 17 and 23 when functions that run once were inlined into those that wait.
        ("memory of idle streams", idle["chunks"] > 18), ("memory of idle subscriptions", idle["events"] > 23)) if isWrong]


def idle_streams(load, kind):
    """Returns the KiB of memory of each stream from a server that sends one event and is silent from then on."""
    import socket, threading
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_server(("127.0.0.1", 0), backlog=4096) as listener:
        def serve():
            connections = []
            while True:
                try:
                    connections.append(listener.accept()[0])
                except OSError:
                    return
                connections[-1].recv(65536)
                connections[-1].sendall(head + b"9\r\ndata: x\n\n\r\n")
        threading.Thread(target=serve, daemon=True).start()
        return measured(load, "eknetwork", f"idle-{kind}", f"http://127.0.0.1:{listener.getsockname()[1]}/", "800", "1")["kibibytes"]


def measure(wanted, quick, place):
    """Runs the sections; returns the names of those whose bounds are exceeded, apart from the ratios."""
    subprocess.run(["swift", "build", "-c", "release"], check=True, cwd=HERE, stdout=sys.stderr)
    folder = run("swift", "build", "-c", "release", "--show-bin-path").strip()
    load = os.path.join(folder, "Load")
    go = built_go(folder)
    left = []
    with Nginx(place()) as server:
        if "http" in wanted:
            requests("http", server.http, load, quick, go)
        if "https" in wanted:
            requests("https", server.https, load, quick, go, server.ca)
        if "http2" in wanted:
            requests("http2", server.http2, load, quick, go, server.ca)
        if "loops" in wanted:
            loops(server, load, quick)
        left += flat(server, load, quick) if "flat" in wanted else []
        if "stream" in wanted:
            stream(server, load, quick)
            left += pause(server, load)
            left += latency(load)
        left += transfers(server, load, quick, measured, ratios) if "transfers" in wanted else []
        left += httpcache(server, load) if "httpcache" in wanted else []
        left += soak(server, load, 300 if not quick else 20) if "soak" in wanted else []
    if "burst" in wanted:
        left += burst(load, quick)
    if "waiting" in wanted:
        left += waiting(load, quick)
    if "parsing" in wanted:
        parsing(load, quick)
    if "cache" in wanted:
        cache(load)
    if "websocket" in wanted:
        websocket(load, quick)
    return left


def end(*_):
    # Once: another signal must not interrupt the cleaning.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(1)


def main():
    # Without a handler, nginx and its files would stay.
    signal.signal(signal.SIGTERM, end)
    options = {word for word in sys.argv[1:] if word.startswith("--")}
    wanted = [word for word in sys.argv[1:] if not word.startswith("--")] or SECTIONS
    quick = "--quick" in options
    place = Namespace if "--namespace" in options else Loopback
    left = measure(wanted, quick, place)
    print()
    for name, ratio in ratios.items():
        print(f"{ratio:8.2f} x  {name}")
    missed = left + beyond_bounds()
    if "--check" in options and (missed := missed + unmeasured(wanted)):
        raise SystemExit("out of bounds: " + ", ".join(missed))


main()

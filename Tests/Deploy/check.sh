#!/usr/bin/env bash
# Checks the article DeployingOnLinux: builds a program with Swift's libraries linked statically, as described there, and runs
# it on this system and, where available (Tests/Matrix/debian.sh), on Debian 13: unchanged, without libcurl, with only the
# GnuTLS flavour of libcurl; and without IPv6.
set -euo pipefail
cd "$(dirname "$0")/../.."
skip() { # what; the gate (.ci/run) repeats it at its end
  printf 'skipped: %s\n' "$1"
  [ -z "${EKNETWORK_SKIPPED:-}" ] || printf '%s\n' "$1" >>"$EKNETWORK_SKIPPED"
}
if command -v musl-gcc >/dev/null; then
  bash Tests/Deploy/musl.sh --quick
else
  skip "musl: its compiler is not installed"
fi
work="$(mktemp -d)"
server=""
finish() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
failures=0
expect() { # description, expected status, expected text in the output, command…
  local what="$1" status="$2" text="$3" said code=0
  shift 3
  said="$("$@" 2>&1 </dev/null)" || code=$?
  if [ "$code" = "$status" ] && printf '%s' "$said" | grep -qF -- "$text"; then
    echo "as documented: $what"
  else
    echo "NOT AS DOCUMENTED: $what: status $code: $said"
    failures=$((failures + 1))
  fi
}

# Only libcurl's development package has the name that the linker looks for; the library itself is installed with Swift.
curl="$(ldconfig -p | sed -n 's/.*libcurl\.so\.4 .*=> //p' | head -n 1)"
mkdir "$work/link"
ln -s "$curl" "$work/link/libcurl.so"
build() { # program name, options…
  hello="$work/$1"
  shift
  local hello_build=(swift build -c release --static-swift-stdlib --package-path Tests/Deploy/Hello --scratch-path .build-deploy)
  "${hello_build[@]}" "$@" >"$work/build.log" 2>&1 || {
    cat "$work/build.log"
    exit 1
  }
  strip -o "$hello" "$("${hello_build[@]}" "$@" --show-bin-path)/Hello"
  printf 'built: %d MB, stripped\n' $(($(stat -c %s "$hello") / 1000000))
}
needed() { readelf -d "$hello" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -v '^ld-linux' | sort | tr '\n' ' '; }
build hello -Xlinker -L"$work/link"
expect "the libraries it needs" 0 "libc.so.6 libcurl.so.4 libgcc_s.so.1 libm.so.6 libstdc++.so.6" needed

command -v openssl >/dev/null && openssl req -x509 -newkey rsa:2048 -nodes -keyout "$work/key.pem" -out "$work/authority.pem" -days 2 \
  -subj /CN=localhost -addext "subjectAltName=IP:127.0.0.1" 2>/dev/null
python3 - "$work/port" "$work" <<'PYTHON' &
import http.server, os, ssl, sys, threading
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *arguments):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
secure = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
if os.path.exists(sys.argv[2] + "/key.pem"):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2] + "/authority.pem", sys.argv[2] + "/key.pem")
    secure.socket = context.wrap_socket(secure.socket, server_side=True)
    threading.Thread(target=secure.serve_forever, daemon=True).start()
with open(sys.argv[1] + ".new", "w") as file:
    file.write(f"{server.server_port} {secure.server_port}\n")
os.rename(sys.argv[1] + ".new", sys.argv[1])
server.serve_forever()
PYTHON
server=$!
until [ -e "$work/port" ]; do
  kill -0 "$server"
  sleep 0.1
done
read -r port secure_port <"$work/port"
url="http://127.0.0.1:$port/"

expect "this system" 0 "status 200" "$hello" "$url"

# A system without IPv6: no socket of that family can be created.
if command -v gcc >/dev/null; then
  gcc -shared -fPIC -x c -o "$work/four.so" - <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>
int socket(int family, int type, int protocol) {
  static int (*next)(int, int, int);
  if (family == AF_INET6) { errno = EAFNOSUPPORT; return -1; }
  if (!next) next = (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");
  return next(family, type, protocol);
}
C
  expect "without IPv6" 0 "status 200" env LD_PRELOAD="$work/four.so" "$hello" "$url"
  expect "without IPv6, by host name" 0 "status 200" env LD_PRELOAD="$work/four.so" "$hello" "${url/127.0.0.1/localhost}"
else
  skip "without IPv6: no C compiler"
fi

gnutls="$(ldconfig -p | sed -n 's/.*libcurl-gnutls\.so\.4 .*=> //p' | head -n 1)"
if [ -n "$gnutls" ]; then
  mkdir "$work/gnutls"
  ln -s "$gnutls" "$work/gnutls/libcurl.so.4"
  expect "with libcurl for GnuTLS under the name of the OpenSSL one" 1 "version \`CURL_OPENSSL_4' not found" \
    env LD_LIBRARY_PATH="$work/gnutls" "$hello" "$url"
else
  skip "with libcurl for GnuTLS: it is not installed"
fi

code=0
reason="$(bash Tests/Matrix/debian.sh --prepare)" || code=$?
if [ "$code" = 0 ]; then
  reason=""
  system="${EKNETWORK_CACHE:-$HOME/.cache/eknetwork}/debian-13"
  # Runs the program in a temporary copy of the system: within CHANGE [URL]
  within() {
    unshare --mount --fork --kill-child bash -c '
      set -e
      base="$1" folder="$2" change="$3"; shift 3
      mount -t tmpfs tmpfs "$folder"
      mkdir "$folder"/{upper,work,root}
      mount -t overlay overlay -o "lowerdir=$base,upperdir=$folder/upper,workdir=$folder/work" "$folder/root"
      mount -t proc proc "$folder/root/proc"
      cp "$1" "$folder/root/hello"; shift
      cd "$folder/root/usr/lib/$(uname -m)-linux-gnu"
      eval "$change"
      cd /
      exec chroot "$folder/root" /hello "$@"
    ' bash "$system" "$work/mount" "$1" "$hello" "${2:-$url}"
  }
  mkdir -p "$work/mount"
  expect "Debian 13" 0 "status 200" within true
  expect "without libcurl" 127 "libcurl.so.4: cannot open shared object file" within 'rm -f libcurl.so.4*'
  expect "without certificates" 1 "certificate" within 'rm -rf ../../../etc/ssl/certs' "${url/http:/https:}"
  if [ -n "$gnutls" ]; then
    expect "with only libcurl for GnuTLS" 127 "libcurl.so.4: cannot open shared object file" \
      within "rm -f libcurl.so.4*; cp '$gnutls' libcurl-gnutls.so.4"
  fi
elif [ "$code" = 3 ]; then
  skip "Debian 13: $reason"
else
  echo "Debian 13 cannot be prepared: status $code: $reason"
  exit 1
fi

# libcurl as a static archive with the options of the SDK's: TLS and zlib, and no default certificate path.
sources="../shared/libcurl/src/curl-8.14.1.tar.xz"
libraries="$(gcc -print-file-name=libssl.a 2>/dev/null || true)"
if [ -f "$sources" ] && [ -f "$libraries" ] && command -v cmake >/dev/null; then
  tar xf "$sources" -C "$work"
  (
    cd "$work/curl-8.14.1"
    for folder in docs docs/examples docs/libcurl docs/cmdline-opts tests projects scripts packages; do
      mkdir -p $folder
      touch $folder/CMakeLists.txt
    done
    cmake -B build -DCMAKE_C_FLAGS=-O1 -DBUILD_CURL_EXE=OFF -DBUILD_SHARED_LIBS=OFF -DBUILD_STATIC_LIBS=ON -DBUILD_TESTING=OFF \
      -DCURL_USE_PKGCONFIG=OFF -DCURL_USE_LIBPSL=OFF -DCURL_USE_LIBSSH2=OFF -DUSE_NGHTTP2=OFF -DCURL_BROTLI=OFF -DCURL_ZSTD=OFF \
      -DUSE_LIBIDN2=OFF -DCURL_CA_BUNDLE=none -DCURL_CA_PATH=none -DBUILD_LIBCURL_DOCS=OFF -DBUILD_MISC_DOCS=OFF \
      -DENABLE_CURL_MANUAL=OFF -DHTTP_ONLY=ON && make -C build -j"$(nproc)"
  ) >"$work/curl.log" 2>&1 || {
    tail -n 20 "$work/curl.log"
    exit 1
  }
  mkdir "$work/archives"
  cp "$work/curl-8.14.1/build/lib/libcurl.a" "$(dirname "$libraries")"/lib{ssl,crypto,z}.a "$work/archives"
  build hello-whole -Xlinker -L"$work/archives" -Xlinker -lssl -Xlinker -lcrypto -Xlinker -lz
  expect "the libraries it needs with libcurl linked statically" 0 "libc.so.6 libgcc_s.so.1 libm.so.6 libstdc++.so.6" needed
  expect "with libcurl linked statically" 0 "status 200" "$hello" "$url"
  expect "with libcurl linked statically, an unknown authority" 1 "certificate" "$hello" "https://127.0.0.1:$secure_port/"
  if [ -z "$reason" ]; then
    expect "with libcurl linked statically, without the system's" 0 "status 200" within 'rm -f libcurl.so.4*'
    expect "with libcurl linked statically, and the authorities in another distribution's location" 0 "status 200" \
      within "rm -rf ../../../etc/ssl/*; cp '$work/authority.pem' ../../../etc/ssl/cert.pem" "https://127.0.0.1:$secure_port/"
  fi
else
  skip "with libcurl linked statically: its sources, cmake or OpenSSL's archives are missing"
fi
[ "$failures" = 0 ]

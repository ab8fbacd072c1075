#!/usr/bin/env python3
"""Prints the files of the library whose code a warm `send` executes, sorted by path, and the number of function calls into
each per `send`: way.py [--most N]. With --most it fails if a send over the network involves more than N files.

The calls are counted by the compiler's coverage instrumentation in a debug build. Helpers such as a lock count as well.
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from instructions import HERE, listening

SENDS = 1000


def covered(program, toolchain, folder, kind, url):
    """Returns the number of calls into each file, of functions that every `send` calls."""
    raw, profile = os.path.join(folder, "raw"), os.path.join(folder, "profile")
    subprocess.run([program, kind, str(SENDS), url], check=True, env={**os.environ, "LLVM_PROFILE_FILE": raw})
    subprocess.run([toolchain / "llvm-profdata", "merge", "-o", profile, raw], check=True)
    export = subprocess.run([toolchain / "llvm-cov", "export", "-format=text", "-instr-profile", profile, program], check=True,
                            capture_output=True, text=True)
    calls = collections.Counter()
    for function in json.loads(export.stdout)["data"][0]["functions"]:
        name = function["filenames"][0].partition("/Sources/EKNetwork/")[2]
        if name and function["count"] >= SENDS * 0.9:
            calls[name] += function["count"]
    return calls


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int)
    options = parser.parse_args()
    build = ["swift", "build", "--package-path", HERE, "--scratch-path", os.path.join(HERE, ".build-way"),
             "--product", "Instructions", "-Xswiftc", "-profile-generate", "-Xswiftc", "-profile-coverage-mapping"]
    subprocess.run(build, check=True, stdout=sys.stderr)
    found = subprocess.run([*build, "--show-bin-path"], check=True, capture_output=True, text=True).stdout.strip()
    compiler = subprocess.run(["swift", "-print-target-info"], check=True, capture_output=True, text=True).stdout
    toolchain = pathlib.Path(json.loads(compiler)["paths"]["runtimeResourcePath"]).parent.parent / "bin"
    with tempfile.TemporaryDirectory() as folder:
        injected, network = (covered(os.path.join(found, "Instructions"), toolchain, folder, kind, listening())
                             for kind in ("mock", "wire"))
    for name, calls in sorted(network.items()):
        print(f"{calls / SENDS:5.0f}  {name}")
    shared = network.keys() & injected.keys()
    print(f"{len(network)} files over a network, {len(network) - len(shared)} of them only there; "
          f"{len(injected)} with an injected session")
    if not network or not injected:
        sys.exit("no files: have the sources moved?")
    if options.most and len(network) > options.most:
        sys.exit(f"more than {options.most}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Prints the identifier of an available simulator: simctl list devices available --json | simulator.py PLATFORM DEVICE"""
import json, re, sys

platform, device = sys.argv[1:3]
# The names of its runtimes say "xrOS" instead of "visionOS".
name = {"visionOS": "xrOS"}.get(platform, platform)


def version(runtime):
    return [int(number) for number in re.findall(r"\d+", runtime)]


runtimes = json.load(sys.stdin)["devices"]
found = [
    (version(runtime), one["udid"])
    for runtime, devices in runtimes.items()
    if f"SimRuntime.{name}-" in runtime
    for one in devices
    if one["name"].startswith(device)
]
if not found:
    sys.exit(f"no {device} simulator for {platform}")
print(max(found)[1])

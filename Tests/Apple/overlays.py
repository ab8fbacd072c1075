#!/usr/bin/env python3
"""Compiles the overlays in stubs/swift, textual interfaces without their header lines, for an Apple target."""
import os, subprocess, sys
sys.dont_write_bytecode = True
from stdlib import PLATFORMS, with_visionos
TOOLCHAIN = os.environ["SWIFT_TOOLCHAIN"]
STDLIB, OUT = os.environ["APPLE_STDLIB"], os.environ["APPLE_OVERLAYS"]
# In dependency order.
MODULES = ["Darwin", "ObjectiveC", "Dispatch", "Combine", "Foundation", "os", "Security", "Network"]
UNDERLYING = {"Darwin", "ObjectiveC", "Foundation", "Security"}

def main():
    name = sys.argv[1]
    _, file_os, triple_os = PLATFORMS[name]
    triple = f"arm64-apple-{triple_os}"
    modules = os.path.join(OUT, "modules", name)
    failed = False
    for module in MODULES:
        source = os.path.join(OUT, "stubs", "swift", module + ".swiftinterface")
        target = os.path.join(modules, module + ".swiftmodule")
        os.makedirs(target, exist_ok=True)
        interface = os.path.join(target, f"arm64-apple-{file_os}.swiftinterface")
        underlying = " -import-underlying-module" if module in UNDERLYING else ""
        with open(source) as f: body = f.read()
        if "xros" in triple: body = with_visionos(body)
        with open(interface, "w") as f:
            f.write("// swift-interface-format-version: 1.0\n// swift-compiler-version: stub\n"
                f"// swift-module-flags: -target {triple} -enable-objc-interop -enable-library-evolution -swift-version 5"
                f" -module-name {module}{underlying}\n" + body)
        command = [f"{TOOLCHAIN}/usr/bin/swift-frontend", "-compile-module-from-interface", interface,
            "-o", interface.replace(".swiftinterface", ".swiftmodule"), "-target", triple, "-sdk", os.path.join(OUT, "empty"),
            "-resource-dir", os.path.join(STDLIB, "resources"), "-I", modules, "-module-name", module, "-module-cache-path", os.path.join(OUT, "cache"),
            "-I", os.path.join(OUT, "stubs", "c"), "-disable-availability-checking"]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            failed = True
            print(f"{module} for {name}:\n{result.stderr[:6000]}", flush=True)
    sys.exit(failed)
main()

#!/usr/bin/env python3
"""Builds the standard library's modules for an Apple target from the interfaces that the Linux toolchain ships.

Only for type checking: declarations that are compiled out on Linux are missing; the others have Apple's availability,
which the interfaces keep. Usage: stdlib.py macos|ios|tvos|watchos|visionos [another module...]
"""
import os, re, subprocess, sys

TOOLCHAIN = os.environ["SWIFT_TOOLCHAIN"]
OUT = os.environ["APPLE_STDLIB"]
# OS: (directory of the resource folder, name in file names, triple's OS with the minimum version)
PLATFORMS = {
    "macos": ("macosx", "macos", "macosx13.0"),
    "ios": ("iphoneos", "ios", "ios16.0"),
    "tvos": ("appletvos", "tvos", "tvos16.0"),
    "watchos": ("watchos", "watchos", "watchos9.0"),
    "visionos": ("xros", "xros", "xros1.0"),
}
# In dependency order.
MODULES = ["Swift", "SwiftOnoneSupport", "_Concurrency", "_RegexParser", "_StringProcessing", "RegexBuilder", "Observation"]

# Declarations that the compiler requires, and that the interface lacks because Objective-C interoperability is off on Linux.
OBJC = """
@frozen public struct AutoreleasingUnsafeMutablePointer<Pointee> : Swift._Pointer {
  public let _rawValue: Builtin.RawPointer
  @_transparent public init(_ _rawValue: Builtin.RawPointer) { self._rawValue = _rawValue }
  @inlinable public var pointee: Pointee {
    get { UnsafePointer<Pointee>(_rawValue).pointee }
    nonmutating set { UnsafeMutablePointer<Pointee>(_rawValue).pointee = newValue }
  }
  public subscript(i: Swift.Int) -> Pointee { @inlinable get { self.advanced(by: i).pointee } }
}
public func _bridgeAnyObjectToAny(_ possiblyNullObject: Swift.AnyObject?) -> Any
public func _getErrorEmbeddedNSError<T>(_ x: T) -> Swift.AnyObject? where T : Swift.Error
public func _bridgeErrorToNSError(_ error: __owned any Swift.Error) -> Swift.AnyObject
@usableFromInline internal func _forceBridgeFromObjectiveC<T>(_ x: Swift.AnyObject, _: T.Type) -> T
@usableFromInline internal func _conditionallyBridgeFromObjectiveC<T>(_ x: Swift.AnyObject, _: T.Type) -> T?
public func _getBridgedNonVerbatimObjectiveCType<T>(_: T.Type) -> Any.Type?
"""

def with_visionos(text):
    """Adds the visionOS version that corresponds to an iOS version, which the compiler does not know without an SDK's version map."""
    def add(match):
        inside = match[2]
        if "visionOS" in inside: return match[0]
        version = re.search(r"\biOS (\d+)(?:\.\d+)*", inside)
        if not version: return match[0]
        number = int(version[1])
        vision = "1.0" if number <= 17 else "2.0" if number == 18 else f"{number}.0"
        return match[1] + inside.replace(version[0], version[0] + ", visionOS " + vision, 1) + ")"
    return re.sub(r"(@available\()(macOS [^)]*)\)", add, text)

def with_narrow_literals(text):
    """Makes a literal that exceeds an Int of 32 bits an error, as for the watches that have them (arm64_32)."""
    narrow, count = re.subn(
        r"(public struct Int :.*?)(Builtin\.s_to_s_checked_trunc_IntLiteral_Int)64\(x\)\.0",
        r"\1Builtin.sext_Int32_Int64(\g<2>32(x).0)", text, count=1, flags=re.DOTALL)
    assert count == 1
    return narrow

def convert(text, module, triple):
    if "xros" in triple: text = with_visionos(text)
    lines = []
    for line in text.split("\n"):
        if line.startswith("// swift-module-flags:"):
            line = line.replace("-target x86_64-unknown-linux-gnu", "-target " + triple)
            line = line.replace("-disable-objc-interop", "-enable-objc-interop")
        # A back-deployed function needs a body, which the interface of another platform omits. Its availability, which is
        # checked here, is declared separately.
        if re.match(r"\s*@backDeployed\(", line):
            line = re.sub(r"@backDeployed\([^)]*\)", "", line)
        line = re.sub(r"^import Glibc$", "import Darwin", line)
        lines.append(line)
    text = "\n".join(lines)
    # Float80 stays although arm64 has none: nothing here uses it.
    text = text.replace("_stdlib_remainderl(self, other)", "other").replace("_stdlib_squareRootl(self)", "self + 0")
    if module == "Swift":
        text += OBJC
        if "watchos" in triple: text = with_narrow_literals(text)
    return text

def main():
    name = sys.argv[1]
    folder, file_os, triple_os = PLATFORMS[name]
    arch = "arm64"
    triple = f"{arch}-apple-{triple_os}"
    res = os.path.join(OUT, "resources")
    os.makedirs(res, exist_ok=True)
    for link in ("shims", "clang", "apinotes"):
        path = os.path.join(res, link)
        if not os.path.lexists(path):
            os.symlink(f"{TOOLCHAIN}/usr/lib/swift/{link}", path)
    failed = False
    for module in MODULES + sys.argv[2:]:
        source = f"{TOOLCHAIN}/usr/lib/swift/linux/{module}.swiftmodule/x86_64-unknown-linux-gnu.swiftinterface"
        target = os.path.join(res, folder, module + ".swiftmodule")
        os.makedirs(target, exist_ok=True)
        interface = os.path.join(target, f"{arch}-apple-{file_os}.swiftinterface")
        with open(source) as f: text = f.read()
        with open(interface, "w") as f: f.write(convert(text, module, triple))
        command = [f"{TOOLCHAIN}/usr/bin/swift-frontend", "-compile-module-from-interface", interface,
            "-o", interface.replace(".swiftinterface", ".swiftmodule"), "-target", triple, "-sdk", os.path.join(OUT, "empty"),
            "-resource-dir", res, "-module-name", module, "-module-cache-path", os.path.join(OUT, "cache"),
            "-I", os.path.join(OUT, "stubs", "c"), "-disable-availability-checking"]
        if module in ("Swift", "SwiftOnoneSupport", "_Concurrency"): command.append("-parse-stdlib")
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode:
            failed = True
            print(f"{module} for {name}:\n{result.stderr[:4000]}", flush=True)
    sys.exit(failed)

if __name__ == "__main__": main()

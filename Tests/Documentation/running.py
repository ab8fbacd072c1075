"""Runs the blocks marked `context: run` in one program, against the loopback server."""
import pathlib, re, subprocess, tempfile

from compiling import PRELUDE, ROOT

HARNESS = ROOT / "Tests/Documentation/harness.swift"


def objects(build):
    """Returns the object files of the library and the server, taken from the link list of the demo."""
    listed = (build / "EKNetworkDemo.product/Objects.LinkFileList").read_text().split("\n")
    return [name.strip("'\"") for name in listed if name.strip() and "EKNetworkDemo.build" not in name]


def run_all(named_blocks, options, build):
    """Returns complaints about (document, block) pairs. Blocks that several documents share are run once."""
    distinct = list({block.code: (name, block) for name, block in reversed(named_blocks)}.values())
    if not distinct:
        return []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        # Points the prelude to the loopback server.
        prelude = re.sub(r'URL\(string: "https://api\.example\.com"\)!', "Harness.server.baseURL", PRELUDE.read_text())
        (folder / "prelude.swift").write_text(prelude)
        (folder / "harness.swift").write_text(HARNESS.read_text())
        calls = []
        for index, (name, block) in enumerate(distinct):
            location = f'#sourceLocation(file: "{name}", line: {block.line})\n'
            (folder / f"block{index}.swift").write_text(
                f"import EKNetwork\nfunc block{index}() async throws {{\n{location}{block.code}#sourceLocation()\n}}\n")
            calls.append(f'await Harness.run("{name}:{block.line}") {{ try await block{index}() }}\n')
        (folder / "main.swift").write_text("import EKNetwork\n" + "".join(calls) + "Harness.finish()\n")
        program = folder / "blocks"
        command = ["swiftc", "-swift-version", "6", "-o", str(program), *map(str, folder.glob("*.swift")), *options,
            *objects(build)]
        built = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if built.returncode:
            return ["the `context: run` blocks do not compile:\n" + built.stderr]
        done = subprocess.run([str(program)], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    complaints = [line for line in done.stderr.split("\n") if line]
    return complaints or ([] if done.returncode == 0 else [f"the `context: run` blocks exited with {done.returncode}"])

"""Type-checks Swift blocks against the last build of the library, in Swift 6 mode, in modules of both isolations."""
import concurrent.futures, os, pathlib, re, subprocess, tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRELUDE = ROOT / "Tests/Documentation/prelude.swift"


def build_folder():
    path = subprocess.run(["swift", "build", "--show-bin-path"], cwd=ROOT, capture_output=True, text=True, check=True)
    return pathlib.Path(path.stdout.strip())


def library_options():
    """Returns the compiler options that locate the library."""
    build = build_folder()
    if not (build / "Modules/EKNetwork.swiftmodule").exists():
        raise SystemExit("the library is not built: run `swift build` first")
    options = ["-I", str(build / "Modules")]
    for module in ("CCurl", "CZlib"):
        options += ["-I", str(ROOT / "Sources" / module / "include")]
        modulemap = build / f"{module}.build" / "module.modulemap"
        options += ["-Xcc", f"-fmodule-map-file={modulemap}"] if modulemap.exists() else []
    return options


def source(name, block, index=0):
    """Returns a source file with the block, which reports errors at the document's lines. Statements are in a function of their
    own, whose name ends in the index."""
    location = f'#sourceLocation(file: "{name}", line: {block.line})\n'
    if block.context in ("body", "run"):
        return f"import EKNetwork\nfunc block{index}() async throws {{\n{location}{block.code}#sourceLocation()\n}}\n"
    stands_alone = re.search(r"^import EKNetwork$", block.code, re.M)
    return ("" if stands_alone else "import EKNetwork\n") + location + block.code


def compile_block(name, block, options, on_main_actor=False):
    """Returns the compiler's errors or an empty string. A block that imports the library is compiled without the prelude."""
    return compile_module([(name, block)], options, on_main_actor)


def compile_module(named_blocks, options, on_main_actor):
    """Compiles a block of declarations, or blocks of statements, which cannot disturb each other: each has a file and a function
    of its own. To import the library takes longer than all of them."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for index, (name, block) in enumerate(named_blocks):
            files.append(str(pathlib.Path(folder) / f"block{index}.swift"))
            pathlib.Path(files[-1]).write_text(source(name, block, index))
            stands_alone = block.context.endswith("file") and re.search(r"^import EKNetwork$", block.code, re.M)
        files += [] if stands_alone else [str(PRELUDE)]
        command = ["swiftc", "-emit-sil", "-wmo", "-o", os.devnull, "-parse-as-library", "-swift-version", "6", *options, *files]
        if on_main_actor:
            command += ["-default-isolation", "MainActor"]
        result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if result.returncode == 0:
        return ""
    module = " (on the main actor)" if on_main_actor else ""
    errors = [line + module for line in result.stderr.splitlines() if re.match(r"[^\s|].*error:", line)]
    return "\n".join(dict.fromkeys(errors)) or result.stderr


def compile_all(named_blocks, options):
    """Returns complaints about (document, block) pairs. Blocks that several documents share are compiled once."""
    distinct = {(block.context, block.code): (name, block) for name, block in reversed(named_blocks)}
    statements = [pair for pair in distinct.values() if pair[1].context in ("body", "run")]
    count = os.cpu_count() or 1
    modules = [statements[index::count] for index in range(min(count, len(statements)))]
    modules += [[pair] for pair in distinct.values() if pair[1].context not in ("body", "run")]
    jobs = [(module, options, isolated) for module in modules for isolated in (False, True)
            if module[0][1].context != ("nonisolated file" if isolated else "main actor file")]
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        results = pool.map(lambda job: compile_module(*job), jobs)
        return [complaint for complaint in results if complaint]

"""Builds the documentation catalog with the toolchain's docc; all of its diagnostics are complaints."""
import pathlib, re, shutil, subprocess, tempfile

CATALOG = "Sources/EKNetwork/EKNetwork.docc"


def catalog_complaints(root, extract):
    """`extract` writes the library's symbol graphs to a folder."""
    docc = shutil.which("docc")
    if not docc:
        return [f"{CATALOG}: the toolchain has no docc"]
    with tempfile.TemporaryDirectory() as folder:
        graphs = pathlib.Path(folder) / "graphs"
        graphs.mkdir()
        extract(graphs)
        command = [docc, "convert", str(root / CATALOG), "--additional-symbol-graph-dir", str(graphs),
            "--fallback-display-name", "EKNetwork", "--fallback-bundle-identifier", "EKNetwork",
            "--output-path", str(pathlib.Path(folder) / "out"), "--analyze"]
        result = subprocess.run(command, capture_output=True, text=True)
    text = result.stdout + result.stderr
    found = re.findall(r"^(?:warning|error): .*(?:\n\s*-->.*)?", text, re.M)
    if result.returncode and not found:
        found = [text]
    return [re.sub(r"\s*\n\s*--> ", " at ", complaint) for complaint in found]

#!/usr/bin/env python3
"""Counts the lines that are compiled only for Apple's platforms."""
import pathlib, re, sys
ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULES = {"apple": {"Darwin", "Combine", "os", "Network"}, "linux": {"Glibc", "FoundationNetworking"}}
SYSTEMS = {"apple": "macOS", "linux": "Linux"}
def holds(condition, side):
    text = re.sub(r"canImport\((\w+)\)", lambda m: str(m[1] in MODULES[side]), condition)
    text = re.sub(r"os\((\w+)\)", lambda m: str(m[1] == SYSTEMS[side]), text)
    text = text.replace("!", " not ").replace("&&", " and ").replace("||", " or ")
    try: return bool(eval(text))
    except NameError: return None  # -D flags have the same value on both
def active(lines, side):
    stack, out = [], []
    for line in lines:
        m = re.match(r"\s*#(if|elseif|else|endif)\b(.*)", line)
        if m:
            kind = m[1]
            if kind == "if":
                value = holds(m[2], side); stack.append([value, value])
            elif kind == "elseif":
                value = not stack[-1][1] and holds(m[2], side); stack[-1] = [value, stack[-1][1] or value]
            elif kind == "else": stack[-1] = [not stack[-1][1] if stack[-1][1] is not None else None, True]
            else: stack.pop()
            out.append(False)
        else: out.append(all(v is not False for v, _ in stack))
    return out
total = {}
for file in sorted(ROOT.glob("Sources/**/*.swift")) + sorted(ROOT.glob("Tests/EKNetworkTests/**/*.swift")):
    lines = file.read_text().split("\n")
    apple, linux = active(lines, "apple"), active(lines, "linux")
    only = [i for i, l in enumerate(lines) if apple[i] and not linux[i] and l.strip()]
    if only:
        name = str(file.relative_to(ROOT)); part = name.split("/")[1]
        code = [i for i in only if not lines[i].strip().startswith("//")]
        total[part] = total.get(part, 0) + len(code)
        print(f"{len(code):4} {name}")
print(total)

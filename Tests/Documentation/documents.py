"""Parses the documents into headings, Swift blocks, and the number of elements between them."""
import re
from typing import NamedTuple

CONTEXTS = ("file", "nonisolated file", "main actor file", "body", "run", "signature", "manifest", "recipe")


class Block(NamedTuple):
    """A Swift block. `scope` is the type whose members a signature block holds, or the file of a recipe."""

    context: str
    scope: str
    code: str
    line: int


class Heading(NamedTuple):
    level: int
    text: str
    line: int


def blocks(text):
    """Returns all Swift blocks. A block without a comment before it must compile on its own."""
    found, context, scope, code, start = [], "file", "", None, 0
    for number, line in enumerate(text.split("\n"), 1):
        if code is not None:
            if line.strip() == "```":
                found.append(Block(context, scope, "\n".join(code) + "\n", start))
                context, scope, code = "file", "", None
            else:
                code.append(line)
        elif match := re.fullmatch(r"\s*<!-- context: (\w[\w ]*?)(?: of ([\w.]+))? -->", line):
            context, scope = match.group(1), match.group(2) or ""
        elif line.strip() == "```swift":
            code, start = [], number + 1
        elif line.strip():
            context, scope = "file", ""
    return found


def unclosed(text):
    """Returns the line of a fence that is not closed before the next one or the end, or 0."""
    opened = 0
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip().startswith("```"):
            if opened and line.strip() != "```":
                return opened
            opened = 0 if opened else number
    return opened


def prose(text):
    """Yields the lines outside fenced blocks, with their numbers."""
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def headings(text):
    return [
        Heading(len(match.group(1)), match.group(2).strip(), number)
        for number, line in prose(text)
        if (match := re.match(r"(#+) (.*)", line))
    ]


def shape(text):
    """Returns for each section its level and its numbers of list items, table rows and blocks."""
    sections, fenced = [[0, 0, 0, 0]], False
    for line in text.split("\n"):
        if line.strip().startswith("```"):
            sections[-1][3] += 0 if fenced else 1
            fenced = not fenced
        elif not fenced:
            if match := re.match(r"(#+) ", line):
                sections.append([len(match.group(1)), 0, 0, 0])
            sections[-1][1] += bool(re.match(r"\s*(?:[-*]|\d+\.) ", line))
            sections[-1][2] += line.startswith("|")
    return sections


def local_links(text):
    """Yields the files and headings that are linked to, with the line number."""
    for number, line in prose(text):
        for target in re.findall(r"\]\(([^)\s]+)\)", line):
            if not re.match(r"[a-z]+:", target):
                yield number, target


def anchor(heading):
    """Returns the anchor that GitHub assigns to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")

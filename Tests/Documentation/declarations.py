"""Writes the declarations of the references as the library's symbol graph has them."""
import re
from difflib import SequenceMatcher

from documents import blocks
from symbols import KINDS, base_name, match_member, statements

WIDTH = 120


def pieces(text):
    """Splits a list at the commas that are not inside brackets."""
    parts, depth, quoted = [""], 0, False
    for character, following in zip(text, text[1:] + " "):
        quoted ^= character == '"'
        # The arrow of a closure is not a bracket.
        depth += 0 if quoted else (character in "([{<") - (character in ")]}" or character == ">" and not parts[-1].endswith("-"))
        if character == "," and depth == 0 and not quoted and following == " ":
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


def written(symbol):
    """Returns a declaration of the symbol graph as the references write it."""
    text = re.sub(r"^(?:@(?!MainActor)[\w.]+ )+", "", symbol)
    text = re.sub(r"\bnonisolated(?:\(\w+\))? |\bconvenience |\bfinal ", "", text)
    text, _, clause = text.partition(" where ")
    conditions = [part for part in pieces(clause) if not part.endswith("SendableMetatype")]
    subjects = {part.partition(" : ")[0] for part in conditions}
    if len(subjects) == 1 and (parameter := f"<{(subject := subjects.pop())}>") in text:
        text = text.replace(parameter, f"<{subject}: {' & '.join(part.partition(' : ')[2] for part in conditions)}>", 1)
    elif conditions:
        text += " where " + ", ".join(conditions).replace(" : ", ": ")
    text = text if text.startswith("case ") else re.sub(r"^(@MainActor )?", r"\1public ", text)
    opening = text.find("(", text.find("init") if "init" in text else 0)
    if len(text) <= WIDTH or opening < 0:
        return text
    depth, closing = 0, opening
    for closing in range(opening, len(text)):
        depth += (text[closing] == "(") - (text[closing] == ")")
        if depth == 0:
            break
    parameters = pieces(text[opening + 1 : closing])
    return text[: opening + 1] + "\n" + ",\n".join("    " + parameter for parameter in parameters) + "\n" + text[closing:]


def with_scopes(block):
    """Yields the statements of a signature block that declare members, with the type that each belongs to."""
    scopes = [block.scope]
    for statement, first, count in statements(block.code):
        if statement == "}" and len(scopes) > 1:
            scopes.pop()
        elif match := re.match(KINDS + r".*\{(?P<end>\s*\})?$", statement):
            if not match.group("end"):
                scopes.append(".".join(filter(None, [scopes[-1], match.group("name")])))
        else:
            yield first, count, statement, scopes[-1]


def updated(text, library, declared):
    """Returns the reference with the library's declarations, and the symbols for which it has no block.

    A declaration that differs becomes the most similar one of that name, and one that does not exist is removed. What is not
    declared is added to the last block of its type. `declared` has the symbols that the reference declares as they are.
    """
    lines, missing = text.split("\n"), library.documented_paths() - declared
    places = [(block.line - 1 + first, count, statement, scope)
              for block in blocks(text) if block.context == "signature"
              for first, count, statement, scope in with_scopes(block)]
    changes = []

    def change(line, count, indent, declarations):
        changes.append((line, count, [indent + part for text in declarations for part in written(text).split("\n")]))

    for line, count, statement, scope in places:
        if match_member(library, statement, scope, strict=True)[1]:
            name = re.escape(".".join(filter(None, [scope, base_name(statement)]))) + r"(?:\(.*\))?"
            found = [(path, text) for path, texts in library.symbols.items() for text in texts if re.fullmatch(name, path)]
            similar = sorted(found, key=lambda pair: SequenceMatcher(None, statement, pair[1]).ratio())[-1:]
            change(line, count, re.match(r"\s*", lines[line]).group(), [text for _, text in similar])
            missing = missing - {path for path, _ in similar}
    for path in sorted(missing):
        owner = path.partition("(")[0].rpartition(".")[0]
        ends = [(line, count) for line, count, _, scope in places if owner and scope == owner]
        if ends:
            line, count = ends[-1]
            change(line + count, 0, re.match(r"\s*", lines[line]).group(), library.symbols[path])
            missing = missing - {path}
    for line, count, new in sorted(changes, key=lambda change: change[0], reverse=True):
        lines[line : line + count] = new
    return "\n".join(lines), sorted(missing)

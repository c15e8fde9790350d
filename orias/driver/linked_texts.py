"""PTX texts that are linked: they become one module, in which a name is declared once and has one linkage.

A linker compiles every input by itself: a variable or function without linkage belongs to its input, and what one input
declares as external another one defines.  Source lines keep their files.  Other debugging information (types, variables) is
left out: its tables refer to each other by offsets in the sections of one input.
"""

import re
from collections import Counter
from typing import Final

_NAME: Final = rb"[A-Za-z_$][\w$]*"
_FUNCTION: Final = rb"func\s*(?:\([^)]*\)\s*)?"
_IDENTIFIER: Final = re.compile(rb"(?<![\w$.%])" + _NAME)
_OWN: Final = re.compile(
    rb"(?m)^[ \t]*\.(?:(?:global|const|shared|tex)\b[^;={}()\[\]]*?|" + _FUNCTION + rb")(" + _NAME + rb")\s*[\[=;({]"
)
"""A declaration without linkage, which begins a line, and its name."""
_DEFINED: Final = re.compile(rb"\.(visible|weak)\s+\." + _FUNCTION + rb"(" + _NAME + rb")")
"""Linkage and name of a function that other texts can call."""
_EXTERNAL: Final = re.compile(rb"\.extern(\s+\." + _FUNCTION + rb"(" + _NAME + rb")[^;{]*;)")
"""A declaration of one, and its name."""
_WEAK_VARIABLE: Final = re.compile(
    rb"(?m)^([ \t]*\.(?:common|weak)\s+\.(?:global|const|shared)\b[^;={}]*?("
    + _NAME
    + rb")\s*(?:\[[^\]]*\]\s*)*)(?:=[^;]*)?;"
)
"""A variable of which each input may have a definition: the declaration, and its name."""
_WEAK_FUNCTION: Final = re.compile(rb"\.weak\s+\." + _FUNCTION + rb"(" + _NAME + rb")[^;{]*(?=\{)")
_STRONG_FUNCTION: Final = re.compile(rb"\.visible\s+\." + _FUNCTION + rb"(" + _NAME + rb")[^;{]*\{")
_BRACE: Final = re.compile(rb"[{}]")
_FILE: Final = re.compile(rb"(?m)^([ \t]*\.file[ \t]+)(\d+)")
_PLACE: Final = re.compile(rb"((?:^|[;}])[ \t]*\.loc[ \t]+|\binlined_at[ \t]+)(\d+)", re.MULTILINE)
_DEBUG: Final = re.compile(rb"(?m)^([ \t]*\.target\b[^\n]*?)[ \t]*,[ \t]*debug\b")
"""What promises such sections."""
_SECTION: Final = re.compile(rb"(?m)^[ \t]*\.section[ \t]+\.(debug_\w+)\s*\{[^}]*\}")
"""A section of debugging information, and its name."""
_STRINGS: Final = b"debug_str"
"""The section of the names of inlined functions, which lines refer to by label."""
_LABEL: Final = re.compile(rb"(?m)^[ \t]*(" + _NAME + rb"):")


def linked(texts: list[bytes]) -> list[bytes]:
    """The texts with names, linkage, and numbers of source files as they are in one module."""
    return _resolved(_once(_separated(_with_lines(texts))))


def _with_lines(texts: list[bytes]) -> list[bytes]:
    """Source files get numbers of their own in each text, and labels of strings names of their own; other sections go."""
    out = []
    first = 0
    for i, given in enumerate(texts):
        strings = b"".join(m[0] for m in _SECTION.finditer(given) if m[1] == _STRINGS)
        labels = set(_LABEL.findall(strings))

        def of_section(m: re.Match[bytes]) -> bytes:
            return m[0] if m[1] == _STRINGS else b"\n" * m[0].count(b"\n")

        def of_file(m: re.Match[bytes], first: int = first) -> bytes:
            return m[1] + b"%d" % (first + int(m[2]))

        def of_label(m: re.Match[bytes], i: int = i, labels: set[bytes] = labels) -> bytes:
            return m[0] + b"$%d" % i if m[0] in labels else m[0]

        text = _DEBUG.sub(rb"\1", _SECTION.sub(of_section, given))
        numbers = [int(n) for _, n in _FILE.findall(text)]
        text = _FILE.sub(of_file, _PLACE.sub(of_file, text))
        out.append(_IDENTIFIER.sub(of_label, text) if labels else text)
        first += max(numbers, default=0)
    return out


def _separated(texts: list[bytes]) -> list[bytes]:
    """What one declares without linkage and another one mentions gets a name of its own."""
    mentioned = [set(_IDENTIFIER.findall(t)) for t in texts]
    texts_with = Counter(name for names in mentioned for name in names)
    out = []
    for i, text in enumerate(texts):
        own = {name for name in _OWN.findall(text) if texts_with[name] > 1}
        suffix = b"$%d" % i
        while any(name + suffix in texts_with for name in own):
            suffix += b"$"

        def renamed(m: re.Match[bytes], own: set[bytes] = own, suffix: bytes = suffix) -> bytes:
            return m[0] + suffix if m[0] in own else m[0]

        out.append(_IDENTIFIER.sub(renamed, text) if own else text)
    return out


def _once(texts: list[bytes]) -> list[bytes]:
    """Of common and weak definitions, one of each name stays: a strong one or the first.  Variables that differ stay, to be refused."""
    variables: dict[bytes, bytes] = {}
    functions = {name for t in texts for name in _STRONG_FUNCTION.findall(t)}
    strong = set(functions)
    out = []
    for text in texts:
        known = dict(variables)

        def variable(m: re.Match[bytes], known: dict[bytes, bytes] = known) -> bytes:
            declared = b" ".join(m[1].split())
            variables.setdefault(m[2], declared)
            return b"\n" * m[0].count(b"\n") if known.get(m[2]) == declared else m[0]

        shown = _WEAK_VARIABLE.sub(variable, text)
        end, pieces = 0, []
        for m in _WEAK_FUNCTION.finditer(shown):
            if m[1] in functions:
                # The strong one may come later: the text needs a declaration.
                header = m[0].replace(b".weak", b".extern", 1) + b";" if m[1] in strong else b""
                pieces += [shown[end : m.start()], header]
                end = _closing(shown, m.end())
                pieces.append(b"\n" * shown.count(b"\n", m.end() if header else m.start(), end))
            functions.add(m[1])
        out.append(b"".join([*pieces, shown[end:]]))
    return out


def _closing(text: bytes, start: int) -> int:
    """The place after the brace that closes the one at `start`."""
    depth = 0
    for m in _BRACE.finditer(text, start):
        depth += 1 if m[0] == b"{" else -1
        if not depth:
            return m.end()
    return len(text)


def _resolved(texts: list[bytes]) -> list[bytes]:
    """Declarations of external functions get the linkage of their definitions; none comes after its definition."""
    defined = {name: (word, i) for i, t in enumerate(texts) for word, name in _DEFINED.findall(t)}
    out = []
    for i, text in enumerate(texts):

        def declaration(m: re.Match[bytes], i: int = i) -> bytes:
            linkage, where = defined.get(m[2], (b"extern", i))
            return b"\n" * m[0].count(b"\n") if where < i else b"." + linkage + m[1]

        out.append(_EXTERNAL.sub(declaration, text))
    return out

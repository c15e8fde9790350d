"""What Windows and macOS lack: text files need an encoding, and modules of POSIX are imported where they are used."""

import ast
from pathlib import Path

import pytest

import orias

FILES = sorted(Path(orias.__file__).parent.rglob("*.py"))
POSIX = {"fcntl", "resource", "pwd", "grp", "termios", "pty", "tty", "posix", "readline"}
FINDINGS = [
    ("open('a')", ["1: text without an encoding"]),
    (
        "open('a', 'rb'); open('a', encoding='utf-8'); os.open('a', 0); open(1, 'w', closefd=False); open(os.devnull, 'w')",
        [],
    ),
    ("p.open('a')\nx.read_text()", ["1: text without an encoding", "2: text without an encoding"]),
    ("p.write_text('x', 'utf-8'); p.read_text(encoding='utf-8')", []),
    ("import fcntl", ["1: import of fcntl"]),
    ("from resource import getrusage", ["1: import of resource"]),
    ("def f():\n    import fcntl", []),
]


def findings(text: str) -> list[str]:
    tree = ast.parse(text)
    out = []
    for node in tree.body:
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        out += [f"{node.lineno}: import of {n}" for n in names if n.partition(".")[0] in POSIX]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _is_text(node):
            out.append(f"{node.lineno}: text without an encoding")
    return sorted(out)


def _is_text(call: ast.Call) -> bool:
    """A call that opens a text file and leaves the encoding to the machine."""
    f, given = call.func, {k.arg for k in call.keywords}
    if "encoding" in given or (
        isinstance(f, ast.Attribute) and ast.unparse(f.value) in ("os", "webbrowser", "gzip", "lzma")
    ):
        return False
    name = f.attr if isinstance(f, ast.Attribute) else f.id if isinstance(f, ast.Name) else ""
    if name == "read_text" and isinstance(f, ast.Attribute):
        return not call.args
    if name == "write_text":
        return len(call.args) < 2
    if name != "open":
        return False
    at = 0 if isinstance(f, ast.Attribute) else 1
    mode = call.args[at] if len(call.args) > at else next((k.value for k in call.keywords if k.arg == "mode"), None)
    if isinstance(mode, ast.Constant) and "b" in str(mode.value):
        return False
    # A descriptor keeps the encoding of its stream; the null device has none.
    return "closefd" not in given and not (call.args and ast.unparse(call.args[0]) == "os.devnull")


@pytest.mark.parametrize(("text", "expected"), FINDINGS)
def test_the_scan(text: str, expected: list[str]) -> None:
    assert findings(text) == expected


def test_the_package() -> None:
    assert len(FILES) > 500
    found = {str(p): f for p in FILES if (f := findings(p.read_text(encoding="utf-8")))}
    assert found == {}

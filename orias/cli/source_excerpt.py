"""What the command shows of its input beside a message, under its own name only."""

_ELF = b"\x7fELF"
_FAT_BINARY = b"\x50\xed\x55\xba"
_LONGEST = 160
"""Characters of a source line that are shown."""


def excerpt(text: str | bytes, line: int, column: int) -> str:
    """A line of a text (from 1) with its number, and a caret below a column (from 1; 0: none); empty if there is no such line."""
    if isinstance(text, bytes):
        text = text.decode("latin-1")
    lines = text.split("\n", line)
    if not 0 < line <= len(lines):
        return ""
    shown = "".join(c if c.isprintable() else " " for c in lines[line - 1].rstrip())[:_LONGEST]
    head = f"{line:5} | "
    if not shown:
        return ""
    caret = " " * 5 + " | " + " " * (column - 1) + "^\n" if 0 < column <= len(shown) else ""
    return f"{head}{shown}\n{caret}"


def not_a_text(name: str, text: str | bytes) -> str:
    """The message for an input that is a finished file instead of PTX; empty if it is not."""
    if isinstance(text, bytes) and text.startswith((_ELF, _FAT_BINARY)):
        return f"'{name}' is a binary, not PTX text; 'orias dis {name}' lists the cubins in it"
    return ""

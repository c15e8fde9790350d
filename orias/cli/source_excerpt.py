"""What the command shows of its input beside a message, under its own name only."""

import os

_ELF = b"\x7fELF"
_FAT_BINARY = b"\x50\xed\x55\xba"
_LANGUAGES = ((b"__global__", "CUDA C++", "nvcc -ptx"), (b"target triple", "LLVM IR", "llc -march=nvptx64"))
"""A text that marks another language, its name, and the tool that makes PTX of it."""
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
    """The message for an input that is a finished file, a folder or another language instead of PTX; empty if it is not."""
    if not isinstance(text, bytes):
        return ""
    if text.startswith((_ELF, _FAT_BINARY)):
        return f"'{name}' is a binary, not PTX text; 'orias dis {name}' lists the cubins in it"
    if not text and os.path.isdir(name):
        return f"'{name}' is a folder; 'orias batch' compiles the PTX files in it"
    if b".version" not in text:
        for mark, language, tool in _LANGUAGES:
            if mark in text:
                return f"'{name}' is {language}, not PTX; '{tool} {name}' makes PTX of it"
    return ""


def advice(message: str, text: str | bytes) -> str:
    """A line that says what to do about a message; empty if nothing is known."""
    if message.startswith("SM version specified by .target is higher"):
        from orias.target.own_target import own_target

        target = own_target(text)
        later = ", or for a later SM" if target[-1].isdigit() else ""
        return f"      | the text needs {target}: compile it with -arch={target}{later}\n"
    return ""

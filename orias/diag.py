"""Diagnostics: what the compiler has to say, and the error that carries it."""

from typing import NamedTuple


class Diagnostic(NamedTuple):
    """One message.  ``severity`` is ``info``, ``warning``, ``error`` or ``fatal``; line and column start at 1, 0 = none."""

    severity: str
    message: str
    line: int = 0
    column: int = 0
    file: str = ""


class CompileError(Exception):
    """Compilation failed; ``diagnostics`` holds every message, warnings included."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics: list[Diagnostic] = diagnostics
        first = next((d for d in diagnostics if d.severity in ("error", "fatal")), None)
        where = f"line {first.line}: " if first and first.line else ""
        super().__init__(where + first.message if first else "compilation failed")


class Unsupported(Exception):
    """Raised by any room below the front end for what it cannot compile yet; becomes a diagnostic with the line."""

    def __init__(self, message: str, line: int = 0) -> None:
        self.message: str = message
        self.line: int = line
        super().__init__(message)


class VerifyError(AssertionError):
    """A phase left a function in a state that breaks the rules of Ori."""

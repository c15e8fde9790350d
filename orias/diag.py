"""Diagnostics: the compiler's messages, and the exceptions that carry them."""

from typing import NamedTuple


class Diagnostic(NamedTuple):
    """One message.  ``severity`` is ``info``, ``warning``, ``error`` or ``fatal``; line and column start at 1, 0 = none."""

    severity: str
    message: str
    line: int = 0
    column: int = 0
    file: str = ""


class CompileError(Exception):
    """Compilation failed; ``diagnostics`` has every message, including warnings."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics: list[Diagnostic] = diagnostics
        first = next((d for d in diagnostics if d.severity in ("error", "fatal")), None)
        where = f"line {first.line}: " if first and first.line else ""
        super().__init__(where + first.message if first else "compilation failed")

    def __reduce__(self) -> "tuple[type[CompileError], tuple[list[Diagnostic]]]":
        """Errors travel between processes: the receiver rebuilds them from their diagnostics, not from their text."""
        return type(self), (self.diagnostics,)


class Unsupported(Exception):
    """Raised after the front end for input that Orias does not support; becomes a diagnostic with the PTX line."""

    def __init__(self, message: str, line: int = 0) -> None:
        self.message: str = message
        self.line: int = line
        super().__init__(message)


class MissingFact(Unsupported):
    """The table of targets lacks a fact about a target."""


class VerifyError(AssertionError):
    """A function breaks the rules of Ori after a phase."""

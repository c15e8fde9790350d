"""Diagnostics: the compiler's messages, and the exceptions that carry them."""

from typing import Final, final


@final
class Diagnostic:
    """One message.  ``severity`` is ``info``, ``warning``, ``error`` or ``fatal``; line and column start at 1, 0 = none."""

    __slots__ = ("column", "file", "line", "message", "severity")

    def __init__(self, severity: str, message: str, line: int = 0, column: int = 0, file: str = "") -> None:
        self.severity: Final[str] = severity
        self.message: Final[str] = message
        self.line: Final[int] = line
        self.column: Final[int] = column
        self.file: Final[str] = file

    def row(self) -> tuple[str, str, int, int, str]:
        """The arguments that make it."""
        return self.severity, self.message, self.line, self.column, self.file

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Diagnostic) and self.row() == other.row()

    def __hash__(self) -> int:
        return hash(self.row())

    def __repr__(self) -> str:
        return f"Diagnostic{self.row()}"


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

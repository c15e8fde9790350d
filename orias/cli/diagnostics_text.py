"""Messages on standard error, in ptxas's form (``docs/facts/command-line.md``, "Diagnostics")."""

import sys

ABORTED = "Ptx assembly aborted due to errors"
_ALONE = (
    "Unsupported .version",
    "SM version specified by .target",
    "PTX with .target",
    "Program with .target",
    "In ABI compilation,",
    "Unknown function",
    "Output file",
    "Unresolved extern function",
    "Cannot take address of function",
    "Unresolved extern variable",
    "File uses too much global constant data",
    " 32-Bit compilation is no longer supported",
    "GNU Jobserver support requested",
    "Internal error: symbol already assigned",
    "Pragma 'enable_smem_spilling' is not allowed for",
    "'Compile only(-c)' requires PTX ISA",
)
_ALONE_ENDS = (
    "' not supported",
    "for -g compilation",
    " max)",
    "used in function_name attribute.",
    "' requires ABI",
    "' is recursive",
)
"""Beginnings and ends of final messages after which ptxas does not print ABORTED (measured on 13.0.88)."""


class Messages:
    """Prints messages and counts errors; ``-w`` drops warnings, ``-Werror`` turns them into errors."""

    __slots__ = ("errors", "last", "program", "quiet", "strict")

    def __init__(self, program: str, quiet: bool, strict: bool) -> None:
        self.program: str = program
        self.quiet: bool = quiet
        self.strict: bool = strict
        self.errors: int = 0
        self.last: str = ""

    def say(self, severity: str, text: str, file: str = "", line: int = 0) -> None:
        """Print one message; `line` (0: none) requires `file`."""
        if severity == "warning":
            if self.quiet:
                return
            if self.strict:
                severity = "error"
        if severity in ("error", "fatal"):
            self.errors += 1
            self.last = text
        place = f"{file}, line {line}; " if line else ""
        sys.stderr.write(f"{self.program} {place}{severity:<8}: {text}\n")

    def insist(self, text: str) -> None:
        """Print a warning that neither -w nor -Werror touch."""
        sys.stderr.write(f"{self.program} warning : {text}\n")

    def write(self, text: str) -> None:
        """Print text as it is."""
        sys.stderr.write(text)

    def aborted(self) -> None:
        """Print that the compile was aborted, if ptxas would."""
        if not self.last.startswith(_ALONE) and not self.last.endswith(_ALONE_ENDS):
            sys.stderr.write(f"{self.program} fatal   : {ABORTED}\n")

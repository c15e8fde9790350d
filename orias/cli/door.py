"""The one door of every command: no command ends with a traceback, and no lost message costs a result."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

FAILURE: "Final" = 255
INTERRUPTED: "Final" = 130
_MONITORS: "Final" = 6
"""Tools that ``sys.monitoring`` (Python 3.12) has places for."""


class Quiet:
    """A text stream that drops what it cannot write: standard error that is closed or full costs no result."""

    __slots__ = ("stream",)

    def __init__(self, stream: object) -> None:
        self.stream: object = stream

    def write(self, text: str) -> int:
        """Write a text, or drop it."""
        try:
            self.stream.write(text)  # type: ignore[attr-defined]
            self.stream.flush()  # type: ignore[attr-defined]
        except (OSError, ValueError, AttributeError):
            return 0
        return len(text)

    def flush(self) -> None:
        """Nothing is pending."""

    def isatty(self) -> bool:
        """Whether a person reads it."""
        try:
            return bool(self.stream.isatty())  # type: ignore[attr-defined]
        except (OSError, ValueError, AttributeError):
            return False

    def __getattr__(self, name: str) -> object:
        return getattr(self.stream, name)


def enter(run: "Callable[[list[str]], int]", argv: list[str], program: str) -> int:
    """Run a command line; returns the exit code."""
    stderr = Quiet(sys.stderr)
    sys.stderr = stderr
    if sys.stdout is None:
        # A result that nobody reads; an error only for what has to be written.
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    try:
        code = run(argv)
    except KeyboardInterrupt:
        stderr.write(f"{program} fatal   : Interrupted\n")
        code = INTERRUPTED
    except BrokenPipeError:
        code = 0
    except OSError as e:
        stderr.write(f"{program} fatal   : {e.filename or 'output'}: {e.strerror}\n")
        code = FAILURE
    try:
        sys.stdout.flush()
    except (OSError, ValueError) as e:
        # The interpreter must not try again at its end.
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        if not isinstance(e, BrokenPipeError):
            stderr.write(f"{program} fatal   : Standard output could not be written\n")
            code = code or FAILURE
    return code


def leave(code: int) -> None:
    """End the process after a compile at once: to take 300 modules down in order costs a tenth of a short run.

    Returns where that could lose something: after a tool, and under a tracer, profiler or inspecting interpreter.
    """
    watched = sys.gettrace() is not None or sys.getprofile() is not None or sys.flags.inspect
    monitors = getattr(sys, "monitoring", None)
    if monitors is not None:
        watched = watched or any(monitors.get_tool(i) is not None for i in range(_MONITORS))
    if not watched and "orias.compiler" in sys.modules and "orias.cli.tools" not in sys.modules:
        os._exit(code)


def failure_text(e: BaseException) -> str:
    """The message for an error that a command did not expect; raised again if ORIAS_TRACEBACK is set."""
    if os.environ.get("ORIAS_TRACEBACK"):
        raise e
    if isinstance(e, RecursionError):
        return "The input is nested too deeply"
    if isinstance(e, MemoryError):
        return "Out of memory"
    if isinstance(e, UnicodeError):
        return f"The input is not text: {e}"
    return f"The input cannot be processed: {type(e).__name__}: {e}"

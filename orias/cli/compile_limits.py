"""Limits on the time and the memory of one compile, for servers that compile texts of strangers.

The compile runs in a child process, which can be ended wherever it is; what it wrote by then is removed.
"""

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

OUT_OF_MEMORY: "Final" = 253
"""Exit code of a child process that has no memory left, not even for a message."""
_FIRST_PAUSE: "Final" = 0.001
_LONGEST_PAUSE: "Final" = 0.02
_RESERVE_MIB: "Final" = 64
"""What the child may take beyond the limit before the system refuses it memory: the parent process ends it first, for CPython can
hang or abort where nothing is left for the exception itself."""


class LimitError(Exception):
    """A compile that went beyond a limit, or a limit that this system cannot keep; the text is the message."""


def temporary_name(path: str, process: int) -> str:
    """Name of the file that a process writes before it gets its final name; at most 255 bytes long."""
    folder, name = os.path.split(path)
    short = os.fsencode(name)[:200].decode("utf-8", "ignore")
    return os.path.join(folder, f".{short}.{process}.tmp")


def run_limited(work: "Callable[[], int]", seconds: int, mebibytes: int, output: str) -> int:
    """Run `work` in a child process; returns its exit code.  A limit of 0 is none.

    Raises LimitError if it takes more than that time or memory, or ends by a signal.
    """
    if not hasattr(os, "fork"):
        raise LimitError("Options '--max-seconds' and '--max-memory' need a system with fork")
    child = os.fork()
    if child == 0:
        os._exit(_child(work, mebibytes))
    start = time.monotonic()
    pause = _FIRST_PAUSE
    try:
        done, status = os.waitpid(child, os.WNOHANG if seconds or mebibytes else 0)
        while not done:
            if mebibytes and _address_space(child) > mebibytes << 20:
                raise LimitError(f"The compile took more than {mebibytes} MiB (--max-memory)")
            if seconds and time.monotonic() - start > seconds:
                raise LimitError(f"The compile took more than {seconds} seconds (--max-seconds)")
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
            done, status = os.waitpid(child, os.WNOHANG)
    except BaseException:
        import signal

        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        left = temporary_name(os.path.realpath(output), child)
        if os.path.exists(left):
            os.unlink(left)
        raise
    code = os.waitstatus_to_exitcode(status)
    if code == OUT_OF_MEMORY:
        raise LimitError(f"The compile took more than {mebibytes} MiB (--max-memory)")
    if code < 0:
        raise LimitError(f"The compile was ended by signal {-code}")
    return code


def _address_space(process: int) -> int:
    """Bytes of a process's address space; 0 where the system does not say."""
    try:
        with open(f"/proc/{process}/statm", encoding="ascii") as f:
            return int(f.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _child(work: "Callable[[], int]", mebibytes: int) -> int:
    """What the child process does; returns its exit code."""
    import sys

    code = 255
    try:
        if mebibytes:
            import resource

            most = mebibytes + (_RESERVE_MIB if _address_space(os.getpid()) else 0) << 20
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
        code = work()
    except MemoryError:
        return OUT_OF_MEMORY
    except KeyboardInterrupt:
        # The parent process says it.
        return 130
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            continue
    return code

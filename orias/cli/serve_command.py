"""`orias serve`: a resident compiler, so that many short compiles do not each load the compiler.

A command arrives with its arguments, environment, folder and the three standard files of its client; a fork of the
loaded process runs it as the command line would: same bytes, messages and exit code.  Only the user's own processes can
connect.  The server ends when nobody asked for a while, and at the first command after its sources have changed.
"""

import array
import contextlib
import gc
import os
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable
from typing import TypeAlias

from orias.cli.client import is_private, socket_path
from orias.cli.toolerror import ToolError
from orias.identity import Stamp, identity

Run: TypeAlias = Callable[[list[str]], int]

IDLE = 900.0
"""Seconds without a command after which the server ends."""
USAGE = """\
usage: orias serve [--idle SECONDS]

Compiles for the commands of this user that have ORIAS_SERVER=1 in their environment (docs/server.md)."""
_LARGEST = 16 << 20
"""Bytes of the arguments and environment of a command."""
_WARM = os.path.join(os.path.dirname(__file__), "warm.ptx")
"""A kernel of common instructions; what its compile looks up and imports, no command does again."""


def serve(path: str, idle: float, run: Run) -> int:
    """Serve on a socket until idle or stale; returns the exit code.  `run`: runs a whole command line."""
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if not is_private(folder):
        raise ToolError(f"'{folder}' is not a folder that only you can write to")
    if _answers(path):
        raise ToolError(f"a server answers at '{path}' already")
    stamp = Stamp()
    _load()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        temporary = f"{path}.{os.getpid()}"
        old = os.umask(0o177)
        try:
            listener.bind(temporary)
        finally:
            os.umask(old)
        os.rename(temporary, path)
        listener.listen(64)
        mine = os.stat(path).st_ino
        listener.settimeout(idle)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        try:
            while True:
                try:
                    connection, _ = listener.accept()
                except TimeoutError:
                    return 0
                with connection:
                    if not stamp.holds():
                        return 0
                    _start(connection, listener, run)
        finally:
            with contextlib.suppress(OSError):
                if os.stat(path).st_ino == mine:
                    os.unlink(path)


def _answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
    return True


def _load() -> None:
    """Load what a compile needs, by a compile, and take it out of the reach of the collector."""
    from orias.api import compile_sources
    from orias.cli import drive, source_excerpt  # noqa: F401
    from orias.options import Options
    from orias.pipeline import estimated_time  # noqa: F401

    with open(_WARM, encoding="utf-8") as f:
        text = f.read()
    for arch in ("sm_75", "sm_80", "sm_90"):
        compile_sources([(_WARM, text)], Options(arch))
    identity()
    gc.collect()
    gc.freeze()


def _start(connection: socket.socket, listener: socket.socket, run: Run) -> None:
    """Run the command of a connection in a fork, if it comes from this user."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    if struct.unpack("3i", credentials)[1] != os.getuid() or os.fork():
        return
    listener.close()
    code = 255
    try:
        code = _command(connection, run)
        connection.sendall(bytes([code & 255]))
    except OSError:
        pass
    finally:
        os._exit(0)


def _command(connection: socket.socket, run: Run) -> int:
    connection.settimeout(60)
    head, extra, _, _ = connection.recvmsg(8, socket.CMSG_SPACE(3 * 4))
    files = array.array("i")
    for level, kind, data in extra:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            files.frombytes(data[: len(data) // 4 * 4])
    size = int.from_bytes(head, "little")
    if len(head) != 8 or len(files) != 3 or size > _LARGEST:
        os._exit(0)
    body = b""
    while len(body) < size:
        part = connection.recv(size - len(body))
        if not part:
            os._exit(0)
        body += part
    connection.settimeout(None)
    parts = body.decode("utf-8", "surrogateescape").split("\0")
    folder, mask, count = parts[0], int(parts[1]), int(parts[2])
    argv, settings = parts[3 : 3 + count], parts[3 + count :]
    for number, fd in enumerate(files):
        os.dup2(fd, number)
    os.chdir(folder)
    os.umask(mask)
    os.environ.clear()
    os.environ.update(dict(s.split("=", 1) for s in settings if "=" in s))
    os.environ.pop("ORIAS_SERVER", None)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.argv = argv
    threading.Thread(target=_end_with_client, args=(connection,), daemon=True).start()

    from orias.cli.door import enter
    from orias.cli.program_names import program_name

    code = enter(run, argv, program_name(argv[0]))
    sys.stderr.flush()
    return code


def _end_with_client(connection: socket.socket) -> None:
    """End this process when its client is gone."""
    try:
        gone = not connection.recv(1)
    except OSError:
        gone = False
    if gone:
        os._exit(130)


def run_serve(arguments: list[str], run: Run) -> int:
    """The tool: ``orias serve [--idle SECONDS]``.  `run`: runs a whole command line."""
    idle = IDLE
    if arguments[:1] == ["--idle"] and len(arguments) == 2:
        try:
            idle = float(arguments[1])
        except ValueError:
            raise ToolError(f"'{arguments[1]}' is not a number of seconds") from None
        arguments = []
    if arguments:
        print(USAGE)
        return 0 if arguments == ["--help"] else 255
    if not hasattr(socket, "SO_PEERCRED") or not hasattr(os, "fork"):
        raise ToolError("this system has no sockets that name their user")
    return serve(socket_path(os.environ.get("ORIAS_SERVER") or "1"), idle, run)

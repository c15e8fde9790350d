"""Hands a command line to a resident compiler (`orias serve`), where the environment asks for it.

The module imports next to nothing.  Whatever goes wrong, the caller compiles itself.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

ALONE = ("serve", "exec")
"""Tools that never run in the resident process."""


def socket_path(said: str) -> str:
    """The socket that ORIAS_SERVER names; for ``1``, the one of this user and this installation of Orias."""
    if said != "1":
        return said
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    folder = os.path.join(runtime or "/tmp", f"orias-{os.getuid()}")
    place = os.stat(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return os.path.join(folder, f"{place.st_dev:x}-{place.st_ino:x}.socket")


def is_private(path: str) -> bool:
    """True if a folder is a folder that only this user can write to."""
    found = os.lstat(path)
    return found.st_uid == os.getuid() and found.st_mode & 0o170022 == 0o040000


def ask(argv: "Sequence[str]") -> int:
    """The exit code of the command in the resident compiler; -1 if there is none, or it is not for us."""
    if argv[1:2] and argv[1] in ALONE:
        return -1
    try:
        import _socket

        path = socket_path(os.environ["ORIAS_SERVER"])
        if not is_private(os.path.dirname(path)):
            return -1
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            connection.connect(path)
            credentials = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
            if int.from_bytes(credentials[4:8], sys.byteorder) != os.getuid():
                return -1
            parts = [os.getcwd(), str(os.umask(0))]
            os.umask(int(parts[1]))
            parts += [str(len(argv)), *argv, *(f"{k}={v}" for k, v in os.environ.items())]
            text = "\0".join(parts).encode("utf-8", "surrogateescape")
            files = b"".join(fd.to_bytes(4, sys.byteorder) for fd in (0, 1, 2))
            head = len(text).to_bytes(8, "little")
            connection.sendmsg([head], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
            connection.sendall(text)
            answer = connection.recv(1)
        finally:
            connection.close()
    except (ImportError, AttributeError, OSError, ValueError, KeyError):
        return -1
    return answer[0] if answer else -1

"""The identity of the installed compiler: a hash of its sources and tables.

Clients key their caches on the text of ``--version``, so it has to change when the code does.  The sources are part of
a compiled wheel too: both builds have the same identity, as they make the same bytes.
"""

import os
from functools import cache

from orias.kept import remembered

SUFFIXES = (".py", ".txt", ".isa", ".json", ".csv", ".ptx")
"""Endings of the files that decide what a compile does."""


def identity_of(folder: str) -> str:
    """Hash (16 hexadecimal digits) of the names and contents of all sources and tables below a folder."""
    from hashlib import blake2b

    state = blake2b(digest_size=8)
    for path in sorted(_files(folder, "")):
        with open(os.path.join(folder, *path.split("/")), "rb") as f:
            data = f.read()
        name = path.encode("utf-8", "surrogateescape")
        state.update(b"%d %d " % (len(name), len(data)))
        state.update(name)
        state.update(data)
    return state.hexdigest()


def _files(folder: str, prefix: str) -> list[str]:
    out: list[str] = []
    with os.scandir(folder) as entries:
        for e in entries:
            if e.is_dir():
                if e.name != "__pycache__":
                    out += _files(e.path, prefix + e.name + "/")
            elif e.name.endswith(SUFFIXES):
                out.append(prefix + e.name)
    return out


def _folders(folder: str, prefix: str) -> list[str]:
    """The folders with sources and tables below `folder`, itself first."""
    out = [prefix]
    with os.scandir(folder) as entries:
        for e in entries:
            if e.name != "__pycache__" and e.is_dir():
                out += _folders(e.path, prefix + e.name + "/")
    return out


class Stamp:
    """Sizes and times of the sources and tables in a folder (the package): cheaper than `identity`, for a process that stays."""

    def __init__(self, root: str = os.path.dirname(os.path.abspath(__file__))) -> None:
        self._root = root
        self._folders, self._found = self._look()

    def _look(self) -> "tuple[list[tuple[str, int]], list[tuple[str, int, int]]]":
        root = self._root
        folders = [os.path.join(root, *path.split("/")) for path in _folders(root, "")]
        files = [os.path.join(root, *path.split("/")) for path in _files(root, "")]
        return (
            [(path, os.stat(path).st_mtime_ns) for path in folders],
            [(path, s.st_size, s.st_mtime_ns) for path in files for s in [os.stat(path)]],
        )

    def holds(self) -> bool:
        """True if nothing has changed since."""
        stat = os.stat
        try:
            for path, size, time in self._found:
                found = stat(path)
                if found.st_mtime_ns != time or found.st_size != size:
                    return False
            if all(stat(path).st_mtime_ns == time for path, time in self._folders):
                return True
            # A file has come or gone: a source, or what Python writes.
            self._folders, after = self._look()
            return after == self._found
        except OSError:
            return False


@cache
def identity() -> str:
    """`identity_of` the package that runs, computed once per process (10 to 20 ms); the command line keeps it until a file changes."""
    root = os.path.dirname(os.path.abspath(__file__))
    found: str = remembered("identity", tuple(_folders(root, "")), "identity", lambda: identity_of(root))
    return found

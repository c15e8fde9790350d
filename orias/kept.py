"""Results of look-ups in tables, kept beside the code from one run of the command line to the next.

The instruction table is 800 kB of text, and a short compile spends more time on it than on the rest of its work, to find
the same few hundred encodings each time.  They are kept in ``__pycache__`` as the block of code is
(:mod:`orias.code_block`), by its rules: what a source file with another time or size was read for is not used, and nothing
is written where Python writes no ``.pyc``.  The library does not use them.
"""

import marshal
import os
import sys

from orias.version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

_FORMAT: "Final" = 1
"""Changes with the layout of the file."""
_MOST: "Final" = 4000
"""Results that a file holds at most."""
_GROWTH: "Final" = 20
"""A file is written again when there are new results, at least one for so many old ones."""


class Kept:
    """The results of one kind by their keys."""

    __slots__ = ("_state", "known", "new", "path")

    def __init__(self, path: str, state: "Any") -> None:
        """`state`: what the results depend on; results of another state are not used."""
        self.path = path
        self._state = state
        self.known: dict[str, bytes] = {}
        self.new: dict[str, bytes] = {}
        try:
            with open(path, "rb") as f:
                before, known = marshal.loads(f.read())
            if before == state:
                self.known = known
        except (OSError, ValueError, EOFError, TypeError):
            pass

    def get(self, key: str) -> "Any":
        """The result of a key; None if there is none."""
        data = self.known.get(key)
        return None if data is None else marshal.loads(data)

    def put(self, key: str, value: "Any") -> None:
        """Keep a result, which has none but Python's plain types and is not None."""
        self.new[key] = marshal.dumps(value)

    def save(self) -> None:
        """Write the file if it gains enough; one that cannot be written is left."""
        if len(self.new) * _GROWTH < len(self.known) + 1 or len(self.known) + len(self.new) > _MOST:
            return
        temporary = f"{self.path}.{os.getpid()}"
        try:
            with open(temporary, "xb") as f:
                f.write(marshal.dumps((self._state, self.known | self.new)))
            os.replace(temporary, self.path)
        except OSError:
            if os.path.exists(temporary):
                os.unlink(temporary)


_opened: "Final[dict[str, Kept]]" = {}
_place: "Final[list[str]]" = []
"""The folder of the package and the beginning of the files' names, once results are kept."""


def use_kept(root: str, beginning: str) -> None:
    """Keep results from now on; `root` is the folder of the package, `beginning` that of the files' paths."""
    _place[:] = root, beginning


def kept(name: str, folders: "tuple[str, ...]") -> Kept | None:
    """The results of a name, which depend on the files of some folders of the package; None if results are not kept."""
    if not _place:
        return None
    found = _opened.get(name)
    if found is None:
        root, beginning = _place
        files: list[tuple[str, int, int]] = []
        try:
            for folder in folders:
                with os.scandir(os.path.join(root, folder)) as listed:
                    for item in listed:
                        if item.is_file():
                            about = item.stat()
                            files.append((item.name, about.st_size, about.st_mtime_ns))
        except OSError:
            return None
        files.sort()
        state = (_FORMAT, VERSION, sys.version, root, files)
        found = _opened[name] = Kept(f"{beginning}.{name}.kept", state)
    return found


def remembered(name: str, folders: "tuple[str, ...]", key: str, make: "Callable[[], Any]") -> "Any":
    """What `make` gives for a key, if possible from earlier runs; plain types, and not None."""
    store = kept(name, folders)
    if store is None:
        return make()
    found = store.get(key)
    if found is None:
        found = make()
        store.put(key, found)
    return found


def save_kept() -> None:
    """Write what this process has found; nothing where Python writes no ``.pyc``."""
    if not sys.dont_write_bytecode:
        for one in _opened.values():
            one.save()

"""The code of all modules of a compile in one file, so that the command line starts without looking for 300 files.

Python finds and reads each module on its own, which takes a fifth of a short compile.  The block holds the same bytes as
Python's own ``.pyc`` files, beside which it lies in ``__pycache__``, and follows their rules: a module whose source has
another time or size is imported the ordinary way, and nothing is written where Python writes no ``.pyc``.
"""

import marshal
import os
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import MAGIC_NUMBER, cache_from_source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType
    from typing import Final

    Entry = tuple[bool, int, int, int, int]
    """Is it a package, time (ns) and size (bytes) of the source, start and end of its code in the block."""

_PACKAGE: "Final" = "orias"
_NUMBER_BYTES: "Final" = 8
_PYC_HEAD: "Final" = 16
"""Bytes of a ``.pyc`` before its code: magic number, flags, time and size of the source."""


class _Loader(SourceFileLoader):
    """Loads one module from the block."""

    def __init__(self, name: str, path: str, code: memoryview) -> None:
        super().__init__(name, path)
        self.code = code

    def get_code(self, fullname: str) -> "CodeType | None":
        """The code of the module."""
        code: CodeType = marshal.loads(self.code)
        return code


class CodeBlock:
    """A finder of modules (``sys.meta_path``) that knows the modules of the block."""

    def __init__(self, root: str) -> None:
        """`root`: the folder of the package."""
        self.root = root
        self.path = cache_from_source(os.path.join(root, "code_block.py")).removesuffix(".pyc") + ".block"
        self.entries: dict[str, Entry] = {}
        self.code = memoryview(b"")
        self.known = set(sys.modules)
        self.missed = False
        try:
            with open(self.path, "rb") as f:
                self._read(f.read())
        except (OSError, ValueError, EOFError, TypeError):
            self.entries = {}

    def _read(self, data: bytes) -> None:
        """Take the block's bytes: length of its head, head (magic number, folder, size of the code, entries), code."""
        end = _NUMBER_BYTES + int.from_bytes(data[:_NUMBER_BYTES], "little")
        magic, root, size, entries = marshal.loads(data[_NUMBER_BYTES:end])
        if magic == MAGIC_NUMBER and root == self.root and size == len(data) - end:
            self.entries = entries
            self.code = memoryview(data)[end:]

    def source(self, name: str, package: bool) -> str:
        """The path of a module's source."""
        path = os.path.join(self.root, *name.split(".")[1:])
        return os.path.join(path, "__init__.py") if package else path + ".py"

    def find_spec(
        self, name: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> ModuleSpec | None:
        """The module, if the block has it and its source is unchanged."""
        entry = self.entries.get(name)
        if entry is None:
            self.missed = self.missed or name.startswith(_PACKAGE)
            return None
        package, changed, size, start, end = entry
        source = self.source(name, package)
        try:
            found = os.stat(source)
        except OSError:
            found = None
        if found is None or found.st_mtime_ns != changed or found.st_size != size:
            del self.entries[name]
            self.missed = True
            return None
        spec = ModuleSpec(name, _Loader(name, source, self.code[start:end]), origin=source, is_package=package)
        spec.has_location = True
        if package:
            spec.submodule_search_locations = [os.path.dirname(source)]
        return spec

    def save(self) -> None:
        """Add the modules that were imported the ordinary way; what cannot be written is left."""
        if not self.missed or sys.dont_write_bytecode:
            return
        codes = {name: (e[:3], bytes(self.code[e[3] : e[4]])) for name, e in self.entries.items()}
        before = len(codes)
        for name, module in list(sys.modules.items()):
            if name.startswith(_PACKAGE + ".") and name not in codes and name not in self.known:
                found = self._compiled(name, hasattr(module, "__path__"))
                if found is not None:
                    codes[name] = found
        if len(codes) == before:
            return
        temporary = f"{self.path}.{os.getpid()}"
        try:
            with open(temporary, "xb") as f:
                f.write(self._bytes(codes))
            os.replace(temporary, self.path)
        except OSError:
            if os.path.exists(temporary):
                os.unlink(temporary)

    def _compiled(self, name: str, package: bool) -> "tuple[tuple[bool, int, int], bytes] | None":
        """A module as Python compiled it; None if Python has not, or not from the source as it is now."""
        source = self.source(name, package)
        try:
            found = os.stat(source)
            with open(cache_from_source(source), "rb") as f:
                data = f.read()
        except OSError:
            return None
        time, size = (n & 0xFFFFFFFF for n in (int(found.st_mtime), found.st_size))
        head = MAGIC_NUMBER + b"".join(n.to_bytes(4, "little") for n in (0, time, size))
        if data[:_PYC_HEAD] != head:
            return None
        return (package, found.st_mtime_ns, found.st_size), data[_PYC_HEAD:]

    def _bytes(self, codes: "dict[str, tuple[tuple[bool, int, int], bytes]]") -> bytes:
        entries: dict[str, Entry] = {}
        end = 0
        for name, (about, code) in codes.items():
            entries[name] = (*about, end, end + len(code))
            end += len(code)
        head = marshal.dumps((MAGIC_NUMBER, self.root, end, entries))
        return len(head).to_bytes(_NUMBER_BYTES, "little") + head + b"".join(code for _, code in codes.values())


def use_block() -> CodeBlock:
    """Find modules in the block from now on; :meth:`CodeBlock.save` at the end keeps what it did not have."""
    block = CodeBlock(os.path.dirname(os.path.abspath(__file__)))
    sys.meta_path.insert(0, block)
    return block

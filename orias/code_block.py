"""The code of the modules of a compile in one file, so that the command line starts without looking for 300 files.

Python finds and reads each module on its own, which takes a fifth of a short compile.  The block holds the code of Python's own
``.pyc`` files, beside which it lies in ``__pycache__``, and follows their rules: a module whose source has another time or size
is imported the ordinary way, and nothing is written where Python writes no ``.pyc``.  Modules that share a group are read
together, because they share most of their names.
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
    """Is it a package, time (ns) and size (bytes) of the source, group, index in the group."""

_PACKAGE: "Final" = "orias"
_COMPILER: "Final" = "orias.compiler"
"""The import that begins the second group: what is imported before it serves every command."""
_NUMBER_BYTES: "Final" = 8
_PYC_HEAD: "Final" = 16
"""Bytes of a ``.pyc`` before its code: magic number, flags, time and size of the source."""
_WRITE_BELOW: "Final" = 0.5
"""A new block is written if the old one had less than this share of the modules, or had an old one."""


class _Loader(SourceFileLoader):
    """Loads one module from the block."""

    def __init__(self, name: str, path: str, block: "CodeBlock", group: int, index: int) -> None:
        super().__init__(name, path)
        self.block = block
        self.group = group
        self.index = index

    def get_code(self, fullname: str) -> "CodeType | None":
        """The code of the module."""
        return self.block.group(self.group)[self.index]


class CodeBlock:
    """A finder of modules (``sys.meta_path``) that knows the modules of the block."""

    def __init__(self, root: str) -> None:
        """`root`: the folder of the package."""
        self.root = root
        self.path = cache_from_source(os.path.join(root, "code_block.py")).removesuffix(".pyc") + ".block"
        self.entries: dict[str, Entry] = {}
        self.groups: list[tuple[int, int]] = []
        self.loaded: dict[int, tuple[CodeType, ...]] = {}
        self.code = memoryview(b"")
        self.known = set(sys.modules)
        self.changed = False
        try:
            self._read(_contents(self.path))
        except (OSError, ValueError, EOFError, TypeError):
            self.entries = {}

    def _read(self, data: memoryview) -> None:
        """Take the block's bytes: length of its head, head (magic number, folder, size of the code, entries, groups), code."""
        end = _NUMBER_BYTES + int.from_bytes(data[:_NUMBER_BYTES], "little")
        magic, root, size, entries, groups = marshal.loads(data[_NUMBER_BYTES:end])
        if magic == MAGIC_NUMBER and root == self.root and size == len(data) - end:
            self.entries = entries
            self.groups = groups
            self.code = data[end:]

    def group(self, number: int) -> "tuple[CodeType, ...]":
        """The codes of a group."""
        codes = self.loaded.get(number)
        if codes is None:
            start, end = self.groups[number]
            codes = self.loaded[number] = marshal.loads(self.code[start:end])
        return codes

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
            return None
        package, changed, size, group, index = entry
        source = self.source(name, package)
        try:
            about = os.stat(source)
        except OSError:
            about = None
        if about is None or about.st_mtime_ns != changed or about.st_size != size:
            self.changed = True
            return None
        spec = ModuleSpec(name, _Loader(name, source, self, group, index), origin=source, is_package=package)
        spec.has_location = True
        if package:
            spec.submodule_search_locations = [os.path.dirname(source)]
        return spec

    def save(self) -> None:
        """Write a block of the modules of this process, if the old one served it badly; what cannot be written is left."""
        if sys.dont_write_bytecode or _COMPILER not in sys.modules:
            return
        loaders = {
            name: getattr(module, "__loader__", None)
            for name, module in list(sys.modules.items())
            if name.startswith(_PACKAGE + ".") and name not in self.known
        }
        sources = [name for name, loader in loaders.items() if isinstance(loader, SourceFileLoader)]
        served = sum(isinstance(loaders[name], _Loader) for name in sources)
        if served >= _WRITE_BELOW * len(sources) and not self.changed:
            return
        groups: list[list[tuple[str, tuple[bool, int, int], CodeType]]] = [[], []]
        number = 0
        for name in sources:
            number = 1 if name == _COMPILER else number
            compiled = self._compiled(name, hasattr(sys.modules[name], "__path__"))
            if compiled is not None:
                groups[number].append((name, *compiled))
        temporary = f"{self.path}.{os.getpid()}"
        try:
            with open(temporary, "xb") as f:
                f.write(self._bytes(groups))
            os.replace(temporary, self.path)
        except OSError:
            if os.path.exists(temporary):
                os.unlink(temporary)

    def _compiled(self, name: str, package: bool) -> "tuple[tuple[bool, int, int], CodeType] | None":
        """A module as Python compiled it; None if Python has not, or not from the source as it is now."""
        source = self.source(name, package)
        try:
            about = os.stat(source)
            with open(cache_from_source(source), "rb") as f:
                data = f.read()
        except OSError:
            return None
        time, size = (n & 0xFFFFFFFF for n in (int(about.st_mtime), about.st_size))
        head = MAGIC_NUMBER + b"".join(n.to_bytes(4, "little") for n in (0, time, size))
        if data[:_PYC_HEAD] != head:
            return None
        code: CodeType = marshal.loads(data[_PYC_HEAD:])
        return (package, about.st_mtime_ns, about.st_size), code

    def _bytes(self, groups: "list[list[tuple[str, tuple[bool, int, int], CodeType]]]") -> bytes:
        entries: dict[str, Entry] = {}
        places: list[tuple[int, int]] = []
        data = b""
        for number, members in enumerate(groups):
            for index, (name, about, _) in enumerate(members):
                entries[name] = (*about, number, index)
            codes = marshal.dumps(tuple([code for _, _, code in members]))
            places.append((len(data), len(data) + len(codes)))
            data += codes
        head = marshal.dumps((MAGIC_NUMBER, self.root, len(data), entries, places))
        return len(head).to_bytes(_NUMBER_BYTES, "little") + head + data


def _contents(path: str) -> memoryview:
    """The bytes of a file, mapped where a mapped file can be replaced."""
    with open(path, "rb") as f:
        if sys.platform == "win32":
            return memoryview(f.read())
        import mmap

        return memoryview(mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ))


def use_block() -> CodeBlock:
    """Find modules in the block from now on; :meth:`CodeBlock.save` at the end writes a better one."""
    block = CodeBlock(os.path.dirname(os.path.abspath(__file__)))
    sys.meta_path.insert(0, block)
    return block

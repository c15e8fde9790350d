"""The code of the modules of a compile in one file, so that the command line starts without looking for 300 files.

Python finds and reads each module on its own, which takes a fifth of a short compile.  The block lies beside
Python's own ``.pyc`` files in ``__pycache__`` and follows their rules: a module whose source has another time or size is
imported the ordinary way, and nothing is written where Python writes no ``.pyc``.  Modules that share a group are read
together, because they share most of their names.  The code is without what a run does not need (:mod:`orias.lean_code`), and
knows its lines but not its columns, as with Python's option ``-X no_debug_ranges``: the tables of columns are a quarter of the
``.pyc`` files.  The block also has the patterns of these modules (:mod:`orias.patterns`).
"""

import marshal
import os
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader

from orias.patterns import all_parts, use_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType, ModuleType
    from typing import Final

    from orias.patterns import Parts

    Entry = tuple[bool, int, int, int, int, str]
    """Is it a package, time (ns) and size (bytes) of the source, group, index in the group, path of the source."""

_PREFIX: "Final" = "orias."
_COMPILER: "Final" = "orias.compiler"
"""The import that begins the second group: what is imported before it serves every command."""
_NUMBER_BYTES: "Final" = 8
_FORMAT: "Final" = 3
"""Changes with the layout of the block."""
_UNIT_BYTES: "Final" = 2
_MOST_UNITS: "Final" = 8
_NO_COLUMNS: "Final" = 13
_NO_LINE: "Final" = 15
"""Of a table of lines: bytes of a code unit, most units of an entry, kinds of entries without columns and without line."""
_WRITE_BELOW: "Final" = 0.5
"""A new block is written if the old one had less than this share of the modules, or had an old one."""


class _Loader(SourceFileLoader):
    """Loads one module from the block.

    It sets the module's file itself: of a spec with a location, Python works out the place of the ``.pyc`` too, which costs
    a third of the import of a small module.
    """

    def __init__(self, name: str, path: str, block: "CodeBlock", group: int, index: int) -> None:
        super().__init__(name, path)
        self.block = block
        self.group = group
        self.index = index

    def get_code(self, fullname: str) -> "CodeType | None":
        """The code of the module."""
        return self.block.group(self.group)[self.index]

    def exec_module(self, module: "ModuleType") -> None:
        """Run the code of the module."""
        module.__file__ = self.path
        exec(self.block.group(self.group)[self.index], module.__dict__)


class CodeBlock:
    """A finder of modules (``sys.meta_path``) that knows the modules of the block."""

    def __init__(self, root: str) -> None:
        """`root`: the folder of the package."""
        self.root = root
        self.path = f"{(__spec__ and __spec__.cached) or __file__}".removesuffix(".pyc") + ".block"
        self.entries: dict[str, Entry] = {}
        self.groups: list[tuple[int, int]] = []
        self.loaded: dict[int, tuple[CodeType, ...]] = {}
        self.code = memoryview(b"")
        self.asked: dict[str, None] = {}
        """Modules of the package in the order in which their imports began."""
        self.changed = False
        try:
            self._read(_contents(self.path))
        except (OSError, ValueError, EOFError, TypeError):
            self.entries = {}

    def _read(self, data: memoryview) -> None:
        """Take the block's bytes: length of its head, head (format, Python, folder, size of the code, entries, groups, patterns), code."""
        end = _NUMBER_BYTES + int.from_bytes(data[:_NUMBER_BYTES], "little")
        form, python, root, size, entries, groups, patterns = marshal.loads(data[_NUMBER_BYTES:end])
        if form == _FORMAT and python == sys.version and root == self.root and size == len(data) - end:
            self.entries = entries
            self.groups = groups
            self.code = data[end:]
            use_parts(patterns)

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
        if name.startswith(_PREFIX):
            self.asked[name] = None
        entry = self.entries.get(name)
        if entry is None:
            return None
        package, changed, size, group, index, source = entry
        try:
            about = os.stat(source)
        except OSError:
            about = None
        if about is None or about.st_mtime_ns != changed or about.st_size != size:
            self.changed = True
            return None
        spec = ModuleSpec(name, _Loader(name, source, self, group, index), origin=source, is_package=package)
        if package:
            spec.submodule_search_locations = [os.path.dirname(source)]
        return spec

    def save(self) -> None:
        """Write a block of the modules of this process, if the old one served it badly; what cannot be written is left."""
        if sys.dont_write_bytecode or _COMPILER not in sys.modules:
            return
        loaders = {name: getattr(sys.modules.get(name), "__loader__", None) for name in self.asked}
        sources = [name for name, loader in loaders.items() if isinstance(loader, SourceFileLoader)]
        served = sum(isinstance(loaders[name], _Loader) for name in sources)
        if served >= _WRITE_BELOW * len(sources) and not self.changed:
            return
        temporary = f"{self.path}.{os.getpid()}"
        try:
            with open(temporary, "xb") as f:  # before the work, which is for nothing in a folder that cannot be written
                groups: list[list[tuple[str, tuple[bool, int, int], CodeType]]] = [[], []]
                number = 0
                for name, loader in loaders.items():
                    number = 1 if name == _COMPILER else number  # which may be a compiled module
                    if isinstance(loader, SourceFileLoader):
                        compiled = self._compiled(name, hasattr(sys.modules[name], "__path__"))
                        if compiled is not None:
                            groups[number].append((name, *compiled))
                f.write(self._bytes(groups, all_parts()))
            os.replace(temporary, self.path)
        except OSError:
            if os.path.exists(temporary):
                os.unlink(temporary)

    def _compiled(self, name: str, package: bool) -> "tuple[tuple[bool, int, int], CodeType] | None":
        """A module's source (is it a package, time and size) and code; None if it cannot be read."""
        from orias.lean_code import lean_code

        source = self.source(name, package)
        try:
            about = os.stat(source)
            with open(source, encoding="utf-8") as f:
                code = lean_code(f.read(), source)
        except (OSError, ValueError, SyntaxError):
            return None
        return (package, about.st_mtime_ns, about.st_size), without_columns(code)

    def _bytes(
        self, groups: "list[list[tuple[str, tuple[bool, int, int], CodeType]]]", patterns: "dict[str, Parts]"
    ) -> bytes:
        entries: dict[str, Entry] = {}
        places: list[tuple[int, int]] = []
        data = b""
        for number, members in enumerate(groups):
            for index, (name, about, _) in enumerate(members):
                entries[name] = (*about, number, index, self.source(name, about[0]))
            codes = marshal.dumps(tuple([code for _, _, code in members]))
            places.append((len(data), len(data) + len(codes)))
            data += codes
        head = marshal.dumps((_FORMAT, sys.version, self.root, len(data), entries, places, patterns))
        return len(head).to_bytes(_NUMBER_BYTES, "little") + head + data


def without_columns(code: "CodeType") -> "CodeType":
    """The code, and that of all its functions, with a table of lines only (CPython's ``Objects/locations.md``)."""
    runs: list[tuple[int, int | None]] = []
    """Units and line of the pieces of the code."""
    for start, end, here in code.co_lines():
        before = runs.pop()[0] if runs and runs[-1][1] == here else 0
        runs.append((before + (end - start) // _UNIT_BYTES, here))
    table = bytearray()
    line = code.co_firstlineno
    for units, here in runs:
        while units > 0:
            length = min(units, _MOST_UNITS)
            units -= length
            kind = _NO_LINE if here is None else _NO_COLUMNS
            table.append(0x80 | kind << 3 | length - 1)
            if here is not None:
                table += _signed(here - line)
                line = here
    parts = tuple([without_columns(c) if isinstance(c, type(code)) else c for c in code.co_consts])
    return code.replace(co_linetable=bytes(table), co_consts=parts)


def _signed(number: int) -> bytes:
    """A signed number of the table: six bits a byte, lowest first, the sign in the lowest bit."""
    rest = -number << 1 | 1 if number < 0 else number << 1
    out = bytearray()
    while rest >= 0x40:
        out.append(rest & 0x3F | 0x40)
        rest >>= 6
    out.append(rest)
    return bytes(out)


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

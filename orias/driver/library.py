"""Builds the driver and runtime libraries with the machine's C compiler, once for each version, into the user's cache.

``libcuda.so.1`` is one C file: ``data/door.c`` and a function for each line of ``data/functions.txt``.  ``libcudart.so.12``
and ``.13`` are ``data/runtime.c`` and a function for each line of ``data/runtime_functions.txt`` of that version,
``libnvidia-ml.so.1`` is ``data/management.c`` and those of ``data/management_functions.txt``.  Lines that end
in ``ptsz`` or ``ptds`` make a second function, for programs whose stream 0 is one of the calling thread.
"""

import functools
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from orias.c_library import build, cache

DATA: Final = Path(__file__).parent / "data"
_TYPES: Final = {
    "p": "uint64_t",
    "i": "int",
    "u": "unsigned",
    "b": "unsigned char",
    "h": "unsigned short",
    "H": "Handle",
    "s": "uint64_t",
}
_RUNTIME_TYPES: Final = _TYPES | {"f": "float", "D": "Dim3", "E": "Extent", "P": "Pitched"}
_PARTS: Final = {"D": "xyz", "E": ("width", "height", "depth"), "P": ("pointer", "pitch", "width", "height")}
"""Members of structures that are given by value."""
_IN_PLACE: Final = "H"
"""Structures given by value that the handler gets the address of."""
RUNTIMES: Final = ("12", "13")
"""Major versions of the runtime library."""
_WITHOUT_WORK: Final = (
    "Free", "Destroy", "Unload", "Unregister", "Release", "Synchronize", "SetCurrent", "PushCurrent", "Trim"
)  # fmt: skip
"""Words in the names of functions that have nothing to do at the end: they give something back, wait, or choose a context."""
_AT_END: Final = {
    "cuGetErrorName": "NAMES_RESULT", "cuGetErrorString": "DESCRIBES_RESULT",
    **dict.fromkeys(("cuDeviceGetDefaultMemPool", "cudaDeviceGetDefaultMemPool"), "GIVES_POOL"),
}  # fmt: skip
"""What some functions write at the end."""
PER_THREAD_STREAM: Final = 2
"""The handle of the calling thread's default stream (CU_STREAM_PER_THREAD)."""


class Function(NamedTuple):
    """An exported function: its symbol, the CUDA version that it came with, its arguments (``p`` 64 bits, ``i`` int ...).

    ``arguments`` is None for functions that take structures by value: they only answer CUDA_ERROR_NOT_SUPPORTED.  ``of``: the
    function whose form for the default stream of the calling thread this is, or its own symbol.
    """

    symbol: str
    version: int
    arguments: str | None
    of: str

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its handler, the one for this form first."""
        return self.symbol, self.of


class RuntimeFunction(NamedTuple):
    """A function of the runtime or management library: its symbol, ``12``, ``13`` or ``all``, its arguments (``=`` first: a pointer is returned).

    ``of`` as in :class:`Function`.
    """

    symbol: str
    major: str
    arguments: str | None
    of: str

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its handler, the one for this form and version first."""
        return f"{self.symbol}@{self.major}", self.symbol, f"{self.of}@{self.major}", self.of

    @property
    def values(self) -> int:
        """How many numbers the handler gets."""
        return sum(len(_PARTS.get(kind, "1")) for kind in self.arguments or "")


def _rows(name: str) -> list[list[str]]:
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [line.split() for line in lines if line and not line.startswith("#")]


def _forms(name: str) -> Iterator[tuple[str, str, str | None, str]]:
    """Symbol, version, arguments and the symbol of the line, for each function of a table."""
    for symbol, version, kinds, *endings in _rows(name):
        for own in (symbol, *(f"{symbol}_{ending}" for ending in endings)):
            yield own, version, None if kinds == "-" else kinds.strip("."), symbol


@functools.cache
def functions() -> list[Function]:
    """The exported functions, in the order of the table."""
    return [Function(symbol, int(version), kinds, of) for symbol, version, kinds, of in _forms("functions.txt")]


@functools.cache
def runtime_functions() -> list[RuntimeFunction]:
    """The functions of the runtime libraries of all versions, in the order of the table."""
    return [RuntimeFunction(*form) for form in _forms("runtime_functions.txt")]


@functools.cache
def management_functions() -> list[RuntimeFunction]:
    """The functions of the management library, in the order of the table."""
    return [RuntimeFunction(*form) for form in _forms("management_functions.txt")]


def _idle(symbol: str) -> bool:
    """Whether a function has nothing to do at the end, and no result to write."""
    return any(w in symbol for w in _WITHOUT_WORK) and "Get" not in symbol and not symbol.endswith("Node")


def _at_end() -> str:
    """The C table of what each function does once the interpreter has ended."""
    symbols = [*(f.symbol for f in functions()), *(f.symbol for f in runtime_functions())]
    words = [_AT_END.get(s) or ("SUCCEEDS" if _idle(s) else "FAILS") for s in symbols]
    words += ["SUCCEEDS" if f.symbol == "nvmlShutdown" else "UNINITIALIZED" for f in management_functions()]
    return f"const unsigned char at_end[] = {{{', '.join(words)}}};"


def _numbers(kinds: str, per_thread: bool) -> list[str]:
    """The arguments as the numbers that the handler gets, in C; `per_thread`: the stream 0 is that of the calling thread."""
    out = []
    for i, kind in enumerate(kinds):
        if kind == "s" and per_thread:
            out.append(f"a{i} ? (int64_t)a{i} : {PER_THREAD_STREAM}")
            continue
        of = "&" if kind in _IN_PLACE else ""
        out += [f"(int64_t){of}a{i}{part}" for part in ([f".{p}" for p in _PARTS[kind]] if kind in _PARTS else [""])]
    return out


def source() -> str:
    """The C text of the library."""
    out = [(DATA / "door.c").read_text(encoding="utf-8"), _at_end()]
    for index, f in enumerate(functions()):
        if f.arguments is None:
            out.append(f"EXPORT int {f.symbol}(void) {{ return NOT_SUPPORTED; }}")
            continue
        declared = ", ".join(f"{_TYPES[kind]} a{i}" for i, kind in enumerate(f.arguments)) or "void"
        values = ", ".join(_numbers(f.arguments, f.of != f.symbol)) or "0"
        out.append(
            f"EXPORT int {f.symbol}({declared}) {{ const int64_t v[] = {{{values}}}; return call({index}, v); }}"
        )
    return "\n".join(out) + "\n"


def runtime_source(major: str) -> str:
    """The C text of the runtime library of a major version."""
    first = len(functions())
    chosen = [(i, f) for i, f in enumerate(runtime_functions(), first) if f.major in (major, "all")]
    return _stubs("runtime.c", chosen)


def management_source() -> str:
    """The C text of the management library."""
    return _stubs("management.c", list(enumerate(management_functions(), len(functions()) + len(runtime_functions()))))


def _stubs(head: str, numbered: list[tuple[int, RuntimeFunction]]) -> str:
    out = [(DATA / head).read_text(encoding="utf-8")]
    for index, f in numbered:
        if f.arguments is None:
            out.append(f"EXPORT int {f.symbol}(void) {{ return NOT_SUPPORTED; }}")
            continue
        returns = f.arguments.startswith("=")
        kinds = f.arguments.lstrip("=")
        declared = ", ".join(f"{_RUNTIME_TYPES[kind]} a{i}" for i, kind in enumerate(kinds)) or "void"
        values = [*(["(int64_t)&out"] if returns else []), *_numbers(kinds, f.of != f.symbol)]
        given = f"const int64_t v[] = {{{', '.join(values) or '0'}}};"
        if returns:
            body = f"uint64_t out = 0; {given} orias_call({index}, v); return out;"
        else:
            body = f"{given} return orias_call({index}, v);"
        out.append(f"EXPORT {'uint64_t' if returns else 'int'} {f.symbol}({declared}) {{ {body} }}")
    return "\n".join(out) + "\n"


def folder() -> Path:
    """The folder with the libraries, built if they are not there; BuildError without a C compiler or if it fails."""
    text = source()
    runtimes = {major: runtime_source(major) for major in RUNTIMES}
    management = management_source()
    digest = hashlib.sha256("\0".join([text, *runtimes.values(), management]).encode()).hexdigest()[:16]
    place = cache() / f"driver-{digest}"
    if not (place / "libcuda.so").exists():
        place.mkdir(parents=True, exist_ok=True)
        build(text, place / "libcuda.so.1", ["-O1", "-ldl", "-lpthread"])
        beside = ["-O1", "-Wl,-rpath,$ORIGIN", "-L", str(place), "-l:libcuda.so.1"]
        build(management, place / "libnvidia-ml.so.1", beside)
        for major, code in runtimes.items():
            name = f"libcudart.so.{major}"
            # Programs ask for the symbols of a version that is named after the library.
            versions = place / f"{name}.map"
            versions.write_text(f"{name} {{ global: cuda*; __cuda*; local: *; }};\n", encoding="utf-8")
            build(code, place / name, [*beside, f"-Wl,--version-script={versions}"])
        link = place / f"libcuda.so.{os.getpid()}"
        link.symlink_to("libcuda.so.1")
        link.replace(place / "libcuda.so")  # Another process may build the same libraries at the same time.
    return place

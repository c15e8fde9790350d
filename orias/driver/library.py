"""Builds ``libcuda.so.1`` with the machine's C compiler, once for each version of its sources, into the user's cache.

The library is one C file: ``data/door.c`` and a function for each line of ``data/functions.txt``.
"""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

DATA: Final = Path(__file__).parent / "data"
_TYPES: Final = {"p": "uint64_t", "i": "int", "u": "unsigned", "b": "unsigned char", "h": "unsigned short"}
_COMPILERS: Final = ("cc", "gcc", "clang")


class BuildError(Exception):
    """The library could not be built; the message says why."""


class Function(NamedTuple):
    """An exported function: its symbol, the CUDA version that it came with, its arguments (``p`` 64 bits, ``i`` int ...).

    ``arguments`` is None for functions that take structures by value: they only answer CUDA_ERROR_NOT_SUPPORTED.
    """

    symbol: str
    version: int
    arguments: str | None


def functions() -> list[Function]:
    """The exported functions, in the order of the table."""
    out = []
    for line in (DATA / "functions.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            symbol, version, kinds = line.split()
            out.append(Function(symbol, int(version), None if kinds == "-" else kinds.strip(".")))
    return out


def source() -> str:
    """The C text of the library."""
    out = [(DATA / "door.c").read_text(encoding="utf-8")]
    for index, f in enumerate(functions()):
        if f.arguments is None:
            out.append(f"EXPORT int {f.symbol}(void) {{ return NOT_SUPPORTED; }}")
            continue
        declared = ", ".join(f"{_TYPES[kind]} a{i}" for i, kind in enumerate(f.arguments)) or "void"
        values = ", ".join(f"(int64_t)a{i}" for i in range(len(f.arguments))) or "0"
        out.append(
            f"EXPORT int {f.symbol}({declared}) {{ const int64_t v[] = {{{values}}}; return call({index}, v); }}"
        )
    return "\n".join(out) + "\n"


def cache() -> Path:
    """The folder for built libraries: ``ORIAS_CACHE``, or ``orias`` in the user's cache folder."""
    own = os.environ.get("ORIAS_CACHE")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "orias"


def folder() -> Path:
    """The folder with ``libcuda.so.1``, built if it is not there; BuildError without a C compiler or if it fails."""
    text = source()
    place = cache() / f"driver-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    library = place / "libcuda.so.1"
    if not library.exists():
        _build(text, library)
    link = place / "libcuda.so"
    if not link.exists():
        link.symlink_to(library.name)
    return place


def _build(text: str, library: Path) -> None:
    compiler = os.environ.get("CC") or next((c for c in _COMPILERS if shutil.which(c)), None)
    if compiler is None:
        raise BuildError(f"the driver library needs a C compiler ({', '.join(_COMPILERS)}, or CC)")
    library.parent.mkdir(parents=True, exist_ok=True)
    file = library.parent / f"driver-{os.getpid()}.c"
    made = file.with_suffix(".so")
    file.write_text(text, encoding="utf-8")
    command = [*compiler.split(), "-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-Wl,-soname,libcuda.so.1"]
    done = subprocess.run([*command, "-o", str(made), str(file), "-ldl", "-lpthread"], capture_output=True, text=True)
    file.unlink()
    if done.returncode:
        raise BuildError(f"{compiler} failed: {done.stderr.strip()[:2000]}")
    made.replace(library)  # Another process may build the same library at the same time.

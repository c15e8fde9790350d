"""Runs a program of CUTLASS's Python DSL (CuTe DSL), whose kernels Orias compiles.

    orias exec --device B200 -- PYTHON tools/clients/cute_dsl.py [--own] PROGRAM [ARGUMENT]...

The DSL's runtime library contains NVIDIA's CUDA runtime, which does not start under ``orias exec``.  The package has the same
functions as an archive without it, which is linked here with the shared runtime.  Where a kernel is loaded, the PTX that the
DSL kept takes the place of its cubin (not with ``--own``).  Products of PyTorch are computed as in ``torch_products.py``.
"""

import ctypes
import importlib.util
import os
import runpy
import struct
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

DOOR = """
typedef const void *replace(const void *);
replace *orias_replace;
int __real_cudaLibraryLoadData(void *, const void *, void *, void *, unsigned, void *, void *, unsigned);
int __wrap_cudaLibraryLoadData(void *library, const void *code, void *a, void *b, unsigned c, void *d, void *e, unsigned f) {
    return __real_cudaLibraryLoadData(library, orias_replace ? orias_replace(code) : code, a, b, c, d, e, f);
}
"""
FAT_HEADER = "<IHHQ"
"""Magic number, version, size of the header, and bytes after it."""


def link(folder: Path, package: Path) -> tuple[Path, Path]:
    """The runtime library made in `folder`, and the package's own, which has the functions that use no CUDA runtime."""
    (archive,) = package.glob("cu*/lib/libcuda_dialect_runtime_static.a")
    runtime = next(p for p in os.environ["LD_PRELOAD"].split(":") if p.endswith("libcudart.so.12"))
    source, made = folder / "door.c", folder / "libcute_door.so"
    source.write_text(DOOR)
    whole = ["-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive"]
    command = ["cc", "-shared", "-fPIC", "-O1", str(source), "-Wl,--wrap=cudaLibraryLoadData", *whole, runtime]
    subprocess.run([*command, "-o", str(made)], check=True)
    return made, archive.with_name("libcute_dsl_runtime.so")


class Kept:
    """The PTX and cubins that the DSL keeps in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.texts: list[Any] = []
        """What the driver was given; it stays where it is."""

    def text(self, code: int) -> int:
        """Where the PTX of the fat binary at `code` is."""
        _, _, head, size = struct.unpack(FAT_HEADER, ctypes.string_at(code, struct.calcsize(FAT_HEADER)))
        fat = ctypes.string_at(code, head + size)
        for cubin in self.folder.glob("*.cubin"):
            if cubin.read_bytes() in fat:
                text = cubin.with_suffix(".ptx").read_bytes().rstrip(b"\0")
                self.texts.append(ctypes.create_string_buffer(text))
                return ctypes.addressof(self.texts[-1])
        raise LookupError("no PTX of this kernel was kept")


def main() -> None:
    """Runs the program of the command line."""
    given = sys.argv[1:]
    own = given[0] == "--own"
    spec = importlib.util.find_spec("cutlass")
    assert spec is not None and spec.origin is not None
    folder = Path(tempfile.mkdtemp())
    made, rest = link(folder, Path(spec.origin).parents[2])
    # The DSL reads these when it is imported.
    os.environ |= {"CUTE_DSL_LIBS": f"{made}:{rest}", "CUTE_DSL_KEEP": "ptx,cubin", "CUTE_DSL_NO_CACHE": "1"}
    os.environ.setdefault("CUTE_DSL_DUMP_DIR", str(folder))
    kept = Kept(Path(os.environ["CUTE_DSL_DUMP_DIR"]))
    replace = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(kept.text)
    if not own:
        place = ctypes.c_void_p.in_dll(ctypes.CDLL(str(made)), "orias_replace")
        place.value = ctypes.cast(replace, ctypes.c_void_p).value
    import cuda.bindings.runtime as runtime  # It contains NVIDIA's CUDA runtime too; the DSL asks it for little.

    right = runtime.cudaError_t.cudaSuccess
    runtime.cudaGetDeviceCount = lambda: (right, 1)
    runtime.cudaLibraryUnload = lambda _: (right,)
    runtime.cudaDeviceSynchronize = lambda: (right,)
    sys.argv = given[own:]
    sys.path.insert(0, str(Path(sys.argv[0]).resolve().parent))
    import cutlass.cute.testing as older
    import cutlass.testing as testing

    testing.benchmark = older.benchmark = lambda *_, **__: (
        1.0
    )  # They capture graphs by the runtime that does not start.
    products: Any = nullcontext()
    if importlib.util.find_spec("torch") is not None:
        sys.path.insert(0, str(Path(__file__).parent))
        from torch_products import HostProducts

        products = HostProducts()
    with products:
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()

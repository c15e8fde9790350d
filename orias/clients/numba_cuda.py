"""numba-cuda: kernels are compiled from PTX by Orias in the process, instead of by nvJitLink.

Verified with numba-cuda 0.30.4 on the simulator (docs/in-process.md).
"""

from collections.abc import Callable
from typing import Any

from orias.api import CompileError, compile_sources
from orias.clients.target import target_of
from orias.options import Options

_installed: list[Callable[..., Any]] = []
"""The method of numba-cuda that `install` replaced, if it did."""


def install() -> None:
    """Make numba-cuda compile its kernels with Orias; a second call does nothing.

    A kernel that needs more than its own PTX (linked files, the device runtime) still goes to numba-cuda's linker.
    """
    from numba.cuda.codegen import CUDACodeLibrary

    if _installed:
        return
    original = CUDACodeLibrary.get_cubin

    def get_cubin(self: Any, cc: Any = None) -> Any:
        """The cubin of the library for a compute capability, as a ``cuda.core`` ObjectCode."""
        cc = self._ensure_cc(cc)
        found = self._cubin_cache.get(cc, None)
        if found:
            return found
        if self._linking_files or self.needs_cudadevrt:
            return original(self, cc)
        self._cubin_cache[cc], self._linkerinfo_cache[cc] = _compiled(self, cc)
        return self._cubin_cache[cc]

    CUDACodeLibrary.get_cubin = get_cubin
    _installed.append(original)


def uninstall() -> None:
    """Give numba-cuda its own linker back."""
    if _installed:
        from numba.cuda.codegen import CUDACodeLibrary

        CUDACodeLibrary.get_cubin = _installed.pop()


def _compiled(library: Any, cc: Any) -> tuple[Any, str]:
    """The object code of a library's PTX and the compiler's messages; numba-cuda's LinkerError if it is refused."""
    from cuda.core import ObjectCode
    from numba.cuda.cudadrv import nvrtc
    from numba.cuda.cudadrv.driver import LinkerError

    # The target for which numba-cuda makes PTX, such as compute_90a.
    options = Options(target_of(nvrtc.get_arch_option(*cc)), 3)
    options.maxrregcount = library._max_registers or 0
    texts = [(f"<{library.name} {i}>", ptx) for i, ptx in enumerate(library.get_asm_strs(cc=cc))]
    try:
        cubin = compile_sources(texts, options)
    except CompileError as e:
        log = "\n".join(str(d) for d in e.diagnostics)
        raise LinkerError(f"Orias does not compile {library.name}:\n{log}") from e
    report = "\n".join(f"{name}: {info.registers} registers" for name, info in cubin.kernels.items())
    return ObjectCode.from_cubin(cubin.data), report

"""The public interface: compiles PTX text, and gives access to the cubin."""

import os
import time
from typing import TYPE_CHECKING, final

from orias.diag import CompileError, Diagnostic
from orias.options import Options
from orias.output.result import CompileResult, KernelInfo

if TYPE_CHECKING:
    from orias.explore.exploration import Exploration
    from orias.pipeline.functions import Trace

__all__ = ["CompileError", "Cubin", "Diagnostic", "KernelInfo", "compile_sources"]


@final
class Cubin(CompileResult):
    """A finished cubin: its bytes (``data``), what each kernel uses (``kernels``), diagnostics, seconds per stage (``times``)."""

    __slots__ = ("source",)

    def __init__(self, result: CompileResult) -> None:
        super().__init__(result.arch, result.data)
        for name in CompileResult.__slots__:
            setattr(self, name, getattr(result, name))
        self.source: tuple[list[tuple[str, str | bytes]], Options] | None = None
        """What it was made from, for :meth:`explore`; not known of a cubin that another process compiled."""

    def explore(self) -> "Exploration":
        """How the PTX became SASS and why: ``.save("page.html")`` writes it as a page, a notebook shows it.

        The PTX is compiled a second time, with every phase recorded; of a cubin without it, the SASS alone is shown.
        """
        from orias.explore.collect import of_compile, of_cubin
        from orias.explore.exploration import Exploration

        if self.source is None:
            return Exploration([of_cubin(self.data, self.arch)])
        return Exploration([of_compile(*self.source)[0]])

    def disassemble(self) -> str:
        """The SASS listing, as ``nvdisasm -c`` prints it."""
        from orias.tools.disassemble import disassemble

        return disassemble(self.data)


def compile_sources(sources: list[tuple[str, str | bytes]], options: Options, trace: "Trace | None" = None) -> Cubin:
    """Compile PTX sources (name, text) into one cubin; with ``options.self_check`` also run the hazard checker on it.

    With ``ORIAS_CACHE_DIR`` in the environment a finished compile is kept there, and used again (:mod:`orias.result_cache`).
    Raises CompileError with every diagnostic if the compile fails or the check finds a hazard.
    """
    cubin = Cubin(_result(sources, options, trace))
    cubin.source = sources, options
    if options.self_check and cubin.data:
        _check(cubin)
    return cubin


def _result(sources: list[tuple[str, str | bytes]], options: Options, trace: "Trace | None") -> CompileResult:
    """The result, from the cache or the compiler."""
    folder = ""
    if trace is None and "ORIAS_CACHE_DIR" in os.environ:
        from orias.result_cache import cache_folder, cache_key, load, store

        folder = cache_folder(options)
        if folder:
            key = cache_key(sources, options)
            known = load(folder, key, options)
            if known is not None:
                return known
    from orias.compiler import compile_text

    result = compile_text(sources, options, trace)
    if folder:
        store(folder, key, options, result)
    return result


def _check(cubin: Cubin) -> None:
    from orias.check import check_cubin

    start = time.perf_counter()
    found = [h for h in check_cubin(cubin.data) if h.rule != "unknown"]
    if found:
        raise CompileError([*cubin.diagnostics, *(Diagnostic("fatal", f"Self check: {h.line()}") for h in found)])
    cubin.times["self check"] = time.perf_counter() - start

"""The public interface: compiles PTX text, and gives access to the cubin."""

import time
from typing import final

from orias.compiler import compile_text
from orias.diag import CompileError, Diagnostic
from orias.options import Options
from orias.output.result import CompileResult, KernelInfo
from orias.pipeline.functions import Trace

__all__ = ["CompileError", "Cubin", "Diagnostic", "KernelInfo", "compile_sources"]


@final
class Cubin(CompileResult):
    """A finished cubin: its bytes (``data``), what each kernel uses (``kernels``), diagnostics, seconds per stage (``times``)."""

    __slots__ = ()

    def __init__(self, result: CompileResult) -> None:
        super().__init__(result.arch, result.data)
        for name in CompileResult.__slots__:
            setattr(self, name, getattr(result, name))

    def disassemble(self) -> str:
        """The SASS listing, as ``nvdisasm -c`` prints it."""
        from orias.tools.disassemble import disassemble

        return disassemble(self.data)


def compile_sources(sources: list[tuple[str, str | bytes]], options: Options, trace: Trace | None = None) -> Cubin:
    """Compile PTX sources (name, text) into one cubin; with ``options.self_check`` also run the hazard checker on it.

    Raises CompileError with every diagnostic if the compile fails or the check finds a hazard.
    """
    cubin = Cubin(compile_text(sources, options, trace))
    if options.self_check and cubin.data:
        _check(cubin)
    return cubin


def _check(cubin: Cubin) -> None:
    from orias.check import check_cubin

    start = time.perf_counter()
    found = [h for h in check_cubin(cubin.data) if h.rule != "unknown"]
    if found:
        raise CompileError([*cubin.diagnostics, *(Diagnostic("fatal", f"Self check: {h.line()}") for h in found)])
    cubin.times["self check"] = time.perf_counter() - start

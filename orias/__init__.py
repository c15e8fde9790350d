"""Orias: PTX text in, loadable cubin out.

>>> import orias
>>> cubin = orias.compile(ptx_text, arch="sm_90")
>>> cubin.kernels["saxpy"].registers
>>> print(cubin.disassemble())

The import of the package is cheap; the first use loads the compiler.
"""

from orias.version import VERSION as __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Unpack

    from orias.api import CompileError, Cubin, Diagnostic, KernelInfo
    from orias.batch import Outcome, WorkerDied, compile_many
    from orias.compile_options import CompileOptions

__all__ = [
    "CompileError",
    "Cubin",
    "Diagnostic",
    "KernelInfo",
    "Outcome",
    "WorkerDied",
    "__version__",
    "compile",
    "compile_many",
    "disassemble",
]


def compile(ptx: "str | bytes", *, arch: str = "", opt_level: int = 3, **options: "Unpack[CompileOptions]") -> "Cubin":
    """Compile PTX text to a :class:`Cubin` for one target.

    ``arch``: ``sm_75`` to ``sm_121f``; if it is not given, the one that the text's ``.target`` names.  ``opt_level``: 0 to 3.  ``options``: any field of :class:`orias.options.Options`
    (``lineinfo=True``, ``maxrregcount=64``, ...); ``knobs`` is a dictionary of knobs, or of one for each kernel
    (``{"UnrollUnknownCount": 8, "saxpy": {"HoistBudget": 0}}``).  Raises CompileError with its diagnostics if the text
    cannot be compiled, TypeError for an unknown option, KnobError for a wrong knob.
    """
    from orias.api import compile_sources
    from orias.options import Options

    o = Options(arch, opt_level)
    o.take("compile", dict(options))
    return compile_sources([("<ptx>", ptx)], o)


def disassemble(data: bytes) -> str:
    """The SASS listing of a cubin, from Orias or another compiler, as ``nvdisasm -c`` prints it."""
    from orias.tools.disassemble import disassemble as listing

    return listing(data)


def __getattr__(name: str) -> object:
    if name in ("triton", "cupy", "cuda_core", "numba_cuda"):
        from importlib import import_module

        return import_module(f"orias.clients.{name}")
    if name in ("CompileError", "Cubin", "Diagnostic", "KernelInfo"):
        import orias.api

        return getattr(orias.api, name)
    if name in ("Outcome", "WorkerDied", "compile_many"):
        import orias.batch

        return getattr(orias.batch, name)
    raise AttributeError(f"module 'orias' has no attribute '{name}'")

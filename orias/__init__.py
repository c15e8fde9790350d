"""Orias: PTX text in, loadable cubin out.

>>> import orias
>>> cubin = orias.compile(ptx_text, arch="sm_90")
>>> cubin.kernels["saxpy"].registers
>>> print(cubin.disassemble())

Importing the package costs nothing; the compiler is loaded at its first use.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from orias.compiler import Cubin, KernelInfo
    from orias.diag import CompileError, Diagnostic

__version__ = "0.1.0"
__all__ = ["CompileError", "Cubin", "Diagnostic", "KernelInfo", "compile", "disassemble"]


def compile(ptx: "str | bytes", *, arch: str, opt_level: int = 3, **options: object) -> "Cubin":
    """Compile PTX text to a :class:`Cubin` for one target.

    ``arch``: ``sm_75`` to ``sm_90a``.  ``opt_level``: 0 to 3.  ``options``: any field of :class:`orias.options.Options`
    (``lineinfo=True``, ``maxrregcount=64``, ...).  Raises CompileError with its diagnostics if the text cannot be
    compiled, TypeError for an unknown option.
    """
    from orias.compiler import compile_text
    from orias.options import Options

    o = Options(arch, opt_level)
    for name, value in options.items():
        if not hasattr(o, name):
            raise TypeError(f"compile() got an unexpected option '{name}'")
        setattr(o, name, value)
    return compile_text([("<ptx>", ptx)], o)


def disassemble(data: bytes) -> str:
    """The SASS listing of a cubin, ours or another tool's, as ``nvdisasm -c`` prints it."""
    from orias.tools.disassemble import disassemble as listing

    return listing(data)


def __getattr__(name: str) -> object:
    if name in ("Cubin", "KernelInfo"):
        import orias.compiler

        return getattr(orias.compiler, name)
    if name in ("CompileError", "Diagnostic"):
        import orias.diag

        return getattr(orias.diag, name)
    raise AttributeError(f"module 'orias' has no attribute '{name}'")

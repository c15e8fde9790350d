"""A module of PTX whose kernels are compiled one by one, each when somebody asks for it first, as a driver loads modules.

All of the text is read, checked and lowered at once.  What waits is the phases, which take most of the time of a compile, and with
them the few refusals that show only there (a register count of ``setmaxnreg``, registers of ``wgmma``).
"""

from typing import TYPE_CHECKING, Final, final

from orias.collector import Seldom
from orias.compiler import Compiler
from orias.cubin.cubin_error import CubinError
from orias.diag import CompileError, Unsupported
from orias.output.module_cubin import cubin_module, make_cubin

if TYPE_CHECKING:
    from orias.lower.frame.program import Kernel, Program
    from orias.options import Options
    from orias.output.result import KernelPart
    from orias.ptx.ast import Module


@final
class DeferredModule:
    """``data``: a cubin with all variables of the module and the kernels that do not wait.

    The kernels of a module wait, unless there is one only, or they share code: where functions have sections of their own, or the
    module has the address of one.  The variables have the same places in all cubins of a module.
    """

    __slots__ = ("_begun", "_compiler", "_done", "_module", "_program", "_sources", "_text", "_waiting", "data")

    def __init__(self, sources: list[tuple[str, str | bytes]], options: "Options") -> None:
        self._compiler: Final = Compiler(options, None, None)
        self._sources: Final = sources
        self._done: dict[str, bytes | CompileError] = {}
        self._begun = False
        """The compile of a kernel began and was not ended, by an exception of a signal's handler: its code is half done."""
        self._module: Module
        self._program: Program
        self._text: str | bytes
        self._waiting: dict[str, Kernel] = {}
        with Seldom():
            try:
                self._lower()
                self.data: bytes
                if self._waiting:
                    self.data = self._cubin(None)
                else:
                    self.data = self._compiler.finish(self._module, self._program, self._text).data
            except (CubinError, Unsupported) as e:
                raise self._compiler.refusal(e) from e

    def _lower(self) -> None:
        c = self._compiler
        c.diagnostics.clear()
        self._module, self._program, self._text = c.lowered(self._sources)
        kernels = self._program.kernels
        if len(kernels) > 1 and not (self._program.points_to_functions or c.options.own_sections):
            self._waiting = {k.ptx.name: k for k in kernels}

    @property
    def waiting(self) -> list[str]:
        """The kernels that are compiled when they are asked for, in the order of the text."""
        return list(self._waiting)

    def cubin(self, name: str) -> bytes:
        """A cubin with one of the kernels that wait and all variables; raises CompileError if the kernel cannot be compiled."""
        if name not in self._done:
            with Seldom():
                if self._begun:
                    self._lower()
                self._begun = True
                try:
                    self._done[name] = self._cubin(self._waiting[name])
                except (CompileError, CubinError, Unsupported) as e:
                    self._done[name] = self._compiler.refusal(e)
                self._begun = False
        done = self._done[name]
        if isinstance(done, CompileError):
            raise done
        return done

    def _cubin(self, kernel: "Kernel | None") -> bytes:
        c = self._compiler
        out = cubin_module(self._module, self._program, self._text, c.options, c.target)
        parts: list[KernelPart] = []
        if kernel is not None:
            part = c.kernels.part(kernel, out, self._module)
            if isinstance(part, (CompileError, Unsupported)):
                raise part
            parts.append(part)
        return make_cubin(self._module, self._program, out, parts, [], c.options, c.target).data

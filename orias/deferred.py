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

    __slots__ = ("_begun", "_compiler", "_done", "_kernels", "_lowered", "_sources", "data", "waiting")

    def __init__(self, sources: list[tuple[str, str | bytes]], options: "Options") -> None:
        self._compiler: Final = Compiler(options, None, None)
        self._sources: Final = sources
        self._lowered: tuple[Module, Program, str | bytes] | None = None
        """The module, as long as kernels of it are left to compile."""
        self._kernels: dict[str, Kernel] = {}
        self._done: dict[str, bytes | CompileError] = {}
        self._begun = False
        """The compile of a kernel began and was not ended, by an exception of a signal's handler: its code is half done."""
        with Seldom():
            try:
                module, program, text = self._lower()
                self.data: bytes
                if len(program.kernels) > 1 and not (program.points_to_functions or options.own_sections):
                    self.data = self._cubin(None)
                else:
                    self._kernels.clear()
                    self._lowered = None
                    self.data = self._compiler.finish(module, program, text).data
            except (CubinError, Unsupported) as e:
                raise self._compiler.refusal(e) from e
        self.waiting: Final = list(self._kernels)
        """The kernels that are compiled when they are asked for, in the order of the text."""

    def _lower(self) -> "tuple[Module, Program, str | bytes]":
        c = self._compiler
        c.diagnostics.clear()
        self._lowered = c.lowered(self._sources)
        self._kernels = {k.ptx.name: k for k in self._lowered[1].kernels}
        return self._lowered

    def cubin(self, name: str) -> bytes:
        """A cubin with one of the kernels that wait and all variables; raises CompileError if the kernel cannot be compiled."""
        if name not in self._done:
            with Seldom():
                if self._begun:
                    self._lower()
                self._begun = True
                try:
                    self._done[name] = self._cubin(self._kernels[name])
                except (CompileError, CubinError, Unsupported) as e:
                    self._done[name] = self._compiler.refusal(e)
                self._begun = False
            if len(self._done) == len(self._kernels):
                self._lowered = None
                self._kernels.clear()
        done = self._done[name]
        if isinstance(done, CompileError):
            raise done
        return done

    def _cubin(self, kernel: "Kernel | None") -> bytes:
        c = self._compiler
        assert self._lowered is not None
        module, program, text = self._lowered
        out = cubin_module(module, program, text, c.options, c.target)
        parts: list[KernelPart] = []
        if kernel is not None:
            part = c.kernels.part(kernel, out, module)
            if isinstance(part, (CompileError, Unsupported)):
                raise part
            parts.append(part)
        return make_cubin(module, program, out, parts, [], c.options, c.target).data

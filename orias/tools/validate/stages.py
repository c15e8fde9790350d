"""A compile that keeps every stage."""

from collections.abc import Callable
from typing import Final, final

from orias.compiler import compile_text
from orias.options import Options
from orias.ori.clone import clone, signature
from orias.ori.ir import Func
from orias.output.result import CompileResult
from orias.pipeline.phases import PHASES

_NAMES: Final = [p.name for p in PHASES]
_CONVERGENCE: Final = _NAMES.index("LateExpandSyncInstructions")


def before_convergence(phase: str) -> bool:
    """True if the code after a phase does not yet make divergent threads reconverge."""
    return _NAMES.index(phase) < _CONVERGENCE


@final
class Stages:
    """``changes``: phase name -> the functions that it changed, in their state after it."""

    def __init__(
        self, text: str, options: Options, keep: Callable[[str], bool] | None = None, phases: bool = True
    ) -> None:
        """`keep`: selects the phases to keep; without `phases` only the cubin is kept."""
        self.changes: dict[str, dict[str, Func]] = {}
        self._last: dict[str, int] = {}
        self._keep = keep
        self.order: list[str] = []
        self.cubin: CompileResult = compile_text([("verify.ptx", text)], options, self._trace if phases else None)

    def _trace(self, phase: str, fn: Func) -> None:
        if self._keep is not None and not self._keep(phase):
            return
        now = signature(fn)
        if self._last.get(fn.name) == now:
            return
        if fn.name not in self._last:
            self.order.append(fn.name)
        self._last[fn.name] = now
        self.changes.setdefault(phase, {})[fn.name] = clone(fn)

    def kernel_stages(self, kernel: str) -> list[tuple[str, list[Func]]]:
        """(phase, all functions the kernel may call) for each phase that changed one of them; the kernel comes first.

        These are the functions of its section, and with -g those that have sections of their own.
        """
        apart = {name for name, info in self.cubin.kernels.items() if not info.is_entry}
        mine = [kernel] + [n for n in self.order if n in apart or n.startswith((f"${kernel}$", "$__internal_"))]
        now: dict[str, Func] = {}
        out: list[tuple[str, list[Func]]] = []
        for phase in PHASES:
            changed = self.changes.get(phase.name, {})
            if not any(n in changed for n in mine):
                continue
            now.update({n: changed[n] for n in mine if n in changed})
            if kernel in now:
                out.append((phase.name, [now[n] for n in mine if n in now]))
        return out

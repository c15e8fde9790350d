"""The functions of a program: rows of the machine for their registers, frames, addresses."""

from typing import Any, Final, final

import numpy as np
import numpy.typing as npt

from orias.diag import Unsupported
from orias.isa.operand import Opnd
from orias.ptx.ast import O_FUNC, TYPE_BITS, Function, Instr, Label, Var
from orias.sim.core.engine import Plan
from orias.sim.core.gathering import Gathering
from orias.sim.core.sim_errors import Fault, IllegalInstruction
from orias.sim.core.site import Exec, Getter
from orias.sim.core.state import Active, Machine
from orias.sim.math.ops_int import U64
from orias.sim.ptx.choice import ACROSS
from orias.sim.ptx.fused import fused_products
from orias.sim.ptx.loaded_module import LoadedModule
from orias.sim.ptx.machine import FIRST_PRED, FIRST_ROW, ptx
from orias.sim.ptx.ptx_layout import CALL_ALIGN, align_of, place, slots
from orias.sim.ptx.specials import special_register
from orias.target.abi import LOCAL_MEMORY

Arr = npt.NDArray[Any]


@final
class Operation(Gathering):
    """What threads run together at all collectives with the same text (opcode, qualifiers and type)."""

    __slots__ = ("line", "rows", "run")

    def __init__(self, number: int, line: int, rows: list[Opnd], run: Exec) -> None:
        super().__init__(number)
        self.line: Final[int] = line
        """PTX line of the first of them."""
        self.rows: Final[list[Opnd]] = rows
        """Rows of the machine for results and operands."""
        self.run: Final[Exec] = run


class Unit:
    """One function in a program: rows of its registers, its frame, its first plan index."""

    def __init__(self, program: "Program", function: Function, number: int, row: int, pred: int) -> None:
        self.program = program
        self.function = function
        self.number = number
        self.start = -1
        self.recursive = False
        fuse = program.image.choice.fuse
        self.fused = fused_products(function, fuse == ACROSS) if fuse else {}
        self.rows: dict[int, tuple[int, int, int]] = {}
        """(first row, bits, rows per element) of each register, by id of its variable."""
        self.first_row, self.first_pred = row, pred
        formals = [v for v in [*function.rets, *function.params] if v.space == "reg"]
        for v in [*function.regs, *[x for x in formals if all(x is not y for y in function.regs)]]:
            bits = TYPE_BITS[v.type]
            if bits == 1:
                self.rows[id(v)] = (pred, 1, 1)
                pred += 1
            else:
                words = max(1, bits // 32)
                self.rows[id(v)] = (row, bits, words)
                row += words * v.vec
        self.end_row, self.end_pred = row, pred
        self._cells: dict[int, list[int]] = {}
        locals_ = [v for v in function.variables if v.space in ("local", "param")]
        offsets, top = place(locals_)
        self._offsets = {id(v): o for v, o in zip(locals_, offsets, strict=True)}
        area = 0
        if not function.entry:
            where, area = slots(function)
            self._below = {id(v): w for v, w in zip([*function.rets, *function.params], where, strict=True)}
        size = -(-top // CALL_ALIGN) * CALL_ALIGN + area
        self.frame_size = -(-size // program.frame_align) * program.frame_align
        """Frame size in bytes, with the call slots of results and parameters."""

    def label(self, label: Label) -> list[int]:
        """A one-element list with the plan index of a label, -1 until the label is placed."""
        return self._cells.setdefault(id(label), [-1])

    def formal(self, v: Var) -> int:
        """Offset of a parameter or result in the frame of this function."""
        return self.frame_size - self._below[id(v)]

    def address(self, v: Var, offset: int) -> Getter:
        """The address of a variable (see :mod:`orias.sim.ptx.ptx_memory`)."""
        image = self.program.image
        at = self._offsets.get(id(v))
        if at is None and not self.function.entry and id(v) in self._below:
            at = self.formal(v)
        if at is not None:
            window = image.local_window if v.space == "param" else 0
            add = np.int64(at + offset)
            return lambda m, a: (ptx(m).frame[a.sel] + add).view(U64) + np.uint64(window)
        fixed = self.program.address(v)
        value = np.full(1, (fixed + offset) & 0xFFFFFFFFFFFFFFFF, U64)
        if v.space == "shared":
            return lambda m, a: value if m.cluster_size == 1 else value + _rank(m, a)
        return lambda m, a: value


class Program:
    """The functions that one kernel reaches: rows of their registers, frames, addresses; and, once they are compiled, their plans."""

    def __init__(self, image: LoadedModule, kernel: Function) -> None:
        self.image = image
        self.kernel = kernel
        self.plans: list[Plan | None] = []
        self.units: list[Unit] = []
        self._by_function: dict[int, Unit] = {}
        self._row, self._pred = FIRST_ROW, FIRST_PRED
        in_frames = [v for f in image.module.functions for v in f.variables if v.space in ("local", "param")]
        for v in in_frames:
            if align_of(v) > LOCAL_MEMORY:
                raise Unsupported(f"'{v.name}' is aligned to more than the local memory of a thread", v.line)
        self.frame_align = max([CALL_ALIGN, *[align_of(v) for v in in_frames]])
        """Alignment of all frames in bytes."""
        self.operations: dict[str, Operation] = {}
        """The collectives, by their text."""
        self._addresses = [f for f in image.module.functions if f.body is not None and not f.entry]
        self._reach(kernel)
        self._mark_recursion()
        self.param_offsets, _ = place(kernel.params)

    @property
    def words(self) -> int:
        """Number of rows of words that the program needs."""
        return self._row - FIRST_ROW

    @property
    def preds(self) -> int:
        """Number of rows of predicates that the program needs."""
        return self._pred - FIRST_PRED

    def scratch(self, words: int) -> int:
        """Adds `words` rows; returns the first."""
        first = self._row
        self._row += words
        return first

    def scratch_predicate(self) -> int:
        """Adds a row of predicates; returns it."""
        self._pred += 1
        return self._pred - 1

    def plan_at(self, index: int) -> Plan:
        """The plan of an index; beyond the end, one that raises a Fault."""
        plan = self.plans[index] if 0 <= index < len(self.plans) else None
        if plan is None:
            plan = Plan(0, lambda: "")
            plan.run = refuse("execution left the code")
        return plan

    # -- functions

    def definition(self, f: Function) -> Function:
        """The function with a body that a declaration refers to, else the declaration."""
        if f.body is not None:
            return f
        return next((g for g in self.image.module.functions if g.name == f.name and g.body is not None), f)

    def unit(self, f: Function) -> Unit:
        """The unit of a function that the kernel reaches."""
        return self._by_function[id(self.definition(f))]

    def _callees(self, f: Function) -> list[Function]:
        found: list[Function] = []
        for i in f.body or []:
            if not isinstance(i, Instr):
                continue
            if i.sig.name == "call" and i.ops[0].kind != O_FUNC:
                found.extend(self._addresses)
            found.extend(o.func for o in i.ops if o.kind == O_FUNC and o.func is not None)
        return [g for g in (self.definition(f) for f in found) if g.body is not None]

    def _reach(self, kernel: Function) -> None:
        todo = [kernel]
        while todo:
            f = todo.pop(0)
            if id(f) in self._by_function:
                continue
            u = Unit(self, f, len(self.units), self._row, self._pred)
            self._row, self._pred = u.end_row, u.end_pred
            self.units.append(u)
            self._by_function[id(f)] = u
            todo.extend(self._callees(f))

    def _mark_recursion(self) -> None:
        direct = {u.number: {self.unit(g).number for g in self._callees(u.function)} for u in self.units}
        for u in self.units:
            seen: set[int] = set()
            todo = list(direct[u.number])
            while todo:
                n = todo.pop()
                if n not in seen:
                    seen.add(n)
                    todo.extend(direct[n])
            u.recursive = u.number in seen

    def function_address(self, f: Function) -> Getter:
        """The address of a function as a value."""
        g = self.definition(f)
        index = next((k for k, h in enumerate(self._addresses) if h is g), -1)
        value = np.full(1, self.image.code_base + 16 * (index + 1), U64)
        return lambda m, a: value

    def at_address(self, address: int) -> Unit | None:
        """The unit whose function has the address; None without one."""
        k = (address - self.image.code_base) // 16 - 1
        if (address - self.image.code_base) % 16 or not 0 <= k < len(self._addresses):
            return None
        return self._by_function.get(id(self._addresses[k]))

    # -- data

    def address(self, v: Var) -> int:
        """The address of a variable that is not in a frame."""
        if v.space == "param":
            for p, offset in zip(self.kernel.params, self.param_offsets, strict=True):
                if p is v:
                    return self.image.param_base + offset
        return self.image.address(v)

    def special(self, name: str, comp: str) -> Getter:
        """The value of a special register."""
        return special_register(self.image, name, comp)


def _rank(m: Machine, a: Active) -> Arr:
    """The block field of shared addresses in a cluster."""
    result: Arr = (m.block_of[a.sel] % m.cluster_size).astype(U64) << np.uint64(24)
    return result


def refuse(message: str) -> Exec:
    """A step that raises the fault of an illegal instruction."""

    def run(m: Machine, a: Active) -> None:
        raise Fault(IllegalInstruction, message, 0)

    return run

"""Uniform registers across meeting places: while threads wait there, other threads of the warp run and may overwrite them.

A value that is needed again afterwards is kept in a register of the thread, and copied back (R2UR) where it is used.
"""

from typing import Final, final

from orias.isa.operand import K_R, K_UP, K_UR, PT, Opnd, is_vreg, kind_of, renamed, vreg, with_word_lane
from orias.ori.ir import OP_COPY, OP_PACK, Block, Func, Inst
from orias.passes.ssa_repair import is_recomputable


def keep_in_threads(fn: Func, waits: list[Inst]) -> None:
    """Let no uniform register keep its value across any of the instructions in `waits`, but for values from constants alone.

    A uniform result of these instructions themselves is read by copies to registers of the thread only.
    """
    _Keeper(fn, waits).run()


@final
class _Keeper:
    __slots__ = ("_ends", "_fn", "_kept", "_makers", "_results")

    def __init__(self, fn: Func, waits: list[Inst]) -> None:
        self._fn: Final[Func] = fn
        self._ends: Final[set[int]] = {inst.uid for inst in waits}
        self._makers: Final[dict[int, Inst]] = {
            vreg(d): inst for inst in fn.insts() for d in inst.dst if is_vreg(d) and kind_of(d) in (K_UR, K_UP)
        }
        self._results: Final[set[int]] = {vreg(d) for inst in waits for d in inst.dst if is_vreg(d)}
        self._kept: Final[dict[int, Opnd]] = {}
        """Uniform register -> the register of the thread with its value."""

    def run(self) -> None:
        if not self._makers:
            return
        for b in self._fn.blocks:
            self._block(b)
        for b in self._fn.blocks:
            for k in range(len(b.insts) - 1, -1, -1):
                inst = b.insts[k]
                for d in reversed(inst.dst):
                    if is_vreg(d) and vreg(d) in self._kept:
                        made = self._fn.new_inst(OP_COPY, [self._kept[vreg(d)]], [d], loc=inst.loc)
                        b.insts.insert(k + 1, made)

    def _block(self, b: Block) -> None:
        """Copy values back before the instructions of a block that read them after a wait."""
        out: list[Inst] = []
        here: dict[int, int] = {}
        """Uniform register -> the one with its value since the last wait."""
        for inst in b.insts:
            for o in inst.uses():
                if is_vreg(o) and vreg(o) in self._makers and vreg(o) not in here and self._is_lost(o, inst):
                    here[vreg(o)] = self._again(o, inst.loc, out)
            inst.src = [renamed(o, here) for o in inst.src]
            inst.guard = renamed(inst.guard, here)
            inst.old = renamed(inst.old, here)
            out.append(inst)
            if inst.uid in self._ends:
                here.clear()
            here.update([(vreg(d), vreg(d)) for d in inst.dst if is_vreg(d) and vreg(d) not in self._results])
        b.insts = out

    def _is_lost(self, o: Opnd, user: Inst) -> bool:
        """True if a use of a value that was not made since the last wait cannot read its register."""
        if vreg(o) in self._results:
            return user.op is not OP_COPY or user.guard != PT or kind_of(user.dst[0]) != K_R
        return not is_recomputable(self._makers[vreg(o)])

    def _again(self, o: Opnd, loc: int, out: list[Inst]) -> int:
        """Append what makes a uniform value again; returns its register."""
        fn, ident = self._fn, vreg(o)
        maker = self._makers[ident]
        new = fn.new_vreg(kind_of(o), fn.vwidth[ident])
        if kind_of(o) == K_UP:
            # Votes on predicates that are the same in all threads (wgmma): VOTEU.
            assert maker.guard == PT and len(maker.dst) == 1
            out.append(fn.new_inst(maker.op, [new], list(maker.src), loc=loc))
            return vreg(new)
        kept = self._kept.get(ident)
        if kept is None:
            kept = self._kept[ident] = fn.new_vreg(K_R, fn.vwidth[ident])
        if fn.vwidth[ident] == 1:
            out.append(fn.new_inst(OP_COPY, [new], [kept], loc=loc))
        else:
            parts = [with_word_lane(kept, k) for k in range(fn.vwidth[ident])]
            out.append(fn.new_inst(OP_PACK, [new], parts, loc=loc))
        return vreg(new)

"""SSA form again after edges were added: every value reaches its uses through phis.

Values of uniform registers, which no phi may hold, are computed again before each use; they must come from constants.

A value has one definition.  Where that no longer dominates a use, because a path around it was added, the value comes from phis where
such paths meet it; on the paths around it is undefined.  The program never uses it there: the new paths only lead threads through code
that they share, back to where they came from.
"""

from typing import Final, final

from orias.analysis.cfg import DomTree, dominators, onward
from orias.isa.op import F_CONSTMEM
from orias.isa.operand import K_UP, K_UR, PT, Opnd, is_vreg, kind_of, reg, vreg, with_reg
from orias.ori.ir import OP_COPY, OP_PHI, OP_UNDEF, Block, Func, Inst


def is_recomputable(inst: Inst) -> bool:
    """True for an operation on constants alone."""
    return (
        inst.guard == PT
        and (inst.op is OP_COPY or inst.op.flags & F_CONSTMEM != 0)
        and not any(is_vreg(o) for o in inst.src)
    )


def repair_ssa(fn: Func) -> None:
    """Add the phis that values need whose definitions do not dominate all their uses."""
    homes: dict[int, Block] = {}
    makers: dict[int, Inst] = {}
    for b in fn.blocks:
        for inst in b.insts:
            for d in inst.dst:
                if is_vreg(d):
                    homes[vreg(d)] = b
                    makers[vreg(d)] = inst
    tree = dominators(fn)
    broken: dict[int, dict[int, tuple[Block, Inst]]] = {}
    """Register -> its uses that are not dominated, by uid."""
    for b in fn.blocks:
        for inst in b.insts:
            for k, o in enumerate(inst.uses()):
                home = homes.get(vreg(o)) if is_vreg(o) else None
                at = b.preds[k] if inst.op is OP_PHI else b
                if home is not None and tree.depth[at.id] >= 0 and not tree.dominates(home.id, at.id):
                    broken.setdefault(vreg(o), {})[inst.uid] = (b, inst)
    undefined: dict[tuple[int, int], int] = {}
    for ident, uses in broken.items():
        if fn.vkind[ident] in (K_UR, K_UP):
            for b, inst in uses.values():
                _compute_again(fn, makers[ident], b, inst)
            continue
        _Value(fn, tree, ident, homes[ident], undefined).replace(list(uses.values()))


def _compute_again(fn: Func, maker: Inst, b: Block, use: Inst) -> None:
    """Compute a uniform value before an instruction that uses it."""
    assert is_recomputable(maker) and len(maker.dst) == 1
    ident = vreg(maker.dst[0])
    d = fn.new_vreg(fn.vkind[ident], fn.vwidth[ident])
    b.insts.insert(b.insts.index(use), fn.new_inst(maker.op, [d], list(maker.src), loc=use.loc))
    use.src = [with_reg(o, vreg(d)) if is_vreg(o) and vreg(o) == ident else o for o in use.src]


@final
class _Value:
    """One value, and what stands for it at the start of each block that its definition does not dominate."""

    __slots__ = ("_at", "_fn", "_home", "_ident", "_phis", "_reached", "_tree", "_undefined")

    def __init__(self, fn: Func, tree: DomTree, ident: int, home: Block, undefined: dict[tuple[int, int], int]) -> None:
        self._fn: Final[Func] = fn
        self._tree: Final[DomTree] = tree
        self._ident: Final[int] = ident
        self._home: Final[Block] = home
        self._reached: Final[set[int]] = onward(home.succs)
        self._undefined: Final[dict[tuple[int, int], int]] = undefined
        """(file, width) -> a register without a value."""
        self._at: Final[dict[int, int]] = {}
        self._phis: Final[list[tuple[Block, Inst]]] = []
        """New phis whose sources are not known yet."""

    def replace(self, uses: list[tuple[Block, Inst]]) -> None:
        """Give each of the instructions what reaches it."""
        for b, inst in uses:
            if inst.op is OP_PHI:
                inst.src = [self._use(o, self._at_end(p)) for o, p in zip(inst.src, b.preds, strict=True)]
                continue
            # A definition in the same block comes first, or it would not have reached the use before.
            here = self._ident if b is self._home else self._at_start(b)
            inst.src = [self._use(o, here) for o in inst.src]
            inst.guard = self._use(inst.guard, here)
            inst.old = self._use(inst.old, here)
        while self._phis:
            b, phi = self._phis.pop()
            phi.src = [reg(kind_of(phi.dst[0]), self._at_end(p)) for p in b.preds]

    def _use(self, o: Opnd, ident: int) -> Opnd:
        """An operand that is this value, with another register in its place."""
        return with_reg(o, ident) if is_vreg(o) and vreg(o) == self._ident else o

    def _at_end(self, b: Block) -> int:
        return self._ident if b is self._home else self._at_start(b)

    def _at_start(self, b: Block) -> int:
        """The register with the value at the start of a block."""
        path: list[Block] = []
        while b.id not in self._at:
            path.append(b)
            if b is not self._home and self._tree.dominates(self._home.id, b.id):
                self._at[b.id] = self._ident
            elif b.id not in self._reached or not b.preds:
                self._at[b.id] = self._without_value()
            elif len(b.preds) > 1:
                self._at[b.id] = self._phi(b)
            elif b.preds[0] is self._home:
                self._at[b.id] = self._ident
            else:
                b = b.preds[0]
        found = self._at[b.id]
        for x in path:
            self._at[x.id] = found
        return found

    def _phi(self, b: Block) -> int:
        fn = self._fn
        d = fn.new_vreg(fn.vkind[self._ident], fn.vwidth[self._ident])
        phi = fn.new_inst(OP_PHI, [d], [], loc=b.insts[0].loc if b.insts else 0)
        b.insts.insert(0, phi)
        self._phis.append((b, phi))
        if self._ident in fn.names:
            fn.names[vreg(d)] = list(fn.names[self._ident])
        return vreg(d)

    def _without_value(self) -> int:
        fn = self._fn
        key = (fn.vkind[self._ident], fn.vwidth[self._ident])
        ident = self._undefined.get(key)
        if ident is None:
            d = fn.new_vreg(*key)
            ident = self._undefined[key] = vreg(d)
            fn.blocks[0].insts.insert(0, fn.new_inst(OP_UNDEF, [d], []))
        return ident

"""SSA construction on the fly over PTX registers (Braun et al., *Simple and Efficient Construction of SSA Form*).

A *key* is an int that names a mutable variable: ``register index * 8 + component`` for PTX registers (component 0 is
the whole register, 1..4 are x..w), a negative number for temporaries of an expansion and for the carry flag.  Values
are whole virtual registers.  All walks are iterative, because deep control flow would exceed Python's recursion limit.
"""

from typing import Final, final

from orias.isa.operand import FIRST_VREG, K_P, K_R, PAYLOAD_SHIFT, Opnd, bare, in_place_of, is_vreg, kind_of, reg, vreg
from orias.ori.ir import OP_PHI, OP_UNDEF, Block, Func, Inst

CC_KEY: Final = -1
"""The carry flag of add.cc and the other carry instructions."""

_NOTED: Final = 16
"""Of the blocks through which a search for a value went, each so many notes it."""


@final
class SsaBuilder:
    """Current definitions per block, incomplete phis, and replacements of removed phis."""

    __slots__ = (
        "_defs",
        "_fn",
        "_forward",
        "_incomplete",
        "_kinds",
        "_next_temp",
        "_phi_block",
        "_phis",
        "_sealed",
        "_unchanged",
        "_undef",
        "_undef_insts",
        "_users",
        "names",
    )

    def __init__(self, fn: Func) -> None:
        self._fn: Func = fn
        self._defs: dict[int, dict[int, Opnd]] = {}
        self._sealed: set[int] = set()
        self._incomplete: dict[int, list[tuple[int, Inst]]] = {}
        self._unchanged: dict[int, Block] = {}
        """For blocks of several predecessors, by id: a block at whose end all PTX registers have the values that they have there."""
        self._phis: dict[int, dict[int, Inst]] = {}
        """Phis of each block: block id -> register id -> phi.  `finish` adds them to the block's instructions."""
        self._phi_block: dict[int, Block] = {}
        """Block of each live phi, by the phi's register id."""
        self._users: dict[Opnd, dict[int, Inst]] = {}
        """The phis that have a value as an operand, each by its register id; removed phis may be among them."""
        self._forward: dict[int, Opnd] = {}
        """Register id of a removed phi -> the value that replaces it."""
        self._kinds: dict[int, tuple[int, int]] = {CC_KEY: (K_P, 1)}
        self._next_temp: int = CC_KEY
        self._undef: set[int] = set()
        self._undef_insts: list[Inst] = []
        self.names: dict[int, list[int]] | None = None
        """With -g: for each value (register id), the keys of the PTX registers that have held it."""

    def declare(self, key: int, file_kind: int, width: int) -> None:
        """Declare the register file (K_R, K_P) and the width in words of a variable."""
        self._kinds[key] = (file_kind, width)

    def new_temp(self, width: int = 1, file_kind: int = K_R) -> int:
        """A new variable for an expansion."""
        self._next_temp -= 1
        self._kinds[self._next_temp] = (file_kind, width)
        return self._next_temp

    def is_undef(self, value: Opnd) -> bool:
        """True if the value is known to be undefined."""
        return vreg(value) in self._undef

    def resolve(self, value: Opnd) -> Opnd:
        """The value with removed phis replaced."""
        forward = self._forward
        if not forward:
            return value
        # vreg is written out here and below: its calls would cost plain Python more than the work between them.
        ident = value >> PAYLOAD_SHIFT
        f = forward.get(ident)
        if f is None or not is_vreg(value):
            return value
        last = f
        g = forward.get(last >> PAYLOAD_SHIFT)
        while g is not None:
            last = g
            g = forward.get(last >> PAYLOAD_SHIFT)
        if last != f:
            forward[ident] = last
        return in_place_of(value, bare(last))

    def write(self, key: int, block: Block, value: Opnd) -> None:
        """From here on in the block, the variable has this value."""
        d = self._defs.get(block.id)
        if d is None:
            self._defs[block.id] = {key: value}
        else:
            d[key] = value
        if self.names is not None:
            _add_name(self.names, key, value)

    def read(self, key: int, block: Block) -> Opnd:
        """The variable's value at the current end of the block."""
        d = self._defs.get(block.id)
        if d is not None:
            v = d.get(key)
            if v is not None:
                return self.resolve(v)
        todo: list[tuple[int, Inst, Block]] = []
        value = self._lookup(key, block, todo)
        if todo:
            self._fill(todo)
            return self.resolve(value)
        return value

    def _lookup(self, key: int, block: Block, todo: list[tuple[int, Inst, Block]]) -> Opnd:
        """Value at the end of `block`; a phi created on the way is added to `todo`, for its operands."""
        path: list[Block] = []
        b = block
        # A chain of single predecessors returns to a block only in a loop that nothing enters.  Brent's algorithm
        # finds such a loop: the mark moves to the current block whenever the number of steps since its last move has
        # doubled.
        mark, until = block, 1
        defs = self._defs
        while True:
            d = defs.get(b.id)
            v = d.get(key) if d is not None else None
            if v is not None:
                value = self.resolve(v)
                break
            path.append(b)
            if b.id not in self._sealed:
                phi = self._new_phi(key, b)
                self._incomplete.setdefault(b.id, []).append((key, phi))
                value = phi.dst[0]
                break
            if not b.preds:
                value = self._new_undef(key)
                break
            if len(b.preds) > 1:
                before = self._unchanged.get(b.id) if key >= 0 else None
                if before is None:
                    phi = self._new_phi(key, b)
                    todo.append((key, phi, b))
                    value = phi.dst[0]
                    break
                b = before
            else:
                b = b.preds[0]
            if b is mark:
                value = self._new_undef(key)
                break
            if len(path) == until:
                mark = b
                until *= 2
        # Later walks stop here.  A note in every block of a long chain would take as many as there are variables and blocks.
        for k in range(0, len(path) - 1, _NOTED):
            self.write(key, path[k], value)
        if path:
            # It may be where the value is made, by a phi.
            self.write(key, path[-1], value)
        return value

    def _new_undef(self, key: int) -> Opnd:
        file_kind, width = self._kinds[key]
        value = self._fn.new_vreg(file_kind, width)
        self._undef.add(vreg(value))
        self._undef_insts.append(self._fn.new_inst(OP_UNDEF, [value], []))
        return value

    def _new_phi(self, key: int, block: Block) -> Inst:
        file_kind, width = self._kinds[key]
        value = self._fn.new_vreg(file_kind, width)
        phi = self._fn.new_inst(OP_PHI, [value], [])
        ident = vreg(value)
        phis = self._phis.get(block.id)
        if phis is None:
            self._phis[block.id] = {ident: phi}
        else:
            phis[ident] = phi
        self._phi_block[ident] = block
        return phi

    def _fill(self, todo: list[tuple[int, Inst, Block]]) -> None:
        done: list[Inst] = []
        while todo:
            key, phi, block = todo.pop()
            me = phi.dst[0]
            for p in block.preds:
                d = self._defs.get(p.id)
                known = d.get(key) if d is not None else None
                v = self._lookup(key, p, todo) if known is None else self.resolve(known)
                phi.src.append(v)
                if v != me:
                    users = self._users.get(v)
                    if users is None:
                        self._users[v] = {vreg(me): phi}
                    else:
                        users[vreg(me)] = phi
            done.append(phi)
        self._simplify(done)

    def _simplify(self, work: list[Inst]) -> None:
        """Remove phis whose operands are one value and the phi itself; then try the phis that use them."""
        forward = self._forward
        while work:
            phi = work.pop()
            me = phi.dst[0]
            ident = vreg(me)
            block = self._phi_block.get(ident)
            if block is None or len(phi.src) != len(block.preds):
                continue
            same = -1
            trivial = True
            src = phi.src
            for i, v in enumerate(src):
                if v >> PAYLOAD_SHIFT in forward:
                    v = self.resolve(v)
                    src[i] = v
                if v in (same, me):
                    continue
                if same != -1:
                    trivial = False
                    break
                same = v
            if not trivial:
                continue
            if same == -1:
                # The block is unreachable, or a loop without an entry value: the variable is undefined.
                same = self._fn.new_vreg(kind_of(me), self._fn.width(me))
                self._undef.add(vreg(same))
                self._undef_insts.append(self._fn.new_inst(OP_UNDEF, [same], []))
            del self._phi_block[ident]
            self._forward[ident] = same
            del self._phis[block.id][ident]
            self._hand_on(me, same, work)

    def _hand_on(self, removed: Opnd, same: Opnd, work: list[Inst]) -> None:
        """The phis that use a removed one use the value instead; those that used it already, or are it, may be trivial now."""
        users = self._users.pop(removed, None)
        if users is None:
            return
        own = users.pop(vreg(same), None)
        if own is not None:
            work.append(own)
        others = self._users.get(same)
        if others is None:
            self._users[same] = users
            return
        small, large = (users, others) if len(users) < len(others) else (others, users)
        for ident, phi in small.items():
            if ident in large:
                work.append(phi)
            elif ident in self._phi_block:
                large[ident] = phi
        self._users[same] = large

    def seal(self, block: Block) -> None:
        """Declare that all predecessors of the block are known."""
        if block.id in self._sealed:
            return
        self._sealed.add(block.id)
        waiting = self._incomplete.pop(block.id, None)
        if waiting is not None:
            self._fill([(key, phi, block) for key, phi in waiting])

    def unchanged(self, block: Block, before: Block) -> None:
        """Declare that between the end of `before` and `block` no PTX register is written: searches need no phi there."""
        self._unchanged[block.id] = before

    def finish(self, blocks: list[Block]) -> None:
        """Seal the open blocks, insert the phis, and replace operands that are removed phis."""
        for b in blocks:
            self.seal(b)
        for b in blocks:
            phis = self._phis.get(b.id)
            if phis:
                b.insts[:0] = phis.values()
        if self._undef_insts:
            first = blocks[0]
            first.insts[:0] = self._undef_insts
        if not self._forward:
            return
        forward = self._forward
        if self.names is not None:
            for ident in [v for v in self.names if v in forward]:
                for key in self.names.pop(ident):
                    _add_name(self.names, key, self.resolve(reg(self._fn.vkind[ident], ident)))
        for b in blocks:
            for inst in b.insts:
                src = inst.src
                for i, s in enumerate(src):
                    if s >= FIRST_VREG and vreg(s) in forward:
                        src[i] = self.resolve(s)
                if inst.guard >= FIRST_VREG:
                    inst.guard = self.resolve(inst.guard)
                if inst.old >= FIRST_VREG:
                    inst.old = self.resolve(inst.old)


def _add_name(names: dict[int, list[int]], key: int, value: Opnd) -> None:
    known = names.setdefault(vreg(value), [])
    if key >= 0 and key not in known:
        known.append(key)

"""Gradients by quads, up to sm_89: ``quadtex`` becomes four rounds in which four neighbouring lanes sample for one of them.

In each round the quad is made whole (lanes that are elsewhere wake), every lane takes the coordinates of one lane and goes one gradient along by its place, all
sample, and the first lane's texels are that lane's result; ptxas 13.0.88 does the same. What the woken lanes write is lost to
them wherever they are, so these registers, one predicate and one barrier register belong to the rounds alone in all of a kernel's code. (ptxas
gives them out again: code of its own in which only some lanes of a quad sample loses values of the others, as the words read.)

``quadtex`` has for sources the coordinates, each followed by its two gradients, then array layer, handle (``.B``), offsets (``.AOFFI``) and depth (``.DC``), then, without a
handle, 0 and the number of its word in constant bank 0, then the shape; results are four components and a word that is not 0 where texels are absent.
"""

from typing import Final, final

from orias.diag import Unsupported
from orias.isa.fetch import SCATTERED_LIMIT, dimensions, place_words, scattered
from orias.isa.op import Op, op
from orias.isa.operand import (
    ABS,
    INV,
    K_B,
    K_R,
    KIND_MASK,
    NOT_PT,
    PT,
    RZ,
    Opnd,
    imm,
    r,
    reg,
    word,
    word_text,
)
from orias.ori.ir import QUADS, Block, Func, Inst
from orias.regalloc.files import QUAD_PREDICATE
from orias.schedule.ctl import stall, with_stall

_LANES: Final = 4
_SEGMENT: Final = 0x1C03
"""Shuffles stay inside a quad."""
_SETTLED: Final = 6
"""Cycles before the active lanes change, as in ptxas's code: longer than a fixed latency of the moves in front."""
_AFTER: Final = 2
_MASK: Final = reg(K_B, 15)
_ACTIVE: Final = word("MACTIVE")
_STEP_X: Final = word("ZPPPZPPP")
_STEP_Y: Final = word("ZPZPPPPP")


def blocks_of(fn: Func) -> tuple[int, int, int]:
    """First registers of three groups of four that the rounds work in."""
    mask = fn.notes[QUADS]
    out = [n for n in range(0, 252, 4) if mask >> n & 1]
    return out[0], out[1], out[2]


def expand_quads(fn: Func) -> None:
    """Take the operations of an allocated function apart.  Blocks keep the order of what must not mix."""
    if QUADS not in fn.notes:
        return
    for b in list(fn.blocks):
        here, at = b, _first(b)
        while at >= 0:
            here = _split(fn, here, at)
            at = _first(here)


def _first(b: Block) -> int:
    """Place of the first operation of a block that is to be taken apart, -1 if there is none."""
    return next((k for k, i in enumerate(b.insts) if i.op.base == "quadtex"), -1)


def settle(fn: Func) -> None:
    """Distances around changes of the active lanes; works on final code."""
    if QUADS not in fn.notes:
        return
    before: Inst | None = None
    for b in fn.blocks:
        for inst in b.insts:
            if _ACTIVE in inst.dst:
                if before is not None and not inst.op.has("PQUAD"):
                    before.ctl = with_stall(before.ctl, max(stall(before.ctl), _SETTLED))
                inst.ctl = with_stall(inst.ctl, max(stall(inst.ctl), _AFTER))
            elif _ACTIVE in inst.src and before is not None:
                before.ctl = with_stall(before.ctl, max(stall(before.ctl), _SETTLED))
            before = inst


def _split(fn: Func, b: Block, at: int) -> Block:
    """Put the rounds of the operation at `at` behind what stands before it; gives the block with what stands behind it."""
    inst = b.insts[at]
    behind = b.insts[at + 1 :]
    b.insts = b.insts[:at]
    place = fn.blocks.index(b) + 1
    succs, b.succs = b.succs, []
    rounds = _Rounds(fn, inst)
    last = b
    for insts in [*rounds.blocks(), behind]:
        new = fn.new_block()
        new.depth, new.cold = b.depth, b.cold
        new.insts = insts
        fn.blocks.insert(place, new)
        place += 1
        fn.link(last, new)
        last = new
    last.succs = succs
    for s in succs:
        s.preds = [last if p is b else p for p in s.preds]
    return last


@final
class _Rounds:
    """The instructions of one operation."""

    def __init__(self, fn: Func, inst: Inst) -> None:
        if inst.guard != PT:
            raise Unsupported("guarded quadtex", inst.loc)
        self.fn: Final[Func] = fn
        self.inst: Final[Inst] = inst
        self.out: list[Inst] = []
        self.a, self.b, self.u = blocks_of(fn)
        shape = word_text(inst.src[-1])
        self.shape: Final[str] = shape
        count = dimensions(shape)
        self.places: Final = [inst.src[3 * k : 3 * k + 3] for k in range(count)]
        last = len(inst.src) - (1 if inst.op.has("B") else 3)
        self.rest: Final[list[Opnd]] = inst.src[3 * count : last]
        self.layered: Final[bool] = shape.startswith("ARRAY_")
        total = place_words(shape) + len(self.rest) - self.layered
        self.scattered: Final[bool] = total <= SCATTERED_LIMIT
        first = scattered(total)[0] if self.scattered else place_words(shape)
        self.slots: Final[list[Opnd]] = [r(self.a + k) if k < first else r(self.b + k - first) for k in range(total)]

    def emit(self, name: str | Op, dst: list[Opnd], src: list[Opnd]) -> None:
        self.out.append(self.fn.new_inst(op(name) if isinstance(name, str) else name, dst, src, loc=self.inst.loc))

    def shuffle(self, d: Opnd, s: Opnd, lane: Opnd) -> None:
        """The value that a lane of the quad has; what is the same everywhere needs no shuffle."""
        if s & KIND_MASK != K_R or s == RZ:
            self.emit("MOV", [d], [s])
            return
        # Not an instruction of the program's: no line, as for the votes of the compiler.
        self.out.append(self.fn.new_inst(op("SHFL.IDX"), [d, PT], [s, lane, imm(_SEGMENT)]))

    def blocks(self) -> list[list[Inst]]:
        """The rounds, in blocks to be run one after the other."""
        out: list[list[Inst]] = []
        for lane in range(_LANES):
            self.emit("BMOV.32", [_MASK], [_ACTIVE])
            self.emit("BMOV.32.PQUAD", [_ACTIVE], [_MASK])
            out.append(self._done())
            self._work(lane)
            out.append(self._done())
            self.emit("BMOV.32", [_ACTIVE], [_MASK])
            out.append(self._done())
            for k, d in enumerate(self.inst.dst):
                s = r(self.u + k) if k < 4 else r(self.b + 1)
                if d != RZ:
                    self.emit("MOV", [d], [s, imm(1 << lane)])
            out.append(self._done())
        return out

    def _done(self) -> list[Inst]:
        out, self.out = self.out, []
        return out

    def _work(self, lane: int) -> None:
        which = imm(lane) if lane else RZ
        self._coordinates(which)
        others = [self.slots[0]] * self.layered + self.slots[place_words(self.shape) :]
        for k, (slot, value) in enumerate(zip(others, self.rest, strict=True)):
            if self.inst.op.has("B") and k == self.layered:
                self._handle(slot, value, lane)
            else:
                self.shuffle(slot, value, which)
        self._sample()
        asked = len(self.inst.dst) > 4
        if asked:
            self.emit("SEL", [r(self.b)], [RZ, imm(0xFFFFFFFF), QUAD_PREDICATE ^ INV])
        results = [r(self.a + k) for k in range(4)] + [r(self.b)] * asked
        # The moves wait for what comes late, so that nothing is under way when the lanes go.
        for o in results:
            if lane:
                self.shuffle(o, o, RZ)
        for k, o in enumerate(results):
            self.emit("MOV", [r(self.u + k) if k < 4 else r(self.b + 1)], [o])

    def _coordinates(self, which: Opnd) -> None:
        slots = self.slots[self.layered : place_words(self.shape)]
        for k, (t, (place, dx, dy)) in enumerate(zip(slots, self.places, strict=True)):
            u = r(self.u + k)
            self.shuffle(t, place, which)
            for step, name in ((dx, _STEP_X), (dy, _STEP_Y)):
                if step != RZ:
                    self.shuffle(u, step, which)
                    self.emit("FSWZADD.NDV", [t], [u, t, name])
        if "CUBE" in self.shape:
            # The largest component becomes about one.
            x, y, z = slots
            u = r(self.u)
            self.emit("FMNMX", [u], [x | ABS, y | ABS, NOT_PT])
            self.emit("FMNMX", [u], [u, z | ABS, NOT_PT])
            self.emit("MUFU.RCP", [u], [u])
            for t in slots:
                self.emit("FMUL", [t], [t, u])

    def _handle(self, slot: Opnd, value: Opnd, lane: int) -> None:
        """The handle of a lane, or of another one that is active where this one is not: there must be a texture."""
        mask, here, p = r(self.u + 2), r(self.u + 3), QUAD_PREDICATE
        self.emit("S2R", [here], [word("SR_LANEID")])
        self.emit("BMOV.32", [mask], [_MASK])
        self.emit("LOP3.LUT", [here], [here, imm(0x1C), RZ, imm(0xC0), NOT_PT])
        self.emit("SHF.R.U32.HI", [mask], [RZ, here, mask])
        self.emit("LOP3.LUT", [mask], [mask, imm(15), RZ, imm(0xC0), NOT_PT])
        self.emit("LOP3.LUT", [here], [mask, imm(1 << lane), RZ, imm(0xC0), NOT_PT])
        self.emit("ISETP.NE.U32.AND", [p, PT], [here, RZ, PT])
        self.emit("SEL", [here], [here, mask, p])
        self.emit("FLO.U32", [here], [here])
        self.shuffle(slot, value, here)

    def _sample(self) -> None:
        mods = self.inst.op.mods
        after = "".join(f".{m}" for m in mods)
        name = f"TEX{'.SCR' if self.scattered else ''}{after}.NDV"
        src = [r(self.a)]
        if len(self.slots) > (scattered(len(self.slots))[0] if self.scattered else place_words(self.shape)):
            src.append(r(self.b))
        if not self.inst.op.has("B"):
            src += self.inst.src[-3:-1]
        dst = [r(self.a + 2), r(self.a)]
        if len(self.inst.dst) > 4:
            dst.append(QUAD_PREDICATE)
        self.emit(name, dst, [*src, self.inst.src[-1]])


def reserve(funcs: list[Func]) -> None:
    """Set registers aside in all functions of a kernel if one of them needs quads; raises Unsupported if a limit leaves none.

    Functions and helpers have fixed places for arguments, which are left alone.
    """
    if not any(QUADS in f.notes for f in funcs):
        return
    alone = len(funcs) == 1 and not funcs[0].calls
    groups = (4, 8, 12) if alone else (32, 40, 48)
    for f in funcs:
        if f.max_regs < groups[-1] + 8:
            raise Unsupported(f"'tex.grad' in '{f.name}' with a limit of {f.max_regs} registers is not supported yet")
        f.notes[QUADS] = sum(15 << n for n in groups)

"""Gradients by quads, up to sm_89: ``quadtex`` becomes four rounds, in each of which a quad samples for one of its lanes.

In each round all four lanes are active, including lanes that are inactive in the program.  Every lane takes the
coordinates of one lane plus the gradient that its own position in the quad selects.  All lanes sample, and the texels
of the first lane are the result of that one lane.  ptxas 13.0.88 does the same.  Writes of inactive lanes would destroy
their values; the rounds therefore have registers, one predicate and one barrier register of their own in all of a
kernel's code.  (ptxas uses these registers for other values too: according to the documented semantics, its code loses
values when only some lanes of a quad sample.)

The sources of ``quadtex`` are the coordinates, each followed by its two gradients, then array layer, handle (``.B``),
offsets (``.AOFFI``) and depth (``.DC``); then, without a handle, 0 and the number of its word in constant bank 0; last
the shape.  The results are four components and a word that is not 0 where texels are absent.
"""

from typing import Final, final

from orias.diag import Unsupported
from orias.isa.fetch import SCATTERED_LIMIT, dimensions, place_words, scattered
from orias.isa.op import Op, op
from orias.isa.operand import ABS, INV, K_B, K_R, NOT_PT, PT, RZ, Opnd, imm, in_file, r, reg, word, word_text
from orias.ori.ir import Block, Func, Inst
from orias.regalloc.files import QUAD_PREDICATE
from orias.timing.ctl import stall, with_stall

_LANES: Final = 4
_SEGMENT: Final = 0x1C03
"""SHFL operand that keeps shuffles inside a quad."""
_SETTLED: Final = 6
"""Cycles before the active lanes change, as in ptxas's code: more than a fixed latency of the moves before."""
_AFTER: Final = 2
_MASK: Final = reg(K_B, 15)
_ACTIVE: Final = word("MACTIVE")
_STEP_X: Final = word("ZPPPZPPP")
_STEP_Y: Final = word("ZPZPPPPP")


def blocks_of(fn: Func) -> tuple[int, int, int]:
    """First registers of the three groups of four that the rounds use."""
    mask = fn.quad_registers
    out = [n for n in range(0, 252, 4) if mask >> n & 1]
    return out[0], out[1], out[2]


def expand_quads(fn: Func) -> None:
    """Expand the operations of an allocated function; block boundaries keep the scheduler from mixing their parts."""
    if not fn.samples_quads:
        return
    for b in list(fn.blocks):
        here, at = b, _first(b)
        while at >= 0:
            here = _split(fn, here, at)
            at = _first(here)


def _first(b: Block) -> int:
    """Index of the first operation of a block to be expanded; -1 if there is none."""
    return next((k for k, i in enumerate(b.insts) if i.op.base == "quadtex"), -1)


def settle(fn: Func) -> None:
    """Set the distances around changes of the active lanes, in final code."""
    if not fn.samples_quads:
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
    """Replace the operation at index `at` by its rounds; returns the block with the instructions after it."""
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
        """Copy the value of one lane of the quad to all; a uniform value needs no shuffle."""
        if not in_file(s, K_R) or s == RZ:
            self.emit("MOV", [d], [s])
            return
        # This instruction is not from the program: it has no line.
        self.out.append(self.fn.new_inst(op("SHFL.IDX"), [d, PT], [s, lane, imm(_SEGMENT)]))

    def blocks(self) -> list[list[Inst]]:
        """The rounds, as blocks that run one after the other."""
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
        # These moves wait for late results: none may be pending when the active lanes change.
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
            # Scale the direction to a largest component of about one.
            x, y, z = slots
            u = r(self.u)
            self.emit("FMNMX", [u], [x | ABS, y | ABS, NOT_PT])
            self.emit("FMNMX", [u], [u, z | ABS, NOT_PT])
            self.emit("MUFU.RCP", [u], [u])
            for t in slots:
                self.emit("FMUL", [t], [t, u])

    def _handle(self, slot: Opnd, value: Opnd, lane: int) -> None:
        """The handle of a lane.  If the lane is inactive, that of an active lane: the handle must be a valid one."""
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
    """Reserve registers in all functions of a kernel if one of them needs quads; raises Unsupported if a limit leaves none.

    The registers are not those in which functions and helpers receive arguments.
    """
    if not any(f.samples_quads for f in funcs):
        return
    alone = len(funcs) == 1 and not funcs[0].calls
    groups = (4, 8, 12) if alone else (32, 40, 48)
    for f in funcs:
        if f.max_regs < groups[-1] + 8:
            raise Unsupported(f"'tex.grad' in '{f.name}' with a limit of {f.max_regs} registers is not supported yet")
        f.samples_quads = True
        f.quad_registers = sum(15 << n for n in groups)

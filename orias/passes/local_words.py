"""ConvertMemoryToRegisterOrUniform: local variables become registers.

If every access to the stack frame is a plain load or store at a constant place, no other thread, callee or pointer can see the frame.
Each word of it is then a variable in SSA: loads and stores become copies, with phis where paths meet.
"""

from typing import Final

from orias.analysis.cfg import reverse_postorder
from orias.isa.op import F_CALL, LOCAL, Op, op
from orias.isa.operand import (
    K_NONE,
    K_R,
    PT,
    RZ,
    SP,
    URZ,
    Opnd,
    bare,
    imm,
    imm_signed,
    is_imm,
    is_reg,
)
from orias.lower.frame.params import extract_selector, insert_selector
from orias.lower.frame.ssa import SsaBuilder
from orias.ori.ir import OP_COPY, OP_PACK, Block, Func, Inst
from orias.passes.access_size import data_words, is_load, is_signed, is_store, size_of

_FRAME: Final = op("frame")
_PRMT: Final = op("PRMT")
_WORD: Final = 4


def promote_frame(fn: Func) -> bool:
    """Turn the words of the frame into registers; True if it was done, and the function has no fixed frame any more."""
    if not fn.frame_fixed or fn.moves_stack or not _is_private(fn):
        return False
    ssa = SsaBuilder(fn)
    for k in range((fn.frame_fixed + _WORD - 1) // _WORD):
        ssa.declare(k, K_R, 1)
    filled: set[int] = set()
    order = reverse_postorder(fn)
    for b in order:
        if all(p.id in filled for p in b.preds):
            ssa.seal(b)
        _rewrite(fn, b, ssa)
        filled.add(b.id)
        for s in b.succs:
            if all(p.id in filled for p in s.preds):
                ssa.seal(s)
    ssa.finish(order)
    fn.frame_fixed = 0
    fn.frame_align = 8
    fn.frame_variables = []
    return True


def is_small(fn: Func) -> bool:
    """True for a frame that is not too large for registers."""
    return fn.frame_fixed <= _WORD * fn.knobs.local_words_limit


def _is_private(fn: Func) -> bool:
    """True if the frame is small and all of its uses are accesses that `_rewrite` knows."""
    if not is_small(fn):
        return False
    return not any(inst.op is _FRAME or shows_frame(fn, inst) for inst in fn.insts())


def shows_frame(fn: Func, inst: Inst) -> bool:
    """True if another function may see the frame through the instruction, or if it uses R1 otherwise than `is_known_access`."""
    if inst.op.flags & F_CALL:
        info = fn.calls.get(inst.uid)
        if info is None or info.kind != "helper":
            return True
    return any(is_reg(o) and bare(o) == SP for o in (*inst.src, *inst.dst)) and not is_known_access(fn, inst)


def is_known_access(fn: Func, inst: Inst) -> bool:
    """True for a load or store of whole words, or of a part of one, of the frame at a constant offset."""
    load = is_load(inst)
    if not (load or is_store(inst)) or inst.op.space != LOCAL or inst.src[0] != K_NONE or inst.src[1] != SP:
        return False
    if inst.src[2] != URZ or not is_imm(inst.src[3]) or any(is_reg(o) and bare(o) == SP for o in inst.src[4:]):
        return False
    size, at = size_of(inst.op), imm_signed(inst.src[3])
    if at < 0 or at + size > fn.frame_fixed or at % min(size, _WORD):
        return False
    if load:
        return inst.guard == PT or inst.old == K_NONE or size <= _WORD
    return len(data_words(fn, inst)) == max(1, size // _WORD)


def _rewrite(fn: Func, b: Block, ssa: SsaBuilder) -> None:
    kept: list[Inst] = []
    for inst in b.insts:
        if len(inst.src) < 4 or inst.src[1] != SP or inst.op.space != LOCAL:
            kept.append(inst)
        elif is_load(inst):
            _load(b, ssa, inst)
            kept.append(inst)
        else:
            kept.extend(_store(fn, b, ssa, inst))
    b.insts = kept


def _load(b: Block, ssa: SsaBuilder, inst: Inst) -> None:
    """The load becomes a copy, a pack or an extraction of the words' values."""
    at, size = imm_signed(inst.src[3]), size_of(inst.op)
    first = at // _WORD
    words = [ssa.read(k, b) for k in range(first, first + max(1, size // _WORD))]
    if inst.old == K_NONE:
        inst.guard = PT
    if size < _WORD:
        selector = extract_selector(at % _WORD, 8 * size, is_signed(inst.op))
        inst.op, inst.src = _PRMT, [words[0], imm(selector), RZ]
    elif size == _WORD:
        inst.op, inst.src = OP_COPY, words
    else:
        inst.op, inst.src = OP_PACK, words


def _store(fn: Func, b: Block, ssa: SsaBuilder, inst: Inst) -> list[Inst]:
    """New values of the words that a store writes."""
    at, size = imm_signed(inst.src[3]), size_of(inst.op)
    out: list[Inst] = []
    for n, value in enumerate(data_words(fn, inst)):
        k = at // _WORD + n
        op_: Op = OP_COPY
        src: list[Opnd] = [value]
        old: Opnd = K_NONE
        if size < _WORD or inst.guard != PT:
            old = ssa.read(k, b)
        if size < _WORD:
            op_, src = _PRMT, [old, imm(insert_selector(at % _WORD, 8 * size)), value]
        new = fn.new_vreg(K_R)
        out.append(fn.new_inst(op_, [new], src, inst.guard, old if inst.guard != PT else K_NONE, inst.loc))
        ssa.write(k, b, new)
    return out

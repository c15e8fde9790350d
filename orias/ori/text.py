"""Text form of Ori: :func:`dump` writes it, :func:`parse` reads it (:mod:`orias.ori.text_reader`); they are inverse.

``docs/ori.md`` has the grammar.  A dump holds everything that a phase can see: the facts of the function, one per line
(:mod:`orias.ori.fact_text`), the CFG, and after each instruction its marks, control word, PTX line and call facts.
Only the next free numbers of instructions and blocks are missing.
"""

from typing import Final

from orias.isa.operand import (
    ABS,
    FIRST_VIRTUAL,
    INV,
    K_CONST,
    K_IMM,
    K_LABEL,
    K_NONE,
    K_P,
    K_R,
    K_SB,
    K_SYM,
    K_UP,
    K_UR,
    NEG,
    PT,
    SUFFIX_TEXT,
    Opnd,
    bare,
    const_bank,
    const_offset,
    imm_value,
    is_hardwired,
    is_reg,
    kind_of,
    label_id,
    lane_of,
    lane_range,
    payload,
    reg_id,
    suffix_of,
    word_text,
)
from orias.ori.fact_text import FILE_NAMES, fact_lines
from orias.ori.ir import NO_CTL, Block, Func, Inst
from orias.ori.text_reader import OriSyntaxError as OriSyntaxError
from orias.ori.text_reader import parse as parse
from orias.ori.text_reader import parse_all as parse_all

_ZERO: Final = {K_R: "RZ", K_UR: "URZ", K_P: "PT", K_UP: "UPT"}


def _register_text(o: Opnd, fn: Func | None, defining: bool) -> str:
    kd = kind_of(o)
    ident = reg_id(o)
    if ident < FIRST_VIRTUAL:
        if is_hardwired(o):
            return _ZERO[kd]
        return f"{FILE_NAMES[kd]}{ident}"
    text = f"v{ident}"
    if defining and fn is not None:
        width = fn.vwidth[ident]
        text += f":{FILE_NAMES[kd]}" + (str(width) if width > 1 else "")
    return text


def operand_text(o: Opnd, fn: Func | None = None, defining: bool = False) -> str:
    """Text of one operand; `defining` adds the file and width of a virtual register."""
    kd = kind_of(o)
    if kd == K_NONE:
        return "-"
    if kd == K_IMM:
        text = hex(imm_value(o))
    elif kd == K_CONST:
        text = f"c[{hex(const_bank(o))}][{hex(const_offset(bare(o)))}]"
    elif kd == K_LABEL:
        text = f"b{label_id(o)}"
    elif kd == K_SYM:
        text = f"sym{payload(o)}"
    elif kd == K_SB:
        text = f"SB{payload(o)}"
    elif is_reg(o):
        text = _register_text(o, fn, defining)
    else:
        return word_text(o)
    code = lane_of(o)
    if code:
        first, count = lane_range(code, 0)
        text += f".{first}" if count == 1 else f".p{first // 2}" if count == 2 else f".q{first // 4}"
    if o & ABS:
        text = f"|{text}|"
    text += SUFFIX_TEXT[suffix_of(o)]
    if o & INV:
        text = ("!" if kd in (K_P, K_UP) else "~") + text
    if o & NEG:
        text = "-" + text
    return text


def inst_text(inst: Inst, fn: Func | None = None) -> str:
    """Text of one instruction, without indentation."""
    parts: list[str] = []
    if inst.guard != PT:
        parts.append("@" + operand_text(inst.guard))
    if inst.dst:
        parts.append(", ".join([operand_text(d, fn, True) for d in inst.dst]) + " =")
    parts.append(inst.op.name)
    if inst.src:
        parts.append(", ".join([operand_text(s) for s in inst.src]))
    if inst.old != K_NONE:
        parts.append("old " + operand_text(inst.old))
    text = " ".join(parts)
    if fn is not None:
        text += _marks(inst.uid, fn)
    if inst.ctl != NO_CTL:
        text += f" ; {{{ctl_text(inst.ctl)}}}"
    if inst.loc:
        text += f" ; @{inst.loc}"
    return text


def _marks(uid: int, fn: Func) -> str:
    """The facts of the function about one instruction."""
    text = ""
    if uid in fn.calls:
        c = fn.calls[uid]
        text += (
            f" ; call {c.kind} {c.target or '-'} {c.clobber_r:x} {c.clobber_p:x} {c.clobber_ur:x}"
            f" {c.clobber_up:x} {c.clobber_b:x}" + " exact" * c.exact + " outside" * c.outside + " apart" * c.apart
        )
    if uid in fn.tables:
        table = fn.tables[uid]
        text += f" ; table {table.offset} " + " ".join([str(k) for k in table.picks])
    if uid in fn.contract:
        text += " ; contract"
    if uid in fn.retries:
        text += " ; retry"
    if uid in fn.guard_traps:
        text += " ; guard"
    if uid in fn.spill_code:
        text += " ; spill"
    if uid in fn.implied:
        text += f" ; implied {fn.implied[uid]:x}"
    return text


def ctl_text(ctl: int) -> str:
    """Readable control word: ``stall yield wbar rbar wait reuse``, e.g. ``4 Y - 1 03 0``; ``-`` means no barrier."""
    stall, yld = ctl & 15, (ctl >> 4) & 1
    wbar, rbar, wait, reuse = (ctl >> 5) & 7, (ctl >> 8) & 7, (ctl >> 11) & 63, (ctl >> 17) & 15
    bars = " ".join("-" if b == 7 else str(b) for b in (wbar, rbar))
    return f"{stall} {'Y' if yld else '-'} {bars} {wait:02x} {reuse:x}"


def dump(fn: Func) -> str:
    """The whole function as text."""
    lines = [f".func {fn.name} {fn.target.name} {fn.kind} {fn.state}"]
    number = {i.uid: n for n, i in enumerate(fn.insts(), 1)}
    lines += fact_lines(fn, number)
    located = {uid for x in fn.locations for uid in (x.first, x.last)}
    natural = _natural_preds(fn)
    for b in fn.blocks:
        head = f"b{b.id}:"
        if b.succs:
            head += " -> " + " ".join(f"b{s.id}" for s in b.succs)
        if b.cold:
            head += " ; cold"
        if b.no_unroll:
            head += " ; no_unroll"
        if b.id in fn.parted:
            head += " ; parted"
        if b.preds and ((b.insts and b.insts[0].op.name == "phi") or b.preds != natural[b.id]):
            head += " ; preds " + " ".join(f"b{p.id}" for p in b.preds)
        lines.append(head)
        for i in b.insts:
            lines.append("  " + inst_text(i, fn) + (f" ; #{number[i.uid]}" if i.uid in located else ""))
    return "\n".join(lines) + "\n"


def _natural_preds(fn: Func) -> dict[int, list[Block]]:
    """The predecessors of each block in the order of the edges, which the reader reproduces."""
    out: dict[int, list[Block]] = {b.id: [] for b in fn.blocks}
    for b in fn.blocks:
        for s in b.succs:
            out.setdefault(s.id, []).append(b)
    return out

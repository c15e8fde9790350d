"""Text form of Ori: :func:`dump` and :func:`parse` are inverse.

The grammar is in ``docs/ori.md``.  A dump shows what a phase can see, but for the marks ``Func.contract`` and ``Func.retries``: an extra
header line per fact of the function (``.frame``, ``.maxregs``, ``.sym``), the CFG, the control words, and the call facts.
"""

import re
from typing import Final

from orias.isa.op import op
from orias.isa.operand import (
    ABS,
    FIRST_VIRTUAL,
    INV,
    K_B,
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
    KIND_MASK,
    LANE_SHIFT,
    NEG,
    NONE,
    PAYLOAD_SHIFT,
    PT,
    SUFFIX_SHIFT,
    SUFFIX_TEXT,
    Opnd,
    const,
    is_reg,
    sb,
    word,
    word_text,
)
from orias.ori.ir import NO_CTL, Block, CallInfo, Func, Inst, SymRef
from orias.target.profile import target

_FILE: Final = {K_R: "R", K_UR: "UR", K_P: "P", K_UP: "UP", K_B: "B"}
_FILE_KIND: Final = {v: k for k, v in _FILE.items()}
_ZERO: Final = {K_R: "RZ", K_UR: "URZ", K_P: "PT", K_UP: "UPT"}
_ZERO_ID: Final = {"RZ": (K_R, 255), "URZ": (K_UR, 255), "PT": (K_P, 7), "UPT": (K_UP, 7)}


def _register_text(o: Opnd, fn: Func | None, defining: bool) -> str:
    kd = o & KIND_MASK
    ident = o >> PAYLOAD_SHIFT
    if ident < FIRST_VIRTUAL:
        if (ident == 255 and kd in (K_R, K_UR)) or (ident == 7 and kd in (K_P, K_UP)):
            return _ZERO[kd]
        return f"{_FILE[kd]}{ident}"
    text = f"v{ident}"
    if defining and fn is not None:
        width = fn.vwidth[ident]
        text += f":{_FILE[kd]}" + (str(width) if width > 1 else "")
    return text


def operand_text(o: Opnd, fn: Func | None = None, defining: bool = False) -> str:
    """Text of one operand; `defining` adds file and width to virtual registers."""
    kd = o & KIND_MASK
    if kd == K_NONE:
        return "-"
    if kd == K_IMM:
        text = hex(o >> PAYLOAD_SHIFT)
    elif kd == K_CONST:
        pl = o >> PAYLOAD_SHIFT
        text = f"c[{hex(pl & 31)}][{hex(pl >> 5)}]"
    elif kd == K_LABEL:
        text = f"b{o >> PAYLOAD_SHIFT}"
    elif kd == K_SYM:
        text = f"sym{o >> PAYLOAD_SHIFT}"
    elif kd == K_SB:
        text = f"SB{o >> PAYLOAD_SHIFT}"
    elif is_reg(o):
        text = _register_text(o, fn, defining)
    else:
        return word_text(o)
    code = (o >> LANE_SHIFT) & 15
    if code:
        text += f".{code - 1}" if code <= 8 else f".p{code - 9}" if code <= 12 else f".q{code - 13}"
    if o & ABS:
        text = f"|{text}|"
    text += SUFFIX_TEXT[(o >> SUFFIX_SHIFT) & 15]
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
    if fn is not None and inst.uid in fn.calls:
        c = fn.calls[inst.uid]
        text += (
            f" ; call {c.kind} {c.target or '-'} {c.clobber_r:x} {c.clobber_p:x} {c.clobber_ur:x}"
            f" {c.clobber_up:x} {c.clobber_b:x}"
        )
    if inst.ctl != NO_CTL:
        text += f" ; {{{ctl_text(inst.ctl)}}}"
    if inst.loc:
        text += f" ; @{inst.loc}"
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
    if fn.frame_fixed or fn.frame_size:
        lines.append(f".frame {fn.frame_fixed} {fn.frame_size}")
    if fn.max_regs != 255 or fn.reg_count:
        lines.append(f".regs {fn.max_regs} {fn.reg_count}")
    if fn.spill_stores or fn.spill_loads:
        lines.append(f".spills {fn.spill_stores} {fn.spill_loads}")
    lines += [f".note {k} {v}" for k, v in sorted(fn.notes.items())]
    lines += [f".sym {s.kind} {s.name or '-'} {s.addend}" for s in fn.syms]
    for b in fn.blocks:
        head = f"b{b.id}:"
        if b.succs:
            head += " -> " + " ".join(f"b{s.id}" for s in b.succs)
        if b.cold:
            head += " ; cold"
        # Predecessor order matters only where phis depend on it.
        if b.preds and b.insts and b.insts[0].op.name == "phi":
            head += " ; preds " + " ".join(f"b{p.id}" for p in b.preds)
        lines.append(head)
        lines += ["  " + inst_text(i, fn) for i in b.insts]
    return "\n".join(lines) + "\n"


class OriSyntaxError(ValueError):
    """Text that is not Ori; the message names the line."""


_HEAD: Final = re.compile(r"b(\d+):(?: -> ((?:b\d+ ?)+))?")
_REG: Final = re.compile(r"(?:v(\d+)|(UR|UP|R|P|B)(\d+)|(RZ|URZ|PT|UPT))(?::(UR|UP|R|P|B)(\d*))?(?:\.([pq]?)(\d+)\b)?")
_SUFFIX_CODE: Final = {t: i for i, t in enumerate(SUFFIX_TEXT) if t}


class _Parser:
    __slots__ = ("fn", "widths")

    def __init__(self, fn: Func) -> None:
        self.fn = fn
        self.widths: dict[int, tuple[int, int]] = {}

    def operand(self, text: str) -> Opnd:
        t = text.strip()
        flags = 0
        if t == "-":
            return NONE
        if t.startswith("-"):
            flags |= NEG
            t = t[1:]
        if t.startswith(("~", "!")):
            flags |= INV
            t = t[1:]
        suffix = 0
        tail = t.rfind(".")
        if tail > 0 and t[tail:] in _SUFFIX_CODE:
            suffix = _SUFFIX_CODE[t[tail:]]
            t = t[:tail]
        if t.startswith("|") and t.endswith("|"):
            flags |= ABS
            t = t[1:-1]
        return self._atom(t) | flags | suffix << SUFFIX_SHIFT

    def _atom(self, t: str) -> Opnd:
        m = _REG.fullmatch(t)
        if m:
            return self._register(m)
        if t[:1].isdigit():
            return K_IMM | int(t, 0) << PAYLOAD_SHIFT
        if t.startswith("c["):
            bank, offset = t[2:-1].split("][")
            return const(int(bank, 0), int(offset, 0))
        if t.startswith("sym") and t[3:].isdigit():
            return K_SYM | int(t[3:]) << PAYLOAD_SHIFT
        if t.startswith("SB") and t[2:].isdigit():
            return sb(int(t[2:]))
        if t.startswith("b") and t[1:].isdigit():
            return K_LABEL | int(t[1:]) << PAYLOAD_SHIFT
        if re.fullmatch(r"[A-Za-z_][\w.]*", t):
            return word(t)
        raise OriSyntaxError(f"operand {t!r}")

    def _register(self, m: re.Match[str]) -> Opnd:
        lane = 0
        if m.group(8) is not None:
            n = int(m.group(8))
            lane = n + (9 if m.group(7) == "p" else 13 if m.group(7) == "q" else 1)
        if m.group(4):
            kd, ident = _ZERO_ID[m.group(4)]
        elif m.group(2):
            kd, ident = _FILE_KIND[m.group(2)], int(m.group(3))
        else:
            ident = int(m.group(1))
            kd = 0
            if m.group(5):
                kd = _FILE_KIND[m.group(5)]
                self.widths[ident] = (kd, int(m.group(6) or 1))
        return kd | lane << LANE_SHIFT | ident << PAYLOAD_SHIFT

    def fix(self, ops: list[Opnd]) -> None:
        """Fill in the files of virtual registers named before their definition was read."""
        for i, o in enumerate(ops):
            if (o & KIND_MASK) == K_NONE and o >> PAYLOAD_SHIFT >= FIRST_VIRTUAL:
                ops[i] = o | self.kind_of(o >> PAYLOAD_SHIFT)

    def kind_of(self, ident: int) -> int:
        if ident not in self.widths:
            raise OriSyntaxError(f"v{ident} is never defined with a file")
        return self.widths[ident][0]


def _split(text: str) -> list[str]:
    return [t for t in (s.strip() for s in text.split(",")) if t]


def _parse_inst(p: _Parser, line: str) -> Inst:
    body, *notes = [s.strip() for s in line.split(" ; ")]
    guard = PT
    if body.startswith("@"):
        g, body = body[1:].split(" ", 1)
        guard = p.operand(g)
    old = NONE
    if " old " in body:
        body, o = body.rsplit(" old ", 1)
        old = p.operand(o)
    dst: list[Opnd] = []
    if " = " in body:
        d, body = body.split(" = ", 1)
        dst = [p.operand(t) for t in _split(d)]
    name, _, rest = body.partition(" ")
    inst = p.fn.new_inst(op(name), dst, [p.operand(t) for t in _split(rest)], guard, old)
    for n in notes:
        if n.startswith("@"):
            inst.loc = int(n[1:])
        elif n.startswith("{"):
            stall, yld, wbar, rbar, wait, reuse = n[1:-1].split()
            bar = [7 if b == "-" else int(b) for b in (wbar, rbar)]
            inst.ctl = (
                int(stall) | (yld == "Y") << 4 | bar[0] << 5 | bar[1] << 8 | int(wait, 16) << 11 | int(reuse, 16) << 17
            )
        elif n.startswith("call "):
            _, kind, name, *masks = n.split()
            v = [int(x, 16) for x in masks]
            p.fn.calls[inst.uid] = CallInfo(None if name == "-" else name, kind, v[0], v[1], v[2], v[3], v[4])
    return inst


def parse(text: str) -> Func:
    """The function that :func:`dump` wrote, or a hand-written one; raises OriSyntaxError naming the line.

    Lines that are empty or start with ``#`` are skipped.  Virtual registers must be defined with their file somewhere.
    """
    fn: Func | None = None
    p: _Parser | None = None
    blocks: dict[int, Block] = {}
    edges: list[tuple[Block, list[int], list[int]]] = []
    current: Block | None = None
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        try:
            if line.startswith(".func"):
                _, name, tgt, kind, state = line.split()
                fn = Func(name, target(tgt), kind)
                fn.state = state
                p = _Parser(fn)
            elif fn is None or p is None:
                raise OriSyntaxError("expected .func")
            elif line.startswith("."):
                _directive(fn, line)
            elif m := _HEAD.match(line):
                current = Block(int(m.group(1)))
                blocks[current.id] = current
                fn.blocks.append(current)
                notes = [n.strip() for n in line.split(" ; ")[1:]]
                current.cold = "cold" in notes
                preds = [int(x[1:]) for n in notes if n.startswith("preds") for x in n.split()[1:]]
                edges.append((current, [int(x[1:]) for x in (m.group(2) or "").split()], preds))
            elif current is None:
                raise OriSyntaxError("instruction outside a block")
            else:
                current.insts.append(_parse_inst(p, line))
        except (ValueError, KeyError, IndexError) as e:
            raise OriSyntaxError(f"line {number}: {e}: {line}") from e
    if fn is None or p is None:
        raise OriSyntaxError("no function")
    _finish(fn, p, blocks, edges)
    return fn


def _directive(fn: Func, line: str) -> None:
    key, *rest = line.split()
    if key == ".frame":
        fn.frame_fixed, fn.frame_size = int(rest[0]), int(rest[1])
    elif key == ".regs":
        fn.max_regs, fn.reg_count = int(rest[0]), int(rest[1])
    elif key == ".spills":
        fn.spill_stores, fn.spill_loads = int(rest[0]), int(rest[1])
    elif key == ".note":
        fn.notes[rest[0]] = int(rest[1])
    elif key == ".sym":
        fn.syms.append(SymRef("" if rest[1] == "-" else rest[1], rest[0], int(rest[2])))
    else:
        raise OriSyntaxError(f"directive {key}")


def _finish(fn: Func, p: _Parser, blocks: dict[int, Block], edges: list[tuple[Block, list[int], list[int]]]) -> None:
    top = max([*p.widths, FIRST_VIRTUAL - 1])
    fn.vkind.extend(bytes(top + 1 - len(fn.vkind)))
    fn.vwidth.extend(bytes(top + 1 - len(fn.vwidth)))
    for ident, (kd, width) in p.widths.items():
        fn.vkind[ident], fn.vwidth[ident] = kd, width
    for b in fn.blocks:
        for i in b.insts:
            p.fix(i.dst)
            p.fix(i.src)
            tail = [i.guard, i.old]
            for k, o in enumerate(tail):
                if (o & KIND_MASK) == K_NONE and o >> PAYLOAD_SHIFT >= FIRST_VIRTUAL:
                    tail[k] = o | p.kind_of(o >> PAYLOAD_SHIFT)
            i.guard, i.old = tail
    for b, succs, _ in edges:
        for s in succs:
            fn.link(b, blocks[s])
    for b, _, preds in edges:
        if preds:
            b.preds = [blocks[x] for x in preds]
    fn.next_block = max([*blocks, -1]) + 1

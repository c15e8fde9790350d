"""The finished code of an instruction: from the load of its input up to the store of its output."""

from typing import Any, Final, NamedTuple

import orias
from orias.isa.decode import Decoded
from orias.isa.operand import K_P, K_R, K_UP, K_UR, PT, Opnd, is_hardwired, kind_of, payload
from orias.isa.widths import dst_width, src_width
from orias.sim import load
from tools.judge.every_input.instructions import Instruction

_FLOW: Final = frozenset(("BRA", "CALL", "BSSY", "EXIT"))
_FILES: Final = (K_R, K_UR, K_P, K_UP)
Place = tuple[int, int]
"""A register: file and number."""


class NotStraight(Exception):
    """The code has branches, or reads more than its input."""


class Straight(NamedTuple):
    """The operations that lead to the output, before and after the load of the input into a register; what is stored, and its words."""

    before: list[Decoded]
    start: Place
    steps: list[Decoded]
    stored: Opnd
    words: int


def _kernel(i: Instruction, arch: str) -> str:
    version = "9.0" if int(arch[3:].rstrip("af")) >= 100 else "8.7"
    inputs = "mov.b32 {%a0, %a1}, %word;"
    if len(i.ins) == 1:
        inputs = {"b32": "mov.b32 %a0, %word;", "b16": "cvt.u16.u32 %a0, %word;"}[i.ins[0]]
    regs = [f".reg .{t} %a{k};" for k, t in enumerate(i.ins)] + [f".reg .{t} %o{k};" for k, t in enumerate(i.outs)]
    stores = []
    for k, t in enumerate(i.outs):
        if t == "pred":
            stores.append(f"selp.u32 %flag, 1, 0, %o{k}; st.global.u32 [%to+{8 * k}], %flag;")
        else:
            stores.append(f"st.global.{t} [%to+{8 * k}], %o{k};")
    return f""".version {version}
.target {arch}
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {{
    .reg .b64 %from, %to; .reg .b32 %word, %flag; {" ".join(regs)} {i.decl}
    ld.param.u64 %from, [in]; ld.param.u64 %to, [out]; ld.global.b32 %word, [%from];
    {inputs}
    {i.body}
    {" ".join(stores)}
    ret;
}}
"""


def place_of(o: Opnd) -> Place | None:
    """The register of an operand; None for constants."""
    return (kind_of(o), payload(o)) if kind_of(o) in _FILES and not is_hardwired(o) else None


def _registers(o: Opnd, width: int) -> set[Place]:
    place = place_of(o)
    return {(place[0], place[1] + k) for k in range(width)} if place is not None else set()


def _leading_to(steps: list[Decoded], wanted: set[Place]) -> list[Decoded]:
    """The operations that may write what is wanted, or what such an operation reads; `wanted` becomes what they read of earlier ones."""
    kept = []
    for d in reversed(steps):
        written = set().union(*(_registers(o, dst_width(d.op, k)) for k, o in enumerate(d.dst)))
        if not written & wanted:
            continue
        kept.append(d)
        if d.guard == PT:
            wanted -= written
        for k, o in enumerate(d.src):
            wanted |= _registers(o, src_width(d.op, k, o))
        wanted |= _registers(d.guard, 1)
    return kept[::-1]


def straight(i: Instruction, arch: str) -> Straight:
    """The code of an instruction for a target; raises NotStraight."""
    image: Any = load(orias.compile(_kernel(i, arch), arch=arch).data)
    (code,) = (code for _, code, name in image._code if name == "k")
    before: list[Decoded] = []
    steps: list[Decoded] = []
    start: Place | None = None
    for at in range(0, len(code), 16):
        d = image.table.decode(int.from_bytes(code[at : at + 16], "little"))
        if d.op.base == "LDG":
            start = place_of(d.dst[0])
        elif d.op.base == "STG":
            break
        elif d.op.base in _FLOW:
            raise NotStraight(i.name)
        else:
            (before if start is None else steps).append(d)
    if start is None:
        raise NotStraight(i.name)
    stored, words = d.src[-1], 2 if d.op.has("64") else 1
    wanted = _registers(stored, words)
    steps = _leading_to(steps, wanted)
    wanted.discard(start)
    before = _leading_to(before, wanted)
    if wanted:
        raise NotStraight(f"{i.name} reads {sorted(wanted)}")
    return Straight(before, start, steps, stored, words)

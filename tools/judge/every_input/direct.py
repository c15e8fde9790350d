"""An instruction's finished code as one C function: the simulator's own steps for its operations, without the rest of a machine.

Only for code without branches, whose operations are all in the simulator's C library.  What is known when the function is compiled
(operations, registers, how many threads) makes it several times as fast as a launch.
"""

import ctypes
import hashlib
import os
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from orias import c_library
from orias.isa.decode import Decoded
from orias.isa.operand import INV, K_UR, imm_value, is_imm, is_pred
from orias.sim.native import translate
from orias.sim.native.record import CONSTANT
from orias.sim.native.record_format import CODES, KINDS, RECORD, enumeration
from orias.sim.native.vector_library import FOLDER, OPTIONS
from tools.judge.every_input.instructions import Instruction
from tools.judge.every_input.straight import Straight, place_of, straight

PIECE: Final = 64
"""Inputs that an operation works on together."""
_ROWS: Final = 256
_HEADERS: Final = ("state.h", "rows.h", "moves.h", "integers.h", "floats.h", "halves.h", "steps.h")
_NEEDED: Final = {
    "moves": _HEADERS[:3], "integers": (*_HEADERS[:2], "integers.h"), "floats": (*_HEADERS[:2], "floats.h"),
    "halves": (*_HEADERS[:2], "floats.h", "halves.h"), "uniform": _HEADERS,
}  # fmt: skip
"""Kinds of steps -> the files that say what they do."""
_TYPES: Final = {"b16": "u16", "b32": "u32", "b64": "u64", "pred": "u8"}
_STEP: Final = re.compile(r"\bstep_(\w+)\(")
_COMMENT: Final = re.compile(r"/\*.*?\*/", re.S)
_OF_WARPS: Final = ("LDC", "SHFL", "VOTE", "BSSY")
"""Codes of moves that need more of a machine than registers."""


class Unknown(Exception):
    """An operation is none of the simulator's C library, or reads memory."""


class Direct(NamedTuple):
    """The C of an instruction's code, with NAME for the function's name, and a hash of it and of the simulator's C that it runs."""

    text: str
    code: str


def _constant(value: Any) -> str:
    return "{" + ", ".join(str(int(x)) for x in value) + "}" if isinstance(value, tuple | list) else str(int(value))


def _op(d: Decoded) -> str:
    """C: one operation."""
    made = translate.record(d, 0, _ROWS)
    if made is None:
        raise Unknown(f"{d.op}")
    fields: dict[str, Any] = dict(zip(RECORD.names or (), made, strict=True))
    code = CODES[fields["code"]]
    kind = next((kind for kind, codes in KINDS.items() if code in codes), "accesses")
    if CONSTANT in fields["kind"] or code in _OF_WARPS or kind == "accesses":
        raise Unknown(f"{d.op}")
    if place_of(d.guard) is None and d.guard & INV:
        return ""
    values = ", ".join(f".{name} = {code if name == 'code' else _constant(v)}" for name, v in fields.items())
    call = (
        f"step_{kind}(&state, &threads, &o, 0, PIECE"
        if not fields["uniform"]
        else "step_uniform(&state, &warps, &o, 0, PIECE"
    )
    mask = "predicate(&state, &threads, o.guard, 0, PIECE, t)" if fields["guard"] >= 0 else "0"
    return f"{{ static const Op o = {{{values}}}; u8 t[PIECE]; {call}, {mask}); }}"


def _result(code: Straight, type_: str) -> str:
    """C: result i."""
    place = place_of(code.stored)
    if place is None or is_pred(code.stored):
        return str(imm_value(code.stored) if is_imm(code.stored) else 0)
    words = []
    for half in range(code.words):
        row = f"uniforms[{place[1] + half}][i >> 5]" if place[0] == K_UR else f"rows[{place[1] + half}][i]"
        words.append(f"(u64){row} << {32 * half}" if half else row)
    return f"({type_})({' | '.join(words)})"


def direct(i: Instruction, arch: str) -> Direct:
    """The C of an instruction's code; raises NotStraight or Unknown."""
    code = straight(i, arch)
    before, steps = ("\n        ".join(map(_op, some)) for some in (code.before, code.steps))
    type_ = _TYPES[i.outs[0]]
    text = f"""
__attribute__((flatten, visibility("default"))) void NAME(u32 base, u32 stride, i64 count, {type_} *out) {{
    static u32 rows[{_ROWS}][PIECE], uniforms[64][PIECE / 32];
    static u8 flags[8][PIECE], uniform_flags[8][PIECE / 32];
    const State state = {{.registers = rows[0], .uniform = uniforms[0], .predicates = flags[0], .uniform_predicates = uniform_flags[0],
                         .threads = PIECE, .warps = PIECE / 32}};
    const Rows threads = {{rows[0], flags[0], PIECE}}, warps = {{uniforms[0], uniform_flags[0], PIECE / 32}};
    for (i64 at = 0; at < count; at += PIECE) {{
        const i64 n = PIECE;
        {before}
        EACH rows[{code.start[1]}][i] = base + (u32)(at + i) * stride;
        {steps}
        {type_} *to = out + at;
        EACH to[i] = {_result(code, type_)};
    }}
}}
"""
    kinds = set(_STEP.findall(text))
    files = [name for name in _HEADERS if any(name in _NEEDED[kind] for kind in kinds) or name in _HEADERS[:2]]
    meaning = "".join(_COMMENT.sub("", (FOLDER / name).read_text(encoding="utf-8")) for name in files)
    words = " ".join((text + meaning).split())
    return Direct(text, hashlib.sha256(words.encode()).hexdigest()[:12])


class Outputs:
    """Memory for the outputs of a compiled function, up to `most` a call."""

    def __init__(self, function: Any, most: int) -> None:
        self._function: Final = function
        self._out: Final = np.empty(most, np.uint64)

    def run(self, base: int, stride: int, count: int) -> list[int]:
        """Computes `count` outputs (a multiple of PIECE), of every `stride`th input from `base` on; the address of the outputs."""
        place = int(self._out.ctypes.data)
        self._function(base, stride, count, place)
        return [place]


def functions(some: Sequence[Direct]) -> list[Any]:
    """The compiled functions: ``function(base, stride, count, address of the outputs)``, `count` a multiple of PIECE."""
    body = "".join(d.text.replace("NAME", f"direct_{k}") for k, d in enumerate(some))
    start = "__attribute__((constructor)) static void begin(void) { memset(ones, 1, sizeof ones); }"
    text = f'#define PIECE {PIECE}\n{enumeration()}#include "steps.h"\n{start}\n{body}'
    headers = [(FOLDER / name).read_text(encoding="utf-8") for name in _HEADERS]
    words = "\0".join((text, *headers, *OPTIONS, c_library.compiler() or ""))
    place = c_library.cache() / f"direct-{hashlib.sha256(words.encode()).hexdigest()[:16]}.so"
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        c_library.build(text, place, [f"-I{FOLDER}", *OPTIONS])
    library = ctypes.CDLL(os.fspath(place))
    out = []
    for k in range(len(some)):
        function = getattr(library, f"direct_{k}")
        function.restype = None
        function.argtypes = [ctypes.c_uint32, ctypes.c_uint32, ctypes.c_int64, ctypes.c_void_p]
        out.append(function)
    return out

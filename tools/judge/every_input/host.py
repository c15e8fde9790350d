"""Builds and calls the host's side: a C function for each instruction that compares results with what it gives."""

import ctypes
import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from orias import c_library
from tools.judge.every_input.instructions import FLOATS, Instruction

_HEADER: Final = Path(__file__).with_name("exact.h")
_COMMENT: Final = re.compile(r"/\*.*?\*/", re.S)
_PLANES: Final = {"b16": "u16", "b32": "u32", "b64": "u64", "pred": "u8"}
BYTES: Final = {"b16": 2, "b32": 4, "b64": 8, "pred": 1}
_OPTIONS: Final = (
    "-O3",
    "-march=native",
    "-frounding-math",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-tree-pre",  # it splits what would be a vector
    "-fno-thread-jumps",
    "-fwrapv",
    "-w",
    "-lm",
)
_PLACES: Final = 8
"""Wrong inputs that a call gives at the most."""
Check = Any
"""``check(base, stride, count, planes, wrong)``: how many of some inputs gave something else; the first ones are in `wrong`."""


def _same(kind: str, k: int, type_: str) -> str:
    """C: whether result `k` of a type is the one wanted, o, or the other one that is right, p."""
    plain = f"g{k} == ({type_})o{k} | g{k} == ({type_})p{k}"
    if kind in FLOATS:
        wide = f"(u64)g{k} == ({type_})o{k} | (u64)g{k} == ({type_})p{k}"
        return f"{wide} | is_nan(g{k}, {kind.upper()}) & is_nan(o{k}, {kind.upper()})"
    if kind == "f16x2":
        return " & ".join(f"same_half(g{k} >> {shift} & 0xffff, o{k} >> {shift} & 0xffff)" for shift in (0, 16))
    return plain


def _function(number: int, i: Instruction) -> str:
    outs = range(len(i.outs))
    inputs = "u32 a0 = word;" if i.ins == ("b32",) else "u32 a0 = word & 0xffff, a1 = word >> 16;"
    reads = " ".join(f"const {_PLANES[r]} g{k} = q{k}[j];" for k, r in enumerate(i.outs))
    if i.kinds == ("judged",):
        body = f"int ok; {i.c}"
    else:
        same = " & ".join(f"({_same(kind, k, _PLANES[i.outs[k]])})" for k, kind in enumerate(i.kinds))
        results = " ".join(f"u64 o{k} = 0, p{k} = NONE;" for k in outs)
        others = " ".join(f"p{k} = p{k} == NONE ? o{k} : p{k};" for k in outs)
        body = f"int any = 0; {results} {i.c} {others} int ok = any | ({same});"
    pointers = " ".join(f"const {_PLANES[r]} *restrict q{k} = planes[{k}];" for k, r in enumerate(i.outs))
    mode = {"RN": "FE_TONEAREST", "RZ": "FE_TOWARDZERO", "RM": "FE_DOWNWARD", "RP": "FE_UPWARD"}[i.mode]
    return f"""
static __attribute__((noinline)) u32 block_{number}(u32 base, u32 stride, i64 first, i64 last, void **planes, u8 *bad) {{
    {pointers}
    u32 some = 0;
    for (i64 j = first; j < last; j++) {{
        const u32 word = base + (u32)j * stride; {inputs} {reads}
        {body}
        bad[j - first] = !ok;
        some |= !ok;
    }}
    return some;
}}
__attribute__((visibility("default"))) i64 check_{number}(u32 base, u32 stride, i64 count, void **planes, u32 *wrong) {{
    u8 bad[4096];
    i64 n = 0;
    fesetround({mode});
    for (i64 at = 0; at < count; at += 4096) {{
        i64 to = at + 4096 < count ? at + 4096 : count;
        if (block_{number}(base, stride, at, to, planes, bad))
            for (i64 j = at; j < to; j++)
                if (bad[j - at] && n++ < {_PLACES}) wrong[n - 1] = base + (u32)j * stride;
    }}
    fesetround(FE_TONEAREST);
    return n;
}}
"""


def host_code(i: Instruction) -> str:
    """A hash of the host's side of an instruction."""
    words = " ".join((_COMMENT.sub("", _HEADER.read_text()) + _function(0, i)).split())
    return hashlib.sha256(words.encode()).hexdigest()[:12]


def checks(instructions: Sequence[Instruction], optimise: bool = True) -> list[Check]:
    """The compiled checks of some instructions."""
    text = _HEADER.read_text() + "".join(_function(k, i) for k, i in enumerate(instructions))
    options = [o if optimise or o != "-O3" else "-O1" for o in _OPTIONS]
    name = hashlib.sha256("\0".join((text, *options, c_library.compiler() or "")).encode()).hexdigest()[:16]
    place = c_library.cache() / f"host-{name}.so"
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        c_library.build(text, place, options)
    library = ctypes.CDLL(os.fspath(place))
    out = []
    for k in range(len(instructions)):
        check = getattr(library, f"check_{k}")
        check.restype = ctypes.c_int64
        check.argtypes = [ctypes.c_uint32, ctypes.c_uint32, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p]
        out.append(check)
    return out


def wrong_inputs(check: Check, base: int, stride: int, count: int, planes: Sequence[int]) -> tuple[int, list[int]]:
    """How many of `count` inputs, every `stride`th from `base` on, are wrong, and the first of them; `planes`: addresses of the outputs."""
    addresses = (ctypes.c_void_p * len(planes))(*planes)
    wrong = (ctypes.c_uint32 * _PLACES)()
    n = int(check(base, stride, count, addresses, wrong))
    return n, list(wrong[: min(n, _PLACES)])

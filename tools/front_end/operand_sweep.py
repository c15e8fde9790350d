"""Right instructions with one operand, or one part of an operand, exchanged for each other kind in turn.

Every opcode has some lines, one for each number and shape of operands; each operand, the first and the last element of each vector,
the register in each address and each coordinate is exchanged.  The programs come in a fixed order, so that a run can go on where
another ended (``--first``).
"""

import random
import re
from collections.abc import Callable, Iterator

from tools.front_end.instructions import TYPES, Line, Program, head, kernel

REGISTERS = tuple(f"%{t}_7" for t in TYPES)
CONSTANTS = ("0", "1", "-1", "3", "16", "17", "255", "256", "65536", "1048576", "4294967295", "4294967296", "0xffffffffffffffff", "1.0",
             "0f3F800000", "0d3FF0000000000000", "WARP_SZ")  # fmt: skip
NAMES = ("_", "!%pred_7", "-%b32_7", "-%f32_7", "%tid.x", "%tid", "%clock64", "%laneid+4", "%is_explicit_cluster", "var_shared", "var_global",
         "var_param", "var_local", "var_const", "var_global+8", "var_shared[4]", "nowhere", "nowhere+4", "tx", "sf", "fn1", "fn0", "fn1+4", "k")  # fmt: skip
SUMS = (
    "%b32_7+4",
    "%u64_7+4",
    "%f32_7+4",
    "%b16_7+4",
    "%pred_7+4",
    "%b32_7.b0",
    "%b32_7.x",
    "%b32_7[2]",
    "0xFF(5)",
    "(5)",
)
PAIRS = ("%pred_7|%pred_8", "%b32_7|%pred_7", "%pred_7|!%pred_8", "%pred_7|_")
VECTORS = ("{%b32_7}", "{%pred_7}", "{%b32_7, %b32_8}", "{%b64_7, %b64_8}", "{%f32_7, %f32_8}", "{%b16_7, %b16_8}", "{%pred_7, %pred_8}",
           "{%b32_5, %b32_6, %b32_7, %b32_8}", "{%b8_5, %b8_6, %b8_7, %b8_8}", "{%f16x2_5, %f16x2_6, %f16x2_7, %f16x2_8}",
           "{%b32_1, %b32_2, %b32_3, %b32_4, %b32_5, %b32_6, %b32_7, %b32_8}", "{1, 2}", "{_, _}", "{%tid.x, %tid.y}")  # fmt: skip
ADDRESSES = (*(f"[{r}]" for r in REGISTERS), "[%b64_7+4]", "[%b64_7+-4]", "[%b64_7-4]", "[%b64_7+%b64_8]", "[var_shared]", "[var_global+8]",
             "[var_param]", "[var_local]", "[var_const]", "[4]", "[_]", "[nowhere]", "[tx]", "[sf]", "[fn1]", "[%laneid]",
             "[tx, {%b32_7}]", "[%b64_7, {%b32_7, %b32_8}]", "[%u64_7, {%f32_7, %f32_8}]", "[{%b32_7}]")  # fmt: skip
WHOLE = (*REGISTERS, *CONSTANTS, *NAMES, *SUMS, *PAIRS, *VECTORS, *ADDRESSES)
PARTS = (*REGISTERS, "0", "-1", "4294967296", "1.0", "0f3F800000", *NAMES, *SUMS, "{%b32_7}", "[%b64_7]")
_BASES = ("sm_100a", "sm_120a", "sm_103a", "sm_90a", "sm_80")
"""The targets on which a line may be right, tried in this order."""
_LINES = 2
"""Lines of an opcode with the same shape of operands."""


def shapes(lines: list[Line]) -> list[Line]:
    """Some lines for each opcode and shape of operands, in a fixed order."""
    groups: dict[tuple[str, tuple[str, ...]], list[Line]] = {}
    for x in lines:
        groups.setdefault((x.name, tuple(map(_shape, x.operands))), []).append(x)
    r = random.Random(1)
    return [x for members in groups.values() for x in r.sample(members, min(_LINES, len(members)))]


def _shape(operand: str) -> str:
    """What of an operand makes another group: its punctuation and whether it has a register, not which."""
    return re.sub(r"%?[\w.$]+", lambda m: "r" if m[0][0] == "%" else "x", operand)


def changed(one: Line) -> Iterator[tuple[str, ...]]:
    """The lists of operands with one exchanged."""
    for k, old in enumerate(one.operands):
        before, after = one.operands[:k], one.operands[k + 1 :]
        for new in WHOLE:
            yield (*before, new, *after)
        for start, end in parts(old):
            for new in PARTS:
                yield (*before, old[:start] + new + old[end:], *after)
        yield (*before, *after)
        yield (*before, old, old, *after)


def parts(operand: str) -> list[tuple[int, int]]:
    """The places of the parts of an operand: the name in an address, the first and last elements of vectors, both of a pair."""
    names = [m.span() for m in re.finditer(r"%?[\w.$]+", operand)]
    if len(names) < 2 and operand[:1] not in ("[", "{", "-", "!"):
        return []
    return names if len(names) <= 3 else [names[0], names[1], names[-1]]


def programs(lines: list[Line], takes: Callable[[list[Program]], list[bool]], first: int, count: int) -> list[Program]:
    """The changed programs from number ``first`` on, in the order of their targets.

    ``takes``: which of some programs of one target ptxas takes.  Each line is for the first target that takes it as it is.
    """
    left = shapes(lines)
    found: list[tuple[Line, str]] = []
    for target in _BASES:
        right = takes([program(x, x.operands, target) for x in left])
        found += [(x, target) for x, yes in zip(left, right, strict=True) if yes]
        left = [x for x, yes in zip(left, right, strict=True) if not yes]
    every = [(x, operands, target) for x, target in found for operands in changed(x)]
    random.Random(2).shuffle(every)
    return [program(*item) for item in sorted(every[first : first + count], key=lambda item: _BASES.index(item[2]))]


def program(one: Line, operands: tuple[str, ...], target: str) -> Program:
    """The program of a line with these operands."""
    text = f"{'.'.join([one.name, *one.words])} {', '.join(operands)};"
    return Program(target, text, head("9.0", target), kernel(text))

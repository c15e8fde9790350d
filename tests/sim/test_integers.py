"""The simulator's integer operations and ``orias.semantics`` (the constant folder's) are one function.

Each row is an operation with its results and the kinds and flags of its sources.  The simulator runs it on edge values and
random ones in registers, ``evaluate`` on the same values as immediates.
"""

import random
from collections.abc import Callable

import numpy as np
import pytest

from orias.isa.op import op
from orias.isa.operand import INV, NEG, NOT_PT, PT, Opnd, imm, imm64, p, payload, r
from orias.semantics.integers import evaluate, known
from orias.sim.core.banked_memory import Arena, Banked
from orias.sim.core.site import Exec, Site
from orias.sim.core.state import Active, Machine
from orias.sim.ori.pseudo import WIDE
from orias.sim.sass.exec_int import BUILDERS

LANES = 256
NONE = Banked(1, 0, 0, "none", 0)
EDGES = [
    0,
    1,
    2,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x10000,
    0x7FFFFFFF,
    0x80000000,
    0x80000001,
    0xFFFFFFFE,
    0xFFFFFFFF,
]
AMOUNTS = [0, 1, 5, 8, 15, 16, 31, 32, 33, 47, 63, 64, 65, 95, 128, 255, 256, 0x80000000, 0xFFFFFFFF]
LONGS = [
    0,
    1,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    1 << 32,
    (1 << 63) - 1,
    1 << 63,
    (1 << 64) - 1,
    (1 << 64) - (1 << 31),
]

SHIFTS = [
    f"SHF.{d}.{t}"
    for d in ("L", "R", "L.W", "R.W")
    for t in ("U32", "U32.HI", "S32.HI", "U64", "U64.HI", "S64", "S64.HI")
]
COMPARISONS = ("F", "LT", "EQ", "LE", "GT", "NE", "GE", "T")
MINIMA = (
    "IMNMX",
    "IMNMX.U32",
    "VIMNMX",
    "VIMNMX.U32",
    "VIMNMX.U16x2",
    "VIMNMX.S16x2",
    "VIMNMX.RELU",
    "VIMNMX.S16x2.RELU",
)

# (operation, results, sources): w a word, n a shift amount, d a pair, q a predicate; - negated, ~ inverted before the letter;
# a number is an immediate.
ROWS: list[tuple[str, str, str]] = [
    *[("IADD3", "rpp", f"{a}w {b}w {c}w") for a, b, c in (("", "", ""), ("-", "", ""), ("", "-", "-"))],
    *[("IADD3.X", "rpp", f"{a}w {b}w w q q") for a in ("", "~") for b in ("", "~")],
    *[("VIADD", "r", f"w {b}w") for b in ("", "-")],
    *[(f"IMAD{u}", "r", f"w {b}w {c}w") for u in ("", ".U32") for b in ("", "-") for c in ("", "-")],
    *[(f"IMAD.HI{u}", "r", f"w {b}w d") for u in ("", ".U32") for b in ("", "-")],
    *[(f"IMAD.WIDE{u}", "d", f"w {b}w d") for u in ("", ".U32") for b in ("", "-")],
    *[("LEA", "rp", f"{a}w {b}w n") for a, b in (("", ""), ("-", ""), ("", "-"))],
    *[("LEA.HI", "r", f"{a}w w w n") for a in ("", "-")],
    *[("LEA.HI.SX32", "r", f"{a}w w n") for a in ("", "-")],
    ("LEA.HI.X", "r", "w w w n q"),
    ("LEA.HI.X.SX32", "r", "w w n q"),
    *[(name, "r", "w n w") for name in SHIFTS],
    *[("LOP3.LUT", "rp", f"w w w {table} q") for table in (0xC0, 0xFC, 0x3C, 0x96, 0xE8, 0x1D, 0x4B, 0x01, 0xFE, 0xCA, 0, 255)],
    *[("LOP3.LUT.PAND", "rp", f"w w w {table} q") for table in (0xC0, 0x80)],
    *[("PLOP3.LUT", "pp", f"q q q {table} {255 - table}") for table in range(0, 256, 7)],
    *[(f"PRMT{mode}", "r", "w w w") for mode in ("", ".F4E", ".B4E", ".RC8", ".ECL", ".ECR", ".RC16")],
    *[(f"ISETP.{c}{u}.{how}", "pp", "w w q") for c in COMPARISONS for u in ("", ".U32") for how in ("AND", "OR", "XOR")],
    *[(f"ISETP.{c}{u}.AND.EX", "pp", "w w q q") for c in COMPARISONS[1:7] for u in ("", ".U32")],
    ("SEL", "r", "w w q"),
    *[(name, "r", "w w q") for name in MINIMA],
    *[(f"VIMNMX3{u}", "r", "w w w q") for u in ("", ".U32", ".S16x2", ".U16x2", ".RELU")],
    *[(f"BMSK{w}", "r", "n n") for w in ("", ".W")],
    *[(f"SGXT{w}{u}", "r", "w n") for w in ("", ".W") for u in ("", ".U32")],
    *[(f"FLO{u}{s}", "rp", f"{i}w") for u in ("", ".U32") for s in ("", ".SH") for i in ("", "~")],
    *[(name, "r", f"{f}w") for name in ("POPC", "BREV", "IABS") for f in ("", "~" if name == "POPC" else "")],
    *[("iadd64", "dp", f"{a}d {b}d") for a, b in (("", ""), ("-", ""), ("", "-"))],
    *[("iadd64", "dp", f"d {b}d q") for b in ("", "-")],
    ("imul64", "d", "d d"),
    ("shl64", "d", "d n"),
    *[(f"shr64.{t}", "d", "d n") for t in ("U64", "S64")],
    *[(f"isetp64.{c}.{t}", "pp", "d d q") for c in COMPARISONS[1:7] for t in ("U64", "S64")],
    ("sext64", "d", "w"),
]  # fmt: skip


def machine() -> Machine:
    everyone = np.ones(LANES, np.bool_)
    arena = Arena(4096)
    return Machine(LANES, 32, everyone, np.zeros(LANES, np.int64), arena, NONE, NONE)


def values(kind: str, rng: random.Random) -> int:
    if kind == "q":
        return rng.getrandbits(1)
    edges = AMOUNTS if kind == "n" else LONGS if kind == "d" else EDGES
    return rng.choice(edges) if rng.random() < 0.6 else rng.getrandbits(64 if kind == "d" else 32)


def builder(name: str) -> Callable[[Site], Exec]:
    return WIDE.get(name) or BUILDERS[name]


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(("name", "results", "sources"), ROWS, ids=[f"{a} {c}" for a, _, c in ROWS])
def test_simulator_agrees_with_the_scalar_meaning(name: str, results: str, sources: str) -> None:
    rng = random.Random(f"{name} {sources}")
    m = machine()
    where: list[Opnd] = []
    rows: list[list[Opnd]] = [[] for _ in range(LANES)]
    for k, text in enumerate(sources.split()):
        flags = {"-": NEG, "~": INV}.get(text[0], 0)
        kind = text.lstrip("-~")
        if kind.isdigit():
            where.append(imm(int(kind)))
            for row in rows:
                row.append(imm(int(kind)))
            continue
        column = [values(kind, rng) for _ in range(LANES)]
        if kind == "q":
            m.P[k][:] = column
            where.append(p(k))
            constants = [PT if v else NOT_PT for v in column]
        else:
            m.R[2 * k][:] = [v & 0xFFFFFFFF for v in column]
            m.R[2 * k + 1][:] = [v >> 32 for v in column]
            where.append(r(2 * k) | flags)
            constants = [imm64(v) | flags for v in column]
        for row, o in zip(rows, constants, strict=True):
            row.append(o)
    dst = [r(20) if kind in "rd" else p(5 + (k > 0 and results[k - 1] == "p")) for k, kind in enumerate(results)]
    operation = op(name)
    builder(operation.base)(Site(operation, dst, where, 0, False))(m, Active(np.arange(LANES)))
    for lane, row in enumerate(rows):
        got = []
        for kind, d in zip(results, dst, strict=True):
            number = payload(d)
            if kind == "p":
                got.append(int(m.P[number][lane]))
            else:
                got.append(int(m.R[number][lane]) | (int(m.R[number + 1][lane]) << 32 if kind == "d" else 0))
        want = evaluate(operation, row)
        assert want is not None and got == want[: len(got)], (lane, [hex(payload(o)) for o in row])


def test_every_operation_has_a_row() -> None:
    assert {op(name).base for name, _, _ in ROWS} == set(known())
    assert len(ROWS) >= 200


def test_what_is_not_known_is_not_folded() -> None:
    for name, src in (
        ("IADD3", [r(4), imm(1), imm(2)]),
        ("VIADD.S32.ISAT", [imm(1), imm(2)]),
        ("IADD3.16x2", [imm(1), imm(2), imm(3)]),
        ("ISETP.LT.U64.AND", [imm(1), imm(2), PT]),
        ("POPC", [r(9)]),
        ("S2R", [imm(1)]),
    ):
        assert evaluate(op(name), src) is None, name

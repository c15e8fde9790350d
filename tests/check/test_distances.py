"""The compiler never leaves less than its checker asks for: all pairs of classes of operations, on every target.

Both read the distances of second writes in one table; those from a result to its reader have a table each.
"""

import re
from itertools import product

import pytest

from orias.analysis.access import P_BASE, SLOT_GUARD, UP_BASE, UR_BASE
from orias.diag import Unsupported
from orias.isa.decode import Decoded
from orias.isa.op import F_WGMMA, Op, op
from orias.isa.operand import PT, RZ
from orias.isa.rawtable import read_file
from orias.timing.bounds import Bound
from orias.timing.latency import base_class, latency
from orias.timing.needs import Facts
from orias.timing.units import NEEDS_WRITE, UNIFORM, units
from tools.latency.bounds import agree

FORMS = (
    "IMAD.WIDE", "IMAD.HI", "HADD2.F32", "HFMA2.MMA", "HMMA.16816.F32", "HMMA.1688.F32", "IMMA.8816.S8.S8", "IMMA.16832.U4.U4", "F2F.F64.F32",
)  # fmt: skip
"""Operations whose class follows from modifiers."""
LEFT_OUT = ("P2R", "R2P")
"""Accumulators of warpgroup operations have rules of their own (``schedule/wgmma_groups.py``); masks of predicates we never write."""
UNITS = {"gpr": 4, "ugpr": UR_BASE + 4, "pred": P_BASE, "upred": UP_BASE}


def representatives(sm: int) -> list[Op]:
    """One operation of each class."""
    u, lat = units(sm), latency(sm)
    out: dict[tuple[str, str, int], Op] = {}
    mnemonics = re.findall(r"^([A-Z0-9_]+):", read_file("operations.isa"), re.MULTILINE)
    for name in (*mnemonics, *FORMS):
        o = op(name)
        try:
            if o.base not in LEFT_OUT and not o.flags & F_WGMMA:
                out.setdefault((lat.op_class(o), base_class(o, u), u.barriers(o)), o)
        except Unsupported:
            continue
    return list(out.values())


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("sm", [75, 80, 86, 89, 90, 100, 103, 110, 120])
def test_never_less_than_asked_for(sm: int) -> None:
    lat, facts = latency(sm), Facts(sm)
    ops = representatives(sm)
    assert len(ops) > 30
    bad = []
    for p, c in product(ops, ops):
        if lat.barriers(p) & NEEDS_WRITE:
            continue
        reader = Decoded(c, PT, [RZ], [RZ] * 4, 0)
        for kind, unit in UNITS.items():
            if (kind in ("gpr", "pred")) != (lat.units.pipe(p) != UNIFORM):
                continue
            if kind == "pred" and c.base == "FADD":
                continue  # it reads no predicate but its guard
            for slot, word in product((0, 2, SLOT_GUARD) if "pred" in kind else (0, 2), (0, 1)):
                have, need = lat.raw(p, word, c, unit, slot), facts.raw(p, word, reader, unit, slot)
                if have < need:
                    bad.append(f"{p.name} {word} -> {c.name} {kind} {slot}: {have} of {need}")
            have, need = lat.waw(p, c, unit), facts.waw(p, reader, unit)
            if have < need:
                bad.append(f"{p.name}, {c.name} write {kind}: {have} of {need}")
    assert bad == []


def test_seen_in_random_programs() -> None:
    """A register of a matrix operation, and a predicate of a comparison of halves, written again too soon."""
    assert latency(86).waw(op("IMMA.8816.S8.S8"), op("HADD2"), 4) == 13
    assert latency(86).waw(op("IMMA.8816.S8.S8"), op("FADD"), 4) == 9
    assert latency(80).waw(op("HSETP2.GE.AND"), op("PLOP3.LUT"), P_BASE) == 5


@pytest.mark.parametrize("sm", [80, 86, 89, 90, 100, 103, 110, 120])
def test_an_address_whose_state_space_is_asked_for(sm: int) -> None:
    """QSPC gets its address as loads do; the corpus has too few pairs, programs made for it many."""
    query = Decoded(op("QSPC.E.S"), PT, [RZ], [RZ] * 4, 0)
    for producer in ("SEL", "IADD3", "LOP3.LUT"):
        assert Facts(sm).raw(op(producer), 0, query, 4, 1) == 5


def test_few_samples_that_other_targets_confirm() -> None:
    """A uniform predicate reaches the ALU after 6 cycles on every target; sm_110 alone has too few samples."""
    mix = Decoded(op("PLOP3.LUT"), PT, [RZ], [RZ] * 4, 0)
    assert {Facts(sm).raw(op("UISETP.LT.AND"), 0, mix, UP_BASE, 1) for sm in (90, 100, 103, 110, 120)} == {6}
    rows = {
        (sm, "upred", "UALU"): {"ALU": Bound(6, sm != 110), "BRA": Bound(9, sm == 100)} for sm in (90, 100, 103, 110)
    }
    rows[120, "upred", "UALU"] = {"ALU": Bound(7, False), "BRA": Bound(9, False)}
    agree(rows)
    assert rows[110, "upred", "UALU"]["ALU"].sure
    assert not rows[120, "upred", "UALU"]["ALU"].sure
    assert not rows[110, "upred", "UALU"]["BRA"].sure


def test_seen_in_libraries() -> None:
    """Distances that code of libraries leaves (docs/log/hazard-checker.md), and one cycle less is still a hazard."""
    compare, add, tensor = (Decoded(op(n), PT, [RZ], [RZ] * 4, 0) for n in ("ISETP.NE.AND", "HADD2.F32", "FADD"))
    assert Facts(90).raw(op("P2R"), 0, compare, 4, 0) == 4
    assert Facts(80).waw(op("CS2R"), add, 4) == 1
    assert Facts(90).waw(op("CS2R"), tensor, 4) <= 2
    assert Facts(75).raw(op("HADD2.F32"), 0, Decoded(op("HADD2"), PT, [RZ], [RZ] * 4, 0), 4, 0) == 6
    product = op("HGMMA.64x16x16.F32.BF16")
    assert Facts(90).raw(product, 0, Decoded(product, PT, [RZ], [RZ] * 4, 0), 4, 2) == 1

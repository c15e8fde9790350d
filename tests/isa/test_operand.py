"""The operand's helpers against its bit layout, and the rule that nobody else takes an operand apart."""

import ast
import random
from pathlib import Path

import pytest

import orias
from orias.isa import operand as m

SHIFT = {"kind": (0, 4), "neg": (4, 1), "abs": (5, 1), "inv": (6, 1), "suffix": (7, 4), "lane": (11, 8)}
KINDS = [m.K_NONE, m.K_R, m.K_UR, m.K_P, m.K_UP, m.K_B, m.K_IMM, m.K_CONST, m.K_LABEL, m.K_SYM, m.K_WORD, m.K_SB]
FILES = [m.K_R, m.K_UR, m.K_P, m.K_UP, m.K_B]
PAYLOADS = [0, 1, 7, 31, 254, 255, 256, 257, 65535, (1 << 32) - 1, (1 << 64) - 1]


def packed(payload: int, **fields: int) -> int:
    """An operand from its fields, by the layout of the module's head alone."""
    return payload * 2**19 + sum(fields.get(name, 0) * 2**at for name, (at, _) in SHIFT.items())


def drawn(n: int = 2000) -> list[tuple[int, dict[str, int]]]:
    """Payload and fields of `n` random operands, the corners among them."""
    rng = random.Random(5)
    out = []
    for _ in range(n):
        fields = {name: rng.randrange(2**size) if rng.random() < 0.6 else 0 for name, (_, size) in SHIFT.items()}
        fields["kind"] = rng.choice(KINDS)
        out.append((rng.choice(PAYLOADS), fields))
    return out


OPERANDS = drawn()


def test_every_field_is_read_where_it_was_put() -> None:
    for payload, f in OPERANDS:
        o = packed(payload, **f)
        flags = f["neg"] * m.NEG + f["abs"] * m.ABS + f["inv"] * m.INV
        assert (m.kind_of(o), m.suffix_of(o), m.lane_of(o)) == (f["kind"], f["suffix"], f["lane"])
        assert m.payload(o) == m.vreg(o) == m.reg_id(o) == m.imm_value(o) == m.label_id(o) == payload
        assert m.flags_of(o) == flags == packed(0, neg=f["neg"], abs=f["abs"], inv=f["inv"])
        assert m.modifiers_of(o) == flags + packed(0, suffix=f["suffix"])


def test_questions_about_kind_and_number() -> None:
    for payload, f in OPERANDS:
        o, kind = packed(payload, **f), f["kind"]
        assert [m.in_file(o, k) for k in FILES] == [kind == k for k in FILES]
        assert m.is_reg(o) == (kind in FILES)
        assert m.is_vreg(o) == (kind in FILES and payload >= 256)
        assert m.is_pred(o) == (kind in (m.K_P, m.K_UP))
        assert m.is_imm(o) == (kind == m.K_IMM)
        assert m.is_const(o) == (kind == m.K_CONST)
        assert m.is_label(o) == (kind == m.K_LABEL)
        assert m.is_zero_reg(o) == ((kind, payload) in ((m.K_R, 255), (m.K_UR, 255)))
        assert m.is_true_pred(o) == ((kind, payload) in ((m.K_P, 7), (m.K_UP, 7)))
        assert m.is_hardwired(o) == (m.is_zero_reg(o) or m.is_true_pred(o))
        assert m.is_physical(o) == (m.is_reg(o) and not m.is_vreg(o) and not m.is_hardwired(o))


def test_questions_about_modifiers() -> None:
    for payload, f in OPERANDS:
        o = packed(payload, **f)
        flags = bool(f["neg"] or f["abs"] or f["inv"])
        assert m.has_flags(o) is flags
        assert m.has_suffix(o) is bool(f["suffix"])
        assert m.has_modifiers(o) is (flags or bool(f["suffix"]))
        assert m.has_lane(o) is bool(f["lane"])
        assert m.is_bare(o) is (not flags and not f["suffix"] and not f["lane"])


def test_a_part_is_taken_off_and_the_others_stay() -> None:
    none = {"neg": 0, "abs": 0, "inv": 0}
    for payload, f in OPERANDS:
        o = packed(payload, **f)
        assert m.without_flags(o) == packed(payload, **{**f, **none})
        assert m.without_modifiers(o) == packed(payload, **{**f, **none, "suffix": 0})
        assert m.without_lane(o) == packed(payload, **{**f, "lane": 0})
        assert m.bare(o) == packed(payload, kind=f["kind"])


def test_a_part_is_replaced_and_the_others_stay() -> None:
    rng = random.Random(6)
    for payload, f in OPERANDS:
        o, code, ident, file = packed(payload, **f), rng.randrange(16), rng.randrange(1 << 20), rng.choice(FILES)
        assert m.with_lane(o, code) == packed(payload, **{**f, "lane": code})
        assert m.with_suffix(o, code) == packed(payload, **{**f, "suffix": code})
        assert m.with_file(o, file) == packed(payload, **{**f, "kind": file})
        assert m.with_reg(o, ident) == packed(ident, **f)
        assert m.reg_plus(o, code) == packed(payload + code, **f)
        assert m.in_place_of(o, m.reg(file, ident)) == packed(ident, **{**f, "kind": file})


def test_constructors_give_bare_operands() -> None:
    assert [m.r(5), m.ur(5), m.p(5), m.up(5)] == [packed(5, kind=k) for k in FILES[:4]]
    assert [m.reg(k, 300) for k in FILES] == [packed(300, kind=k) for k in FILES]
    assert m.imm(-1) == packed(0xFFFFFFFF, kind=m.K_IMM)
    assert m.imm64(-1) == packed(0xFFFFFFFFFFFFFFFF, kind=m.K_IMM)
    assert (m.label(9), m.sym(9), m.sb(3)) == (
        packed(9, kind=m.K_LABEL),
        packed(9, kind=m.K_SYM),
        packed(3, kind=m.K_SB),
    )
    assert (m.r(255), m.ur(255), m.p(7), m.up(7)) == (m.RZ, m.URZ, m.PT, m.UPT)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, (0, 6)),
        (m.LANE_WORD, (0, 1)),
        (m.LANE_WORD + 5, (5, 1)),
        (m.LANE_PAIR, (0, 2)),
        (m.LANE_PAIR + 2, (4, 2)),
        (m.LANE_QUAD, (0, 4)),
        (m.LANE_QUAD + 1, (4, 4)),
        (m.word_lane(5), (5, 1)),
        (m.word_lane(8), (8, 1)),
        (m.word_lane(127), (127, 1)),
        (m.pair_lane(3), (6, 2)),
        (m.pair_lane(4), (8, 2)),
        (m.pair_lane(63), (126, 2)),
        (m.quad_lane(1), (4, 4)),
        (m.quad_lane(2), (8, 4)),
        (m.quad_lane(31), (124, 4)),
    ],
)
def test_words_of_a_lane(code: int, words: tuple[int, int]) -> None:
    assert m.lane_words(m.with_lane(m.r(300), code), 6) == words


LAYOUT = {"KIND_MASK", "FLAG_MASK", "SUFFIX_MASK", "SUFFIX_SHIFT", "LANE_MASK", "LANE_SHIFT", "PAYLOAD_SHIFT"}
HARDWIRED = {"RZ", "URZ", "PT", "UPT"}
BOUND = 102
"""Lines; in plain Python a call would cost more than the test of an operand in the loops that see all of them."""


def number(n: ast.expr) -> int | None:
    return n.value if isinstance(n, ast.Constant) and isinstance(n.value, int) else None


def raw(n: ast.AST) -> bool:
    """True for an expression that takes an operand apart, or puts one together, by its bit layout."""
    if isinstance(n, ast.Name):
        return n.id in LAYOUT
    if isinstance(n, ast.Attribute):
        return n.attr in LAYOUT
    if isinstance(n, ast.Call):
        return ast.unparse(n.func).endswith("new_vreg") and bool(n.args) and number(n.args[0]) is not None
    if not isinstance(n, ast.BinOp):
        return False
    if isinstance(n.op, ast.LShift | ast.RShift) and number(n.right) == 19:
        return number(n.left) is None
    if isinstance(n.op, ast.BitAnd) and number(n.right) in (15, 255):
        shifted = isinstance(n.left, ast.BinOp) and isinstance(n.left.op, ast.RShift)
        at = number(n.left.right) if isinstance(n.left, ast.BinOp) and shifted else None
        return at in (7, 11) or (isinstance(n.left, ast.Name) and n.left.id in HARDWIRED)
    lanes = n.right if isinstance(n.op, ast.BitOr) else None
    return isinstance(lanes, ast.BinOp) and isinstance(lanes.op, ast.LShift) and number(lanes.right) == 11


def raw_lines(text: str) -> set[int]:
    """Lines of a module with raw operand arithmetic; none if the module does not import the operand's module."""
    tree = ast.parse(text)
    modules = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    if not modules & {"orias.isa.operand", "orias.ori.ir"}:
        return set()
    return {n.lineno for n in ast.walk(tree) if isinstance(n, ast.expr) and raw(n)}


def test_the_counter_sees_every_spelling() -> None:
    spellings = [
        "o >> PAYLOAD_SHIFT", "o >> 19", "o & KIND_MASK == 1", "o & operand.KIND_MASK", "(o >> 11) & 255", "(o >> 7) & 15",
        "o + (k << 19)", "group[3] >> 19", "pair | 1 << 11", "fn.new_vreg(1, w)", "o & 15 == RZ & 15", "o & ~LANE_MASK",
    ]  # fmt: skip
    head = "from orias.isa.operand import RZ\n"
    assert [t for t in spellings if raw_lines(head + t) != {2}] == []
    assert raw_lines(head + "is_vreg(o) and in_file(o, K_R)\nword >> 4 & 15\nfn.new_vreg(K_R, w)\n1 << 19") == set()


def test_operands_are_taken_apart_in_one_module() -> None:
    root = Path(orias.__file__).parent
    found = {
        f.relative_to(root).as_posix(): lines
        for f in sorted(root.rglob("*.py"))
        if f.parent != root / "isa" and (lines := raw_lines(f.read_text()))
    }
    total = sum(map(len, found.values()))
    assert total < BOUND, f"{total} lines: " + ", ".join(f"{f} {sorted(lines)}" for f, lines in found.items())

"""``operations.isa`` against what it speaks of: the forms, words of compiler output, what folding computes, the page that explains it."""

import re
from pathlib import Path

import pytest

from orias.isa import op as words
from orias.isa import operations
from orias.isa.isa_table import load
from orias.isa.op import F_BRANCH, F_COMMUTES, F_PSEUDO, F_READ, F_TENSOR, F_TERM, F_WRITE, TENSOR, op
from orias.isa.operand import K_IMM, K_NONE, K_R, K_UR, KIND_MASK, PT, imm, imm64
from orias.isa.operations import facts, mnemonics
from orias.isa.rawtable import CLASSES, RawTable
from orias.semantics import integers
from orias.semantics.floats import evaluate, foldable
from orias.timing.units import PIPE_NAMES

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "isa-table.md"
COORDINATES = ("SULD", "SUST", "SURED")
"""Their brackets hold coordinates."""
UNIFORM_ADDRESS = ("UTCBAR", "UGETNEXTWORKID", "USTGR")
"""Operations of sm_100 and later that the compiler does not write: one uniform register is the whole address."""


def test_every_line_has_forms() -> None:
    known = {m for c in CLASSES for m in RawTable(c).mnemonics()}
    assert known <= set(mnemonics())
    for name in mnemonics():
        f = facts(name)
        assert f is not None
        assert (name in known) != f.pseudo, name
        assert f.pseudo == name.islower() == bool(op(name).flags & F_PSEUDO)
        assert f.late("sm_90") < 4
        assert f.pipe(()) in (*PIPE_NAMES, "")


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("table", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90"])
def test_operations_of_compiler_output_have_pipes(table: str) -> None:
    t = load(table)
    for line in (HERE / f"words_{table}.txt").read_text().splitlines():
        o = t.decode(int(line.split(" ")[0], 16)).op
        f = facts(o.base)
        assert f is not None
        assert f.pipe(o.mods) in PIPE_NAMES, o.name


def test_a_mnemonic_without_a_line_is_refused() -> None:
    with pytest.raises(KeyError, match="FROB"):
        op("FROB.X")


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("table", CLASSES)
def test_addresses_stand_where_compiler_output_has_them(table: str) -> None:
    """Every bracket in the text of a word of compiler output is one address group of the operation, and every group a bracket."""
    t = load(table)
    seen = 0
    for line in (HERE / f"words_{table}.txt").read_text().splitlines():
        word, _, text = line.partition(" ")
        d = t.decode(int(word, 16))
        if d.op.base in COORDINATES or d.op.base in UNIFORM_ADDRESS:
            continue
        plain = re.sub(r"\b(?:cx?\[[^\]]*\]\[[^\]]*\]|(?:g|i)?desc\[[^\]]*\]|tmem\[[^\]]*\])", "", text)
        assert plain.count("[") == len(d.op.addr), text
        assert not d.op.addr or len(d.op.offset_bits) == len(d.op.addr), text
        assert set(d.op.descriptors) <= set(d.op.addr)
        for a in d.op.addr:
            seen += 1
            desc, base, uniform, offset = d.src[a : a + 4]
            assert desc & KIND_MASK in (K_NONE, K_UR), text
            assert (base & KIND_MASK, uniform & KIND_MASK, offset & KIND_MASK) == (K_R, K_UR, K_IMM), text
    assert seen > 50


def test_memory_is_touched_through_addresses() -> None:
    """What reads or writes memory names an address, coordinates or descriptors, or is tensor memory; constant reads name a bank."""
    for name in mnemonics():
        o = op(name)
        if o.flags & (F_READ | F_WRITE):
            assert (
                o.addr or o.base in COORDINATES or o.base.endswith("GMMA") or o.space == TENSOR or o.flags & F_TENSOR
            ), name


def test_uniform_forms_exist() -> None:
    """The operation of the uniform datapath exists on some target and takes the same number of operands, modifiers aside."""
    tables = [load(name).raw for name in ("sm_90", "sm_120")]
    found = [m for m in mnemonics() if op(m).uniform]
    assert len(found) > 10
    for m in found:
        u = op(m).uniform
        assert op(u).means == m
        counts = [
            ({len(f.operands) for f in t.of_mnemonic(m)}, {len(f.operands) for f in t.of_mnemonic(u)}) for t in tables
        ]
        assert any(vector & uniform for vector, uniform in counts), m


def test_sources_that_commute_may_be_swapped() -> None:
    """Folding computes the same from swapped sources."""
    checked = 0
    for name in foldable():
        if not op(name).flags & F_COMMUTES:
            continue
        double = name[0] == "D"
        pair = [imm64(0x4008000000000000), imm64(0xBFF4000000000000)] if double else [imm(0x40400000), imm(0xBFA00000)]
        rest = {"FFMA": [imm(0x3F800000)], "DFMA": [imm64(0x3FF0000000000000)], "HFMA2": [imm(0x3C003C00)]}
        src = [*pair, *rest.get(name, [PT] if "MNMX" in name else [])]
        value = evaluate(op(name), src)
        assert value is not None, name
        assert value == evaluate(op(name), [src[1], src[0], *src[2:]]), name
        checked += 1
    assert checked > 8


def test_integer_sources_that_commute_may_be_swapped() -> None:
    checked = 0
    for name in ("IADD3", "IMAD", "IMNMX", "VIMNMX", "VIADD", "iadd64", "imul64"):
        assert op(name).flags & F_COMMUTES
        wide = name.islower()
        pair = [imm64(0x8000000000000123), imm64(77)] if wide else [imm(0x80000123), imm(77)]
        rest = {"IADD3": [imm(5)], "IMAD": [imm(9)], "IMNMX": [PT], "VIMNMX": [PT]}.get(name, [])
        value = integers.evaluate(op(name), [*pair, *rest])
        assert value == integers.evaluate(op(name), [pair[1], pair[0], *rest]), name
        checked += value is not None
    assert checked > 4


def test_what_folds_has_a_meaning() -> None:
    found = [m for m in mnemonics() if facts(m).value("fold", ())]
    assert len(found) > 10
    assert set(found) <= set(integers.known())
    assert op("IMAD.WIDE.U32").foldable
    assert not op("IMAD.HI").foldable
    assert not op("IADD3.X").foldable


def _modifiers(mnemonic: str) -> set[str]:
    return {
        t
        for f in load("sm_90").raw.of_mnemonic(mnemonic)
        for p in f.mods
        for t in ([*p.values.values()] if p.bits else [p.text])
    }


@pytest.mark.parametrize(
    ("flag", "wanted"),
    [
        (words.F_EXTENDS, {"U8", "U16"}),
        (words.F_SIZED, {"64", "128"}),
        (words.F_ADJACENT, {"CAS"}),
        (words.F_COMPARES, {"LT", "GE", "AND"}),
    ],
)
def test_words_go_with_modifiers(flag: int, wanted: set[str]) -> None:
    """The forms of an operation with a word have the modifiers that the word is about."""
    found = [m for m in mnemonics() if load("sm_90").raw.of_mnemonic(m) and (op(m).flags | op(m + ".CAS").flags) & flag]
    assert len(found) > 2
    for m in found:
        assert wanted <= _modifiers(m), m


def test_optional_predicates_are_left_out() -> None:
    """Forms of these operations print different numbers of results."""
    found = [m for m in mnemonics() if op(m).flags & words.F_OPTIONAL_PREDICATES and not op(m).flags & F_PSEUDO]
    assert len(found) > 3
    for m in found:
        assert len({f.results for c in CLASSES for f in RawTable(c).of_mnemonic(m)}) > 1, m


def test_branches_have_labels_and_terminators_no_results() -> None:
    """A branch takes a label or a register; nothing that may end a block has a result."""
    t = load("sm_90").raw
    for m in mnemonics():
        o = op(m)
        if o.flags & F_TERM:
            assert all(f.results == 0 for f in t.of_mnemonic(m)), m
        if o.flags & F_BRANCH:
            assert not o.flags & F_PSEUDO


def test_the_page_explains_every_attribute_and_word() -> None:
    page = PAGE.read_text()
    section = page[page.index("## Operations") : page.index("## In the program")]
    written = set(re.findall(r"`([\w-]+)(?:\.\w+)?(?: [^`]*)?`", section))
    assert set(words._WORDS) <= written, set(words._WORDS) - written
    assert written >= operations._ATTRIBUTES, operations._ATTRIBUTES - written


def test_words_are_bits_of_their_own() -> None:
    bits = list(words._WORDS.values())
    assert len(set(bits)) == len(bits)
    assert all(b.bit_count() == 1 for b in bits)
    used = {w for m in mnemonics() for key in ("does", "not") for w in _words(m, key)}
    assert used == set(words._WORDS)


def _words(mnemonic: str, key: str) -> list[str]:
    f = facts(mnemonic)
    assert f is not None
    return [w for _, text in f._attributes.get(key, ()) for w in text.split()]

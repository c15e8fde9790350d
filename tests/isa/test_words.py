"""Every word of the committed samples prints, decodes and encodes exactly; the samples come from ``make_samples.py``."""

from pathlib import Path

import pytest

from orias.isa.isa_table import IsaTable, load
from orias.isa.operand import K_IMM, K_NONE, K_P, K_R, K_UP, K_UR, kind_of, payload
from orias.isa.rawtable import CLASSES
from orias.tools.assemble import assemble_instruction

HERE = Path(__file__).resolve().parent
TABLES = CLASSES
CONTROL = ((1 << 21) - 1) << 105
NAN_TEXT = "QNAN"
"""The disassembler does not print the payload of a NaN, so its text does not give the word back."""


def sample(table: str) -> list[tuple[int, str]]:
    rows = (HERE / f"words_{table}.txt").read_text(encoding="ascii").splitlines()
    out = [(int(row[:32], 16), row[33:]) for row in rows]
    assert len(out) > 900
    return out


def unprinted(t: IsaTable, w: int) -> int:
    """The descriptor field that sm_80 to sm_89 do not print."""
    form = t.form(w)
    assert form is not None
    return sum((1 << e.width) - 1 << e.lo for o in form.operands for e in o.elems if e.hidden)


@pytest.mark.parametrize("table", TABLES)
def test_text(table: str) -> None:
    t = load(table)
    wrong = [(hex(w), got, text) for w, text in sample(table) if (got := t.text(w)) != text]
    assert wrong == []


@pytest.mark.parametrize("table", TABLES)
def test_decoded_word_encodes_to_itself_without_extra_bits(table: str) -> None:
    """The operands cannot say that an address names URZ where it could leave the uniform register out."""
    t = load(table)
    wrong = []
    for w, text in sample(table):
        d = t.decode(w)
        unsaid = "+URZ]" in text
        if (d.extra and not unsaid) or t.encode_decoded(d) != w:
            wrong.append((hex(w), text, hex(d.extra)))
    assert wrong == []


@pytest.mark.parametrize("table", TABLES)
def test_words_with_other_operands(table: str) -> None:
    """Words of ptxas 13.0.88 for PTX operations on parameters, uniform values and immediates, one for each way in which the table differed.

    Some had no form or another text; in others hidden bits were set that ptxas leaves zero, or the operands encoded to another instruction.
    """
    t = load(table)
    rows = (HERE / "operand_words.txt").read_text(encoding="ascii").splitlines()
    found = [(int(word, 16), text) for name, word, text in (row.split(" ", 2) for row in rows) if name == table]
    assert found
    for w, text in found:
        assert (t.text(w), t.decode(w).extra) == (text, 0)


@pytest.mark.parametrize("table", TABLES)
def test_accepts_what_was_decoded(table: str) -> None:
    t = load(table)
    for w, text in sample(table):
        d = t.decode(w)
        assert t.accepts(d.op, d.guard, d.dst, d.src), text


@pytest.mark.parametrize("table", TABLES)
def test_addresses_stand_where_the_operation_says(table: str) -> None:
    t = load(table)
    seen = 0
    for w, text in sample(table):
        d = t.decode(w)
        if "[" not in text or text.count("c[") == text.count("["):
            continue
        for at in d.op.addr:
            desc, base, ubase, offset = (kind_of(o) for o in d.src[at : at + 4])
            assert (desc in (K_NONE, K_UR), base, ubase, offset) == (True, K_R, K_UR, K_IMM), text
            seen += 1
    assert seen > 100


@pytest.mark.parametrize("table", TABLES)
def test_results_are_registers_then_predicates(table: str) -> None:
    t = load(table)
    for w, text in sample(table):
        kinds = [kind_of(o) in (K_P, K_UP) for o in t.decode(w).dst]
        assert kinds == sorted(kinds), text


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("table", TABLES)
def test_assembler_reads_the_text_back(table: str) -> None:
    t = load(table)
    wrong = []
    for w, text in sample(table)[::7]:
        if NAN_TEXT not in text:
            again = assemble_instruction(text, t)
            if (again ^ w) & ~CONTROL & ((1 << 122) - 1) & ~unprinted(t, w):
                wrong.append((hex(w), text, hex(again)))
    assert wrong == []


SUMS = (
    "IADD3.X R4, P0, R5, 0x12345678, RZ, P1, !PT", "IADD3.X R4, P0, R5, UR6, RZ, P1, !PT", "IADD3.X R4, P0, R5, c[0x0][0x160], RZ, P1, !PT",
    "IADD3.X R4, P0, R5, R6, RZ, P1, !PT", "IADD3 R4, P0, R5, 0x12345678, RZ", "UIADD3.X UR4, UP0, UR5, 0x5, URZ, UP1, !UPT",
    "UIADD3.X UR4, UP0, UR5, UR6, URZ, UP1, !UPT",
)  # fmt: skip


@pytest.mark.parametrize("table", [t for t in TABLES if int(t[3:]) <= 90])
@pytest.mark.parametrize("text", SUMS)
def test_one_carry_of_two_is_the_first(table: str, text: str) -> None:
    """The text does not say which carry it names.  The second one is that of three addends: a word with it alone skips the first."""
    t = load(table)
    w = assemble_instruction(text, t)
    assert (w >> 81 & 7, w >> 84 & 7) == (0, 7)
    d = t.decode(w)
    second = t.decode(w ^ 7 << 81 ^ 7 << 84)
    assert t.text(second) == t.text(d) == text
    file = K_UP if text[0] == "U" else K_P
    assert [payload(o) for o in d.dst] == [4, 0] and [payload(o) for o in second.dst] == [4, 7, 0]
    assert [kind_of(o) for o in second.dst[1:]] == [file, file]
    assert not d.extra and not second.extra and t.accepts(second.op, second.guard, second.dst, second.src)


def test_a_carry_with_an_immediate_is_as_ptxas_has_it() -> None:
    """An H100 took the word with the other field for a sum without a carry."""
    w = assemble_instruction("IADD3.X R5, P0, R5, 0x12345678, RZ, P0, !PT", load("sm_90"))
    assert w & ~CONTROL == 0x71E4FF << 64 | 0x1234567805057810

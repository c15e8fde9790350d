"""The table's interface: what it encodes, accepts and refuses, on forms whose words are known from nvdisasm."""

import pytest

from orias.isa.isa_table import EncodeError, IllegalWord, load
from orias.isa.notation import TableError, Vocabulary, parse_bits
from orias.isa.op import op
from orias.isa.operand import (
    ABS,
    FIRST_VIRTUAL,
    INV,
    K_B,
    K_LABEL,
    K_R,
    NEG,
    NONE,
    NOT_PT,
    PAYLOAD_SHIFT,
    PT,
    RZ,
    S_H1_H1,
    URZ,
    Opnd,
    const,
    imm,
    imm64,
    label,
    p,
    r,
    sb,
    sym,
    up,
    ur,
    with_suffix,
    with_word_lane,
    word,
)
from orias.isa.rawtable import members

CTL = 1 | 7 << 5 | 7 << 8


def vr(n: int) -> Opnd:
    return K_R | FIRST_VIRTUAL + n << PAYLOAD_SHIFT


# name, results, sources, text of the word on sm_90
KNOWN: list[tuple[str, list[Opnd], list[Opnd], str]] = [
    ("IADD3", [r(4)], [r(5), r(6) | NEG, RZ], "IADD3 R4, R5, -R6, RZ"),
    ("IADD3", [r(4), p(1)], [r(5), imm(0x10), RZ], "IADD3 R4, P1, R5, 0x10, RZ"),
    ("IADD3.X", [r(4)], [r(5), imm(-3), RZ, p(0), NOT_PT], "IADD3.X R4, R5, -0x3, RZ, P0, !PT"),
    ("ISETP.GE.U32.AND", [p(0), PT], [r(9), r(4), PT], "ISETP.GE.U32.AND P0, PT, R9, R4, PT"),
    ("IMAD", [r(1)], [RZ, RZ, r(4)], "IMAD.MOV R1, RZ, RZ, R4"),
    ("IMAD.U32", [r(1)], [RZ, RZ, r(4)], "IMAD.MOV.U32 R1, RZ, RZ, R4"),
    ("IMAD", [r(1)], [r(2), imm(1), r(4)], "IMAD.IADD R1, R2, 0x1, R4"),
    ("IMAD", [r(1)], [r(2), imm(8), RZ], "IMAD.SHL R1, R2, 0x8, RZ"),
    ("IMAD.WIDE", [r(2)], [r(7), imm(4), r(2)], "IMAD.WIDE R2, R7, 0x4, R2"),
    ("LOP3.LUT", [r(1)], [r(4), imm(255), RZ, imm(0xC0), NOT_PT], "LOP3.LUT R1, R4, 0xff, RZ, 0xc0, !PT"),
    ("LOP3.LUT", [RZ, p(1)], [r(4), imm(255), RZ, imm(0xC0), NOT_PT], "LOP3.LUT P1, RZ, R4, 0xff, RZ, 0xc0, !PT"),
    ("PLOP3.LUT", [p(0), PT], [p(0), p(1), PT, imm(0xA8), imm(0)], "PLOP3.LUT P0, PT, P0, P1, PT, 0xa8, 0x0"),
    ("FFMA", [r(1)], [r(4), imm(0x3FC00000), r(5)], "FFMA R1, R4, 1.5, R5"),
    ("FADD", [r(1)], [r(4) | NEG | ABS, r(5)], "FADD R1, -|R4|, R5"),
    ("DADD", [r(2)], [r(4), imm64(0x3FF8 << 48)], "DADD R2, R4, 1.5"),
    ("HFMA2.MMA", [r(2)], [RZ | NEG, RZ, imm(0x3C004000)], "HFMA2.MMA R2, -RZ, RZ, 1, 2"),
    ("HADD2.F32", [r(2)], [RZ | NEG, with_suffix(r(3), S_H1_H1)], "HADD2.F32 R2, -RZ, R3.H1_H1"),
    ("LDG.E.64.CONSTANT", [r(4)], [ur(4), r(2), URZ, imm(16)], "LDG.E.64.CONSTANT R4, desc[UR4][R2.64+0x10]"),
    ("STG.E", [], [ur(4), r(2), URZ, imm(0), r(7)], "STG.E desc[UR4][R2.64], R7"),
    ("LDS", [r(2)], [NONE, RZ, ur(4), imm(16)], "LDS R2, [UR4+0x10]"),
    ("LDS", [r(2)], [NONE, r(3), URZ, imm(-16)], "LDS R2, [R3+-0x10]"),
    ("STS.64", [], [NONE, RZ, URZ, imm(8), r(2)], "STS.64 [0x8], R2"),
    ("LDC.64", [r(4)], [const(0, 0x210), RZ], "LDC.64 R4, c[0x0][0x210]"),
    ("LDC", [r(4)], [const(3, 0), r(8)], "LDC R4, c[0x3][R8]"),
    ("ULDC.64", [ur(4)], [const(0, 0x208), URZ], "ULDC.64 UR4, c[0x0][0x208]"),
    ("SHFL.IDX", [r(2), PT], [r(3), imm(1), imm(0x1F)], "SHFL.IDX PT, R2, R3, 0x1, 0x1f"),
    ("ATOMG.E.ADD.STRONG.GPU", [r(2), PT], [ur(4), r(4), URZ, imm(0), r(9)], "ATOMG.E.ADD.STRONG.GPU PT, R2, desc[UR4][R4.64], R9"),
    ("S2R", [r(4)], [word("SR_TID.X")], "S2R R4, SR_TID.X"),
    ("R2UR", [ur(4)], [r(4)], "R2UR UR4, R4"),
    ("USEL", [ur(4)], [ur(5), imm(3), up(1)], "USEL UR4, UR5, 0x3, UP1"),
    ("DEPBAR.LE", [], [sb(0), imm(1)], "DEPBAR.LE SB0, 0x1"),
    ("DEPBAR.LE", [], [sb(0), imm(1), imm(5)], "DEPBAR.LE SB0, 0x1, {2,0}"),
    ("BSSY", [K_B], [imm64(0x100)], "BSSY B0, 0x110"),
    ("BSYNC", [], [K_B], "BSYNC B0"),
    ("EXIT", [], [], "EXIT"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "dst", "src", "text"), KNOWN, ids=[k[3] for k in KNOWN])
def test_known_forms(name: str, dst: list[Opnd], src: list[Opnd], text: str) -> None:
    t = load("sm_90")
    w = t.encode(op(name), PT, dst, src, CTL)
    assert t.text(w) == text
    d = t.decode(w)
    assert (d.op.name, d.guard, d.dst, d.src, d.ctl, d.extra) == (name, PT, dst, src, CTL, 0)
    assert t.accepts(op(name), PT, dst, src)


def test_exact_words() -> None:
    t = load("sm_90")
    assert t.encode(op("S2R"), PT, [r(4)], [word("SR_TID.X")], 0x7E1) == 0x000FC200000021000000000000047919
    assert t.encode(op("EXIT"), PT, [], [], 0x7E1) == 0x000FC20003800000000000000000794D


def test_guards() -> None:
    t = load("sm_90")
    w = t.encode(op("BRA"), p(0) | INV, [], [imm64(-32)], CTL)
    assert t.text(w, 0x100) == "@!P0 BRA 0xf0"
    assert t.decode(w).guard == p(0) | INV
    assert t.text(t.encode(op("UMOV"), up(2), [ur(4)], [imm(1)], CTL)) == "@UP2 UMOV UR4, 0x1"
    with pytest.raises(EncodeError, match="guard"):
        t.encode(op("UMOV"), p(2), [ur(4)], [imm(1)], CTL)


@pytest.mark.parametrize("table", ["sm_80", "sm_86", "sm_89"])
def test_hidden_descriptor(table: str) -> None:
    t = load(table)
    for number in (4, 6):
        src = [ur(number), r(2), URZ, imm(0)]
        w = t.encode(op("LDG.E"), PT, [r(0)], src, CTL)
        assert t.text(w) == "LDG.E R0, [R2.64]"
        assert t.decode(w).src == src


def test_constant_operands_depend_on_the_target() -> None:
    src = [r(1), const(0, 0x160), RZ]
    assert load("sm_75").accepts(op("IADD3"), PT, [r(0)], src)
    assert (
        load("sm_75").text(load("sm_75").encode(op("IADD3"), PT, [r(0)], src, CTL)) == "IADD3 R0, R1, c[0x0][0x160], RZ"
    )


def test_virtual_registers_are_accepted_and_not_encoded() -> None:
    t = load("sm_90")
    src = [vr(1), with_word_lane(vr(2), 1), RZ]
    assert t.accepts(op("IADD3"), PT, [vr(0)], src)
    assert t.accepts(op("IADD3"), PT, [vr(0)], [vr(1), sym(0), RZ])
    assert t.accepts(op("BSSY"), PT, [K_B], [K_LABEL | 5 << PAYLOAD_SHIFT])
    with pytest.raises(EncodeError, match="not allocated"):
        t.encode(op("IADD3"), PT, [vr(0)], src, CTL)
    with pytest.raises(EncodeError):
        t.encode(op("BSSY"), PT, [K_B], [label(3)], CTL)


def test_immediates_are_range_checked() -> None:
    t = load("sm_90")
    lds = op("LDS")
    for value, ok in ((0x7FFFFF, True), (-0x800000, True), (0x800000, False), (-0x800001, False)):
        assert t.accepts(lds, PT, [r(0)], [NONE, r(1), URZ, imm(value)]) is ok
    shfl = op("SHFL.BFLY")
    assert t.accepts(shfl, PT, [r(0), PT], [r(1), imm(31), imm(0x1F)])
    assert not t.accepts(shfl, PT, [r(0), PT], [r(1), imm(32), imm(0x1F)])
    assert t.accepts(op("DADD"), PT, [r(2)], [r(4), imm64(0x3FF8 << 48)])
    assert not t.accepts(op("DADD"), PT, [r(2)], [r(4), imm64(0x3FF8000000000001)])
    assert t.accepts(op("LOP3.LUT"), PT, [r(1)], [r(4), imm(-1), RZ, imm(0xFF), NOT_PT])
    assert not t.accepts(op("LOP3.LUT"), PT, [r(1)], [r(4), imm(-1), RZ, imm(0x100), NOT_PT])
    assert not t.accepts(op("IADD3"), PT, [r(1)], [imm(3), r(4), RZ])
    assert not t.accepts(op("IADD3"), PT, [r(1)], [r(4) | ABS, r(4), RZ])
    assert not t.accepts(op("LDC"), PT, [r(1)], [const(0, 0x10000), RZ])


def test_errors_name_operation_operands_and_forms() -> None:
    t = load("sm_90")
    with pytest.raises(EncodeError, match=r"sm_90: no form for FADD R1 <- 0x3, R4; forms: .*\{R\}, \{R\}, \{R\}"):
        t.encode(op("FADD"), PT, [r(1)], [imm(3), r(4)], CTL)
    with pytest.raises(EncodeError, match="no such mnemonic"):
        t.encode(op("UTCBAR"), PT, [], [], CTL)
    with pytest.raises(EncodeError, match="0x1000000 does not fit"):
        t.encode(op("LDS"), PT, [r(0)], [NONE, r(1), URZ, imm(0x1000000)], CTL)
    with pytest.raises(EncodeError, match="barrier"):
        t.encode(op("STS"), PT, [], [NONE, r(1), URZ, imm(0), r(2)], 1 | 7 << 8)
    with pytest.raises(EncodeError, match="21 bits"):
        t.encode(op("EXIT"), PT, [], [], -1)


@pytest.mark.parametrize("sched", [0 | 1 << 17, 16, 28, 31])
def test_scheduling_codes_that_do_not_exist(sched: int) -> None:
    t = load("sm_90")
    ctl = sched | 7 << 5 | 7 << 8
    dst, src = [r(1)], [r(2), r(3), RZ]
    with pytest.raises(EncodeError, match="stall"):
        t.encode(op("IADD3"), PT, dst, src, ctl)
    word_ = t.encode(op("IADD3"), PT, dst, src, CTL) ^ (CTL ^ ctl) << 105
    with pytest.raises(IllegalWord, match="stall"):
        t.decode(word_)


@pytest.mark.parametrize(
    ("sched", "flags", "legal"),
    [(18, 3, True), (18, 4, False), (18, 7, False), (1, 4, True), (1, 5, True), (1, 6, False)],
)
def test_reuse_flags(sched: int, flags: int, legal: bool) -> None:
    """As nvdisasm 13.5 judges a form with two slots and one without; see ``Form.control_fault``."""
    t = load("sm_90")
    w = t.encode(op("ISETP.GE.AND"), PT, [p(0), PT], [r(2), r(3), PT], CTL) & ~(31 << 105)
    assert t.legal(w | sched << 105 | flags << 122) is legal
    no_slot = t.encode(op("NOP"), PT, [], [], CTL) & ~(31 << 105)
    assert not t.legal(no_slot | 1 << 105 | 3 << 122)
    assert t.legal(no_slot | 1 << 105 | 4 << 122)


def test_illegal_words() -> None:
    t = load("sm_90")
    with pytest.raises(IllegalWord, match=r"bits 0\.\.11 = 0x0"):
        t.decode(0)
    with pytest.raises(IllegalWord):
        t.text(0xFFF)


def test_extra_bits_survive() -> None:
    t = load("sm_90")
    w = t.encode(op("IADD3"), PT, [r(4)], [r(5), r(6), RZ], CTL) ^ 1 << 40
    d = t.decode(w)
    assert d.extra == 1 << 40
    assert t.encode_decoded(d) == w


def test_unknown_table() -> None:
    with pytest.raises(KeyError, match="sm_1"):
        load("sm_1")


def test_loaded_once() -> None:
    assert load("sm_75") is load("sm_75")


def test_bit_runs() -> None:
    assert parse_bits("74+2,80") == (74, 75, 80)


@pytest.mark.parametrize("table", ["sm_75", "sm_90", "sm_100", "sm_120"])
def test_signed_integers_of_conversions(table: str) -> None:
    t = load(table)
    assert t.text(t.encode(op("I2F"), PT, [r(2)], [imm(-5)], CTL)) == "I2F R2, -0x5"
    assert t.text(t.encode(op("I2F.U32"), PT, [r(2)], [imm(-5)], CTL)) == "I2F.U32 R2, 0xfffffffb"


def test_forms_that_were_missing() -> None:
    word_ = 0x000FE2000006201AFFFFFFFF0E117431
    assert load("sm_90").text(word_) == "HFMA2.SAT R17, R14, R26.H1_H1, -QNAN , -QNAN "
    sm_80 = load("sm_80")
    for name in ("TEX.SCR.B.LL", "TEX.B.LL", "TLD.SCR.B.LZ"):
        assert sm_80.accepts(op(name), PT, [r(4), r(6)], [r(8), r(10), word("2D")]), name
    assert load("sm_75").accepts(op("TLD.SCR.B.LZ"), PT, [r(4), r(6)], [r(8), r(10), word("2D")])


@pytest.mark.parametrize(
    ("table", "word_", "text"),
    [
        ("sm_90", 0x000F8A0007EFE1FF000000FF05087210, "IADD3 R8, P6, -R5, RZ, RZ"),
        ("sm_90", 0x000FE40007044852500000D3D9787248, "VIMNMX.U32 R120, P2, P0, R217, R211, !P6"),
        ("sm_90", 0x000FE4000010E5380000000043543980, "@P3 LD.E.LTC256B.U16.STRONG.GPU R84, [R67], !PT"),
        ("sm_90", 0x000FE4000ABC0000000400001E007943, "CALL.ABS P5, UR30 0x4000000"),
        ("sm_90", 0x000FE484140CA1A807FAC1775C9C723F, "DMMA.16x8x8.RP R156, -R92, R119, R168, !UPT"),
        ("sm_75", 0x000FE40003F051F0400000000000780C, "ISETP.NE.U32.AND.EX P0, PT, R0, 0x40000000, PT, !PT"),
        ("sm_75", 0x000E220008001A0000023C1DFF1E7984, "LDS.U.64 R30, [UR29+0x23c]"),
        ("sm_75", 0x00016400081F414400000809FFFF79A8, "ATOMG.E.ADD.STRONG.GPU PT, RZ, [UR4+0x8], R9"),
        ("sm_90", 0x000FE4000B9018480001010002FF7DAE, "LDGSTS.E.BYPASS [UR8+0x10], desc[UR9][R2.64+0x100]"),
        ("sm_120", 0x000FE2000F8FD2FFFFFFFFFE28287891, "ULEA.HI.SX32 UR40, UR40, 0xfffffffe, 0x1a"),
        ("sm_100", 0x000FE4000A0012040000090C060073B2, "SYNCS.CAS.64 UR0, [UR6+0x9], UR12, UR14"),
        ("sm_100", 0x000FE4000A001204000009FF060073B2, "SYNCS.CAS.64 UR0, [UR6+0x9], URZ, URZ"),
        ("sm_90", 0x0001E200081004060000001D19003987, "@P3 STL.U16 [R25+UR6], R29"),
        ("sm_90", 0x0001E200081008060000001DFF007987, "STL [UR6], R29"),
        ("sm_80", 0x000FE40008100C0B000000A4FF007987, "STL.128 [UR11], R164"),
        ("sm_89", 0x000FE40008100C0B000000A4FF007987, "STL.128 [UR11], R164"),
        (
            "sm_100",
            0x000FE40004009F0AD800004A2265727C,
            "QMUL4.E5M2x4.E2M3x4.E5M2x4.SATFINITE R101, -|R34|.N6420, -|R74|.B1",
        ),
        ("sm_75", 0x000FE4000880020B00000000FFB6798C, "ATOMS.MIN.S32 R182, [UR11], R0"),
        ("sm_80", 0x000FE400000400143800000906057373, "FOOTPRINT.SCR.B.TEX P2, R20, R5, R6, R9, 2D"),
        ("sm_103", 0x000FC8000C2032FF00000004FF067C3E, "F2FP.SATFINITE.E2M1.F16.UNPACK_B_MERGE_C R6, UR4, RZ"),
        ("sm_110", 0x000FC8000C2032FF00000004FF067C3E, "F2FP.SATFINITE.E2M1.F16.UNPACK_B_MERGE_C R6, UR4, RZ"),
    ],
)
def test_layouts_that_compilers_write_seldom(table: str, word_: int, text: str) -> None:
    """Texts of nvdisasm 13.5 for words that random words, random programs or single lines of ptxas output showed."""
    t = load(table)
    assert t.text(word_) == text
    assert t.encode_decoded(t.decode(word_)) == word_


def test_a_branch_to_a_uniform_register_and_an_offset() -> None:
    assert load("sm_90").text(0x000FE4000B83FFFFFFFFFFFC04347958, -16) == "BRXU UR4 -0x330"


@pytest.mark.parametrize(
    ("table", "word_", "text"),
    [
        ("sm_80", 0x0C4FE200038080053C00400000077435, "HFMA2.MMA.RELU R7, R0.reuse, R5.reuse, 1, 2"),
        ("sm_86", 0x0C4FE400038080053C00400000077431, "HFMA2.RELU R7, R0.reuse, R5.reuse, 1, 2"),
        ("sm_90", 0x0C0FE20003A080053F804000000D7431, "HFMA2.BF16_V2.RELU R13, R0.reuse, R5.reuse, 1, 2"),
        ("sm_89", 0x000FE200038080053C00400006047831, "HFMA2.RELU R4, R6, 1, 2, R5"),
    ],
)
def test_a_predicate_that_the_text_leaves_out_is_true(table: str, word_: int, text: str) -> None:
    """RELU of two immediates once was encoded with P0, and the halves were read as bfloat16."""
    t = load(table)
    assert t.text(word_) == text
    assert t.decode(word_).extra == 0


def test_control_fields_of_a_word() -> None:
    t = load("sm_90")
    w = t.encode(op("STS"), PT, [], [NONE, r(1), URZ, imm(0), r(2)], CTL)
    assert t.legal(w)
    assert not t.legal(w ^ 1 << 110)
    assert not t.legal(w | 31 << 105)
    with pytest.raises(IllegalWord):
        t.text(w ^ 1 << 110)


def test_registers_that_one_field_names() -> None:
    t = load("sm_100")
    w = 0x0001D8000C00000400FF0806050079EA
    d = t.decode(w)
    assert t.text(w) == "UTCHMMA tmem[UR5], gdesc[UR6], tmem[UR4], tmem[UR8], idesc[UR9], !UP0"
    assert (d.op.name, d.extra) == ("UTCHMMA.tgtti", 0)
    with pytest.raises(EncodeError, match="does not fit"):
        t.encode(d.op, d.guard, d.dst, [ur(12) if o == ur(9) else o for o in d.src], d.ctl)


def test_classes_of_a_line() -> None:
    assert members("75-86,120") == ["sm_75", "sm_80", "sm_86", "sm_120"]
    assert len(members("all")) == 9


def test_notation() -> None:
    words = Vocabulary(lambda: {"x": '"" A # 5=B C'}, 6)
    assert words.piece("<$x 72+3>").values == {0: "", 1: "A", 5: "B", 6: "C"}
    assert words.piece("</FTZ 80>").values == {0: "", 1: "FTZ"}
    o = words.operand("<-/ 72>desc[URb][Ra~.64+Off]")
    assert o.skeleton == "desc[{U}][{R}+{I}]"
    assert [(e.kind, e.lo, e.width, e.reuse) for e in o.elems] == [
        ("U", 32, 6, -1),
        ("R", 24, 8, 122),
        ("I", 40, 24, -1),
    ]
    with pytest.raises(TableError, match="no value table"):
        words.piece("<$y 72>")


def test_a_register_that_follows_another_is_that_register() -> None:
    d = load("sm_100").decode(0x000FE4000A0012040000090C060073B2)
    d.src[-1] = d.src[-2]
    with pytest.raises(EncodeError):
        load("sm_100").encode_decoded(d)


def test_ufsetp_reads_its_first_operand() -> None:
    """UFSETP.GE.AND UP0, UPT, |UR17|, ...: the register was taken for a result (life ranges of nvdisasm, sm_120)."""
    d = load("sm_120").decode(0x000FE2000BF0620047CE478011007853)
    assert (d.op.base, len(d.dst), len(d.src)) == ("UFSETP", 2, 3)


@pytest.mark.parametrize("sm", [80, 86, 89])
def test_generic_atomics_on_barrier_objects(sm: int) -> None:
    """ATOM at an address in a uniform register alone, as ptxas writes it for mbarrier in generic space."""
    names = ("ATOM.E.ARRIVE.64.STRONG.SM", "ATOM.E.POPC.INC.32.STRONG.SM")
    for bits, name in zip((0x001EA4000C9EA54400000000FF027F8A, 0x000FE8000D1EA14400000000FFFF7F8A), names, strict=True):
        d = load(f"sm_{sm}").decode(bits)
        assert d.op.name == name
        assert load(f"sm_{sm}").encode_decoded(d) == bits


def test_words_that_a_gpu_refuses() -> None:
    """The first two addends of IADD3 cannot both be negated: an illegal instruction on an H100, although nvdisasm prints it."""
    for table in ("sm_75", "sm_80", "sm_89", "sm_90", "sm_100", "sm_120"):
        t = load(table)
        for name, minus, more in (("IADD3", NEG, []), ("IADD3.X", INV, [NOT_PT, NOT_PT])):
            for negated in range(8):
                src = [r(4 + k) | (minus if negated >> k & 1 else 0) for k in range(3)]
                assert t.accepts(op(name), PT, [r(3)], [*src, *more]) == (negated & 3 != 3)
    word_ = 0x000FE20007FFE1FF8000000E0B167210
    assert load("sm_90").text(word_) == "IADD3 R22, -R11, -R14, RZ"
    with pytest.raises(IllegalWord, match="IADD3 has no such operation on a GPU"):
        load("sm_90").decode(word_)


@pytest.mark.parametrize(
    ("table", "word_"),
    [
        ("sm_80", 0x000FE200000000FF00005C00FF007A3E),
        ("sm_89", 0x000FE200000000FF00005C00FF007A3E),
        ("sm_90", 0x000FE200080000FF00000004FF007C3E),
        ("sm_100", 0x002FCA00080000FF00000006FF007C3E),
        ("sm_120", 0x001FCA00080000FF00000006FF007C3E),
    ],
)
def test_the_unused_register_of_a_conversion_to_f16(table: str, word_: int) -> None:
    """Words of ptxas 13.0.88: the field of the third source holds RZ.  R0 there is an illegal instruction on an H100."""
    assert load(table).decode(word_).extra == 0

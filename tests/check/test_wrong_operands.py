"""The rules on wrong operands: uniform registers that nothing writes, registers of matrix operations in flight."""

import random
from pathlib import Path

import pytest

import orias
from orias.analysis.access import UP_BASE, UR_BASE, unit_name
from orias.check import check_cubin
from orias.check.code import connect
from orias.check.cubin import SectionCode
from orias.check.unwritten import EVERYTHING, unwritten
from orias.cubin import elf
from orias.cubin.reader import Reader
from orias.isa.isa_table import load
from orias.target.profile import profile_of_sm
from orias.timing.needs import Facts
from tests.check.test_rules import cubin
from tests.corpus.test_corpus import FILES, NO_CORPUS
from tests.oracle import compile_or_none

PROGRAMS = sorted((Path(__file__).parents[1] / "kernels" / "ptx").glob("*.ptx"))
ARRIVE = "WARPGROUP.ARRIVE | B------ R- W- - S02"
PRODUCT = "HGMMA.64x8x16.F32 R24, R28, gdesc[UR4], R24, gsb0 | B------ R- W- Y S04"
WAIT = "WARPGROUP.DEPBAR.LE gsb0, 0x0 | B------ R- W- Y S05"
WRITE_B = ("UMOV UR6, 0x1 | B------ R- W- - S06", "UMOV UR7, 0x2 | B------ R- W- - S08")
ARCHES = ("sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a")


def found(*rows: str, arch: str = "sm_90") -> list[tuple[str, int, str]]:
    """Findings of the two rules."""
    rules = ("unwritten", "source")
    return [
        (h.rule, h.address, h.register) for h in check_cubin(cubin(*rows, arch=arch), operands=True) if h.rule in rules
    ]


def code_of(data: bytes) -> list[tuple[SectionCode, bool]]:
    """The code sections of a cubin, and which of them are kernels."""
    reader = Reader(data)
    profile = profile_of_sm(reader.sm)
    table, facts = load(profile.table), Facts(profile.latency_class)
    return [
        (SectionCode(reader.elf, s, table, facts), s.name.removeprefix(".text.") in reader.kernels)
        for s in reader.elf.sections
        if s.type == elf.SHT_PROGBITS and s.flags & elf.SHF_EXECINSTR and s.data
    ]


def test_a_uniform_register_that_nothing_writes() -> None:
    assert found("UIADD3 UR4, UR5, 0x1, URZ") == [("unwritten", 0, "UR5")]
    assert not found("UMOV UR5, 0x7 | B------ R- W- Y S08", "UIADD3 UR4, UR5, 0x1, URZ")


def test_the_prologue_of_sm_87() -> None:
    """UR2 has a value at the entry of its kernels, and of no others."""
    rows = "ISETP.NE.U32.AND P0, PT, RZ, UR2, PT | B------ R- W- Y S13", "@P0 EXIT | B------ R- W- - S05"
    assert not found(*rows, arch="sm_87")
    assert found(*rows, arch="sm_86") == [("unwritten", 0, "UR2")]
    assert found("UIADD3 UR4, UR5, 0x1, URZ", arch="sm_87") == [("unwritten", 0, "UR5")]


def test_a_uniform_sum_of_sm_120() -> None:
    """Its distances are those of the uniform pipe (91 cubins of ptxas for sm_120 and 121 have no finding)."""
    first, second = (
        "UVIADD.S32.ISAT UR4, URZ, 0x5 | B------ R- W- Y S{:02}",
        "IADD3 R5, PT, PT, R5, UR4, RZ | B------ R- W- Y S05",
    )
    assert not check_cubin(cubin(first.format(6), second, arch="sm_120"))
    assert [h.rule for h in check_cubin(cubin(first.format(2), second, arch="sm_120"))] == ["raw"]


def test_a_uniform_predicate_that_nothing_writes() -> None:
    rows = "UIADD3.X UR5, URZ, URZ, URZ, UP0, !UPT", "EXIT | B------ R- W- - S05"
    assert found(*rows) == [("unwritten", 0, "UP0")]
    assert not found("UISETP.NE.AND UP0, UPT, URZ, 0x1, UPT | B------ R- W- Y S15", *rows)


def test_a_write_on_one_path_is_enough() -> None:
    """Whether the other path reads it is for the program to know."""
    one = "ISETP.EQ.AND P0, PT, R4, R5, PT | B------ R- W- Y S13", "@P0 BRA `(.L_x) | B------ R- W- - S05"
    use = ".L_x:", "UIADD3 UR4, UR5, 0x1, URZ"
    assert not found(*one, "UMOV UR5, 0x7 | B------ R- W- Y S08", *use)
    assert found(*one, "UMOV UR6, 0x7 | B------ R- W- Y S08", *use) == [("unwritten", 0x30, "UR5")]


def test_the_descriptor_of_a_matrix_in_registers_is_not_read() -> None:
    """Of the four uniform registers of a descriptor the first two count only if A is in shared memory."""
    assert not found(ARRIVE, *WRITE_B, PRODUCT, WAIT)
    assert found(ARRIVE, PRODUCT, WAIT) == [("unwritten", 0x10, "UR6")]
    both = "HGMMA.64x8x16.F32 R24, gdesc[UR4], R24, gsb0 | B------ R- W- Y S04"
    assert found(ARRIVE, *WRITE_B, both, WAIT) == [("unwritten", 0x30, "UR4")]


@pytest.mark.parametrize(
    ("row", "register"),
    [
        ("MOV R28, R2", "R28"),
        ("MOV R31, R2", "R31"),
        ("MOV R25, R2", "R25"),
        ("MOV R3, R26", "R26"),
        ("LDG.E R29, desc[UR6][R2.64] | B------ R- W0 - S02", "R29"),
    ],
)
def test_registers_of_a_product_in_flight(row: str, register: str) -> None:
    assert found(*WRITE_B, ARRIVE, PRODUCT, row, WAIT) == [("source", 0x40, register)]
    assert not found(*WRITE_B, ARRIVE, PRODUCT, WAIT, row)
    assert not found(*WRITE_B, ARRIVE, PRODUCT, "MOV R32, R2", WAIT)


def test_a_wait_that_leaves_a_group_in_flight() -> None:
    rows = (*WRITE_B, ARRIVE, PRODUCT, PRODUCT.replace("R24", "R40").replace("R28", "R44"))
    late = "WARPGROUP.DEPBAR.LE gsb0, 0x1 | B------ R- W- Y S05"
    assert not found(*rows, late, "MOV R28, R2")
    assert found(*rows, late, "MOV R44, R2") == [("source", 0x60, "R44")]


def test_the_next_product_may_use_the_accumulator() -> None:
    assert not found(*WRITE_B, ARRIVE, PRODUCT, PRODUCT, WAIT)
    other = PRODUCT.replace("R24", "R28").replace("R28, R28", "R28, R40")
    assert found(*WRITE_B, ARRIVE, PRODUCT, other, WAIT)[0] == ("source", 0x40, "R28")


def planted(data: bytes) -> tuple[int, list[str]]:
    """How many sole writes of uniform registers were taken out, and what of it was not found."""
    count, missed = 0, []
    for code, kernel in code_of(data):
        if not kernel:
            continue
        connect(code.nodes, code.away, code.tables)
        assert not unwritten(code.nodes, 0)
        writers: dict[int, list[int]] = {}
        readers: dict[int, list[int]] = {}
        for n in code.nodes:
            for u in {u for u, _ in n.touch.writes}:
                writers.setdefault(u, []).append(n.index)
            for u in {u for u, _ in n.touch.reads}:
                readers.setdefault(u, []).append(n.index)
        if any(n.flow in (2, 3) for n in code.nodes):
            continue
        for u, where in writers.items():
            uniform = UR_BASE <= u < UR_BASE + 63 or UP_BASE <= u < UP_BASE + 7
            if not uniform or len(where) != 1 or u not in readers:
                continue
            count += 1
            kept = code.nodes[where[0]].touch
            mask = kept.write_set
            kept.write_set &= ~(1 << u)
            if not any(f.unit == u for f in unwritten(code.nodes, 0)):
                missed.append(f"{code.name} {unit_name(u)}")
            kept.write_set = mask
    return count, missed


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100", "sm_120"])
def test_planted_in_our_code(arch: str) -> None:
    total = 0
    for path in PROGRAMS[:: len(PROGRAMS) // 6]:
        count, missed = planted(orias.compile(path.read_text(), arch=arch).data)
        total += count
        assert not missed, path.name
    assert total > 5


@pytest.mark.sweep
@pytest.mark.skipif(not FILES, reason=NO_CORPUS)
@pytest.mark.parametrize("arch", ARCHES)
def test_no_false_alarm(arch: str, tmp_path: Path) -> None:
    """ptxas's code for a sample of the corpus has no finding of these rules."""
    files = random.Random(19).sample(FILES, min(len(FILES), 40))
    checked = 0
    for path in files:
        data = compile_or_none(path, arch, ["-O3"], tmp_path)
        if data is None:
            continue
        for code, kernel in code_of(data):
            assert not code.wrong_operands(0 if kernel else EVERYTHING), f"{path.name}: {code.name}"
            checked += 1
    assert checked

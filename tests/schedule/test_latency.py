"""Distances as docs/facts/timing.md gives them, and the rules around them."""

import pytest

from orias.analysis.access import P_BASE, SLOT_GUARD, UP_BASE, UR_BASE
from orias.diag import Unsupported
from orias.isa.op import op
from orias.timing.latency import Latency, latency


def raw(lat: Latency, producer: str, consumer: str, unit: int = 4, slot: int = 0, word: int = 0) -> int:
    return lat.raw(op(producer), word, op(consumer), unit, slot)


@pytest.mark.parametrize(
    ("sm", "producer", "consumer", "cycles"),
    [
        (75, "IADD3", "LOP3.LUT", 4), (75, "IADD3", "FFMA", 5), (75, "FFMA", "FADD", 4), (75, "FFMA", "MUFU.RCP", 6), (75, "MOV", "STG.E", 8),
        (75, "HFMA2", "FADD", 8), (80, "IADD3", "STG.E", 5), (80, "HFMA2", "HADD2", 4), (80, "HFMA2.MMA", "FADD", 10),
        (80, "IADD3", "DADD", 6), (80, "SHF.L.U32", "WARPSYNC", 9), (90, "DADD", "DFMA", 8), (90, "DFMA", "FADD", 10), (80, "HMMA.16816.F32", "FADD", 24),
        (80, "HMMA.1688.F32", "FADD", 16), (80, "IMMA.8816.S8.S8", "IADD3", 13), (80, "HMMA.16816.F32", "MUFU.EX2", 22), (89, "FADD", "F2FP.BF16.PACK_AB", 5),
    ],
)  # fmt: skip
def test_registers(sm: int, producer: str, consumer: str, cycles: int) -> None:
    assert raw(latency(sm), producer, consumer) == cycles


def test_words_of_a_wide_product() -> None:
    lat = latency(90)
    assert raw(lat, "IMAD.WIDE", "IADD3", word=0) == 3
    assert raw(lat, "IMAD.WIDE", "IADD3", word=1) == 5
    assert raw(latency(80), "IMAD.WIDE", "IADD3", word=0) == 5
    assert lat.raw(op("IADD3"), 0, op("IMAD.WIDE"), 5, 2) == 3
    assert lat.raw(op("IADD3"), 0, op("IMAD.WIDE"), 4, 2) == 5


def test_predicates() -> None:
    assert raw(latency(80), "ISETP.GE.AND", "SEL", P_BASE) == 4
    assert raw(latency(80), "IADD3", "IMAD.X", P_BASE) == 5
    assert raw(latency(80), "ISETP.GE.AND", "MOV", P_BASE, SLOT_GUARD) == 13
    assert raw(latency(75), "ISETP.GE.AND", "BRA", P_BASE, SLOT_GUARD) == 12
    assert raw(latency(90), "DSETP.GE.AND", "BRA", P_BASE, SLOT_GUARD) == 14


def test_uniform_registers() -> None:
    lat = latency(90)
    assert raw(lat, "UIADD3", "UIADD3", UR_BASE + 4) == 4
    assert raw(lat, "UIADD3", "IADD3", UR_BASE + 4) == 6
    assert raw(lat, "ULEA", "LDS", UR_BASE + 4) == 9
    assert raw(lat, "ULOP3.LUT", "ULDC", UR_BASE + 4) == 12
    assert raw(lat, "ULDC.64", "LDG.E", UR_BASE + 4) == 6
    assert raw(latency(86), "ULDC.64", "LDG.E", UR_BASE + 4) == 2
    assert raw(lat, "R2UR", "ULOP3.LUT", UR_BASE + 4) == 13
    assert raw(lat, "UISETP.GE.AND", "USEL", UP_BASE) == 4


def test_unmeasured_pairs_are_marked() -> None:
    lat = latency(80)
    assert not lat.is_guess(op("IADD3"), op("LOP3.LUT"), 4, 0)
    assert lat.is_guess(op("HADD2"), op("DADD"), 4, 0)


def test_writes() -> None:
    lat = latency(80)
    assert lat.waw(op("IMAD"), op("MOV"), 4) == 1
    assert lat.waw(op("HMMA.16816.F32"), op("MOV"), 4) == 20
    assert lat.waw(op("HFMA2.MMA"), op("LDG.E"), 4) == 10
    assert lat.war(op("IADD3"), op("MOV")) == 1
    assert lat.war(op("HMMA.16816.F32"), op("MOV")) == 7
    assert lat.war(op("HMMA.16816.F32"), op("LDG.E")) == 1
    assert [lat.war(op("UIADD3"), op(x)) for x in ("UMOV", "ULDC", "UIMAD", "S2UR")] == [3, 3, 1, 1]
    assert [lat.war(op(x), op("UMOV")) for x in ("IADD3", "UMOV", "ULDC")] == [1, 1, 1]


def test_pipes_and_stalls() -> None:
    assert latency(80).interval(op("FADD")) == 2
    assert latency(86).interval(op("FADD")) == 1
    assert latency(86).interval(op("IMAD")) == 2
    assert latency(90).interval(op("MUFU.RCP")) == 8
    assert latency(90).min_stall(op("BRA")) == 5
    assert latency(90).min_stall(op("IADD3")) == 1


def test_unknown_operations_are_refused() -> None:
    with pytest.raises(Unsupported, match="AL2P"):
        raw(latency(80), "AL2P", "MOV")
    with pytest.raises(KeyError, match="sm_130"):
        Latency(130)

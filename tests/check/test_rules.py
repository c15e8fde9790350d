"""Each rule of the hazard checker: a piece of code that breaks it, and the same code that keeps it."""

import json
import struct
from pathlib import Path

import pytest

import orias
from orias.check import Hazard, check_cubin
from orias.cli.check_command import check_command
from orias.cubin.cubin_error import CubinError
from orias.cubin.elf import SHF_EXECINSTR, SHT_PROGBITS, ElfFile
from orias.tools.patch import new_cubin

NONE = "B------ R- W- - S01"


def cubin(*rows: str, arch: str = "sm_80") -> bytes:
    """A kernel of instructions; a control word may stand after ``|`` (default: no wait, no barrier, stall 1)."""
    text = [f'\t.target\t{arch}\n\t.section\t.text.k,"ax",@progbits\n.text.k:']
    for row in (*rows, "EXIT | B------ R- W- - S05", "BRA `(.L_end)"):
        if row.startswith("."):
            text.append(row)
            continue
        inst, _, ctl = row.partition("|")
        if row.startswith("BRA `(.L_end)"):
            text.append(".L_end:")
        text.append(f"{inst.strip()} ; /* {ctl.strip() or NONE} */")
    return new_cubin("\n".join(text) + "\n", arch, 32, [8])


def found(*rows: str, arch: str = "sm_80") -> list[tuple[str, int, int, str, int, int]]:
    return [
        (h.rule, h.address, h.other_address, h.register, h.have, h.need) for h in check_cubin(cubin(*rows, arch=arch))
    ]


def test_a_load_with_a_mask_writes_what_the_mask_names() -> None:
    """256 bits, words 0 and 5 of them: one register for each half; the registers after them are free."""
    load = "LDG.E.ENL2.256 R12, R8, desc[UR4][R2.64], 0x21 | B------ R- W0 - S02"
    assert not found(load, "IADD3 R9, PT, PT, R13, 0x1, RZ", arch="sm_100")
    assert [x[0] for x in found(load, "IADD3 R20, PT, PT, R12, 0x1, RZ", arch="sm_100")] == ["raw"]
    assert [x[0] for x in found(load, "IADD3 R20, PT, PT, R8, 0x1, RZ", arch="sm_100")] == ["raw"]


def test_an_operation_of_a_warpgroup_starts_some_cycles_after_the_arrival() -> None:
    """Whether it has an addend or not; each following one needs no arrival of its own."""
    product = "HGMMA.64x8x16.F32 R24, gdesc[UR4], RZ, !UPT | B------ R- W- - S04"
    more = "HGMMA.64x8x16.F32 R24, gdesc[UR4], R24, gsb0 | B------ R- W- - S04"
    end = "WARPGROUP.DEPBAR.LE gsb0, 0x0 | B------ R- W- - S02"
    assert not found("WARPGROUP.ARRIVE | B------ R- W- - S06", product, more, end, arch="sm_90a")
    early = found("WARPGROUP.ARRIVE | B------ R- W- - S05", product, more, end, arch="sm_90a")
    assert [(x[0], x[1], x[2], x[4], x[5]) for x in early] == [("raw", 0x10, 0, 5, 6)]


def test_the_uniform_address_of_an_invalidation_is_read_at_once() -> None:
    """As ptxas has it, on every target; the uniform address of the wait is read late but for sm_100 to 110, its register everywhere."""
    wait = "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR7], R4 | B------ R- W0 - S02"
    for arch in ("sm_90", "sm_100a", "sm_103a", "sm_110a", "sm_120"):
        assert not found("SYNCS.CCTL.IV [UR7] | B------ R- W0 - S02", "UMOV UR7, 0x5", arch=arch)
        assert [x[0] for x in found(wait, "UMOV UR7, 0x5", arch=arch)] == ["war"] * (arch in ("sm_90", "sm_120"))
        assert [x[0] for x in found(wait, "MOV R4, R5", arch=arch)] == ["war"]


def test_the_addresses_of_a_request_for_another_cluster_are_read_at_once() -> None:
    """As ptxas has it: a loop of such requests changes both without a wait."""
    for arch in ("sm_100a", "sm_103a", "sm_110a", "sm_120a", "sm_121a"):
        next_ = "UGETNEXTWORKID.BROADCAST [UR4], [UR5] | B------ R- W- - S06"
        assert not found(next_, "UIADD3 UR4, UPT, UPT, UR4, 0x10, URZ", arch=arch)


def test_a_uniform_move_reads_a_uniform_result_after_seven_cycles() -> None:
    """On sm_75 as well, where the corpus has eight at least: ptxas leaves seven in two kernels of others."""
    for arch in ("sm_75", "sm_80", "sm_90"):
        make = "UIADD3 UR10, URZ, -UR8, URZ | B------ R- W- - S0{n}"
        assert not found(make.format(n=7), "UMOV UR5, UR10", arch=arch)
        assert found(make.format(n=6), "UMOV UR5, UR10", arch=arch)


def test_a_later_operation_of_a_queue_has_read_after_the_earlier_ones() -> None:
    """As ptxas has it: a wait for the second covers the sources of the first, one for another queue does not."""
    product = "UTCHMMA gdesc[UR6], gdesc[UR20], tmem[UR16], tmem[UR22], idesc[UR23], !UPT | B------ R{} W- - S02"
    move, waiting = "UMOV UR21, 0x5", "UMOV UR21, 0x5 | B-1---- R- W- - S01"
    bar = "UTCBAR [UR30], URZ | B------ R1 W- - S02"
    store, load = "STTM.x4 tmem[UR5], R4 | B------ R- W- - S02", "LDTM.x4 R20, tmem[UR4] | B------ R- W1 - S02"
    for arch in ("sm_100a", "sm_103a"):
        first = product.format("-")
        assert [x[0] for x in found(first, bar, move, arch=arch)] == ["war"]
        assert not found(first, bar, waiting, arch=arch)
        assert not found(store, load, "MOV R4, 0x5 | B-1---- R- W- - S01", arch=arch)
        assert [x[0] for x in found(store, load, "MOV R4, 0x5", arch=arch)] == ["war"]
        fence, again = "FENCE.VIEW.ASYNC.T | B------ R- W1 - S02", "LDTM.x4 R4, tmem[UR4] | B{} R- W2 - S02"
        assert not found(store, fence, again.format("-1----"), arch=arch)
        assert [x[0] for x in found(store, fence, again.format("------"), arch=arch)] == ["war"]
        assert [x[0] for x in found(first, load, waiting, arch=arch)] == ["war"]


def test_a_single_register_as_both_values_of_a_pair() -> None:
    add = "IADD3 R7, PT, PT, R4, R5, RZ | B------ R- W- - S01"
    assert not found(add, "FADD2 R10, R6.F32, R8.F32x2.HI_LO", arch="sm_100")
    uniform = "UIADD3 UR7, UPT, UPT, UR4, UR5, URZ | B------ R- W- - S01"
    assert not found(uniform, "FFMA2 R10, R6.F32, UR6.F32, R8.F32", arch="sm_100")
    assert found(add, "FADD2 R10, R6.F32x2.HI_LO, R8.F32x2.HI_LO", arch="sm_100")[0][:4] == ("raw", 0x10, 0, "R7")


@pytest.mark.parametrize("stall,need", [(4, 0), (3, 4)])
def test_fixed_latency(stall: int, need: int) -> None:
    got = found(f"IADD3 R2, R4, R5, RZ | B------ R- W- Y S0{stall}", "IADD3 R3, R2, R5, RZ")
    assert got == ([("raw", 0x10, 0, "R2", 3, 4)] if need else [])


def test_stalls_add_up_over_unrelated_instructions() -> None:
    assert not found(
        "IADD3 R2, R4, R5, RZ | B------ R- W- - S02", "MOV R8, RZ | B------ R- W- Y S02", "IADD3 R3, R2, R5, RZ"
    )


def test_predicate_guards_need_more_than_operands() -> None:
    assert not found("ISETP.EQ.AND P0, PT, R4, R5, PT | B------ R- W- Y S04", "SEL R3, R2, R5, P0")
    got = found("ISETP.EQ.AND P0, PT, R4, R5, PT | B------ R- W- Y S12", "@P0 MOV R3, R2")
    assert got == [("raw", 0x10, 0, "P0", 12, 13)]


def test_carry() -> None:
    got = found("IADD3 R2, P0, R4, R5, RZ | B------ R- W- Y S03", "IADD3.X R3, R4, R5, RZ, P0, !PT")
    assert got == [("raw", 0x10, 0, "P0", 3, 4)]


def test_uniform_register() -> None:
    assert found("UIADD3 UR4, UR5, UR6, URZ | B------ R- W- Y S05", "IADD3 R3, R4, UR4, RZ") == [
        ("raw", 0x10, 0, "UR4", 5, 6)
    ]


def test_second_word_of_a_pair() -> None:
    got = found("IMAD.WIDE R2, R4, R5, RZ | B------ R- W- Y S04", "IADD3 R8, R3, R5, RZ")
    assert [(h[0], h[3]) for h in got] == [("raw", "R3")]


def test_load_without_a_wait() -> None:
    assert found("LDG.E R2, [R4.64] | B------ R- W2 - S02", "IADD3 R3, R2, R5, RZ") == [("raw", 0x10, 0, "R2", -1, -1)]
    assert not found("LDG.E R2, [R4.64] | B------ R- W2 - S02", "IADD3 R3, R2, R5, RZ | B--2--- R- W- - S01")


def test_the_predicate_of_an_atom_comes_with_its_read_barrier() -> None:
    """ptxas leaves this to BRA in libatomic for sm_120 (64-bit compare and swap at a generic address)."""
    atom = "ATOM.E.CAS.64.STRONG.GPU P0, R4, [R24], R12, R14 | B------ R0 W5 - S02"
    branch, reader = "@P0 BRA `(.L_end) | B0----- R- W- - S05", "IADD3 R3, R4, R5, RZ"
    assert not found(atom, branch)
    assert found(atom, f"{reader} | B0----- R- W- - S01") == [("raw", 0x10, 0, "R4", -1, -1)]
    assert found(atom, "@P0 BRA `(.L_end)")[0][:4] == ("raw", 0x10, 0, "P0")
    assert not found(atom, branch, f"{reader} | B-----5 R- W- - S01")


@pytest.mark.parametrize(
    ("first", "second", "reader"),
    [
        ("REDUX.XOR UR16, R0", "REDUX.OR UR15, R10", "MOV R21, UR16"),
        ("B2R.RESULT R0", "B2R.RESULT RZ, P0", "IADD3 R7, R0, R8, RZ"),
        ("LDSM.16.M88.2 R12, [R12]", "MOVM.16.MT88 R23, R3", "IADD3 R7, R12, R8, RZ"),
        ("QSPC.E.G P3, RZ, [R8]", "QSPC.E.L P4, RZ, [R4]", "SEL R7, RZ, 0x1, !P3"),
    ],
)
def test_units_that_finish_in_order(first: str, second: str, reader: str) -> None:
    """Only the last of several operations of such a unit has a scoreboard in ptxas's code."""
    rows = f"{first} | B------ R- W- - S04", f"{second} | B------ R- W3 - S02", f"{reader} | B---3-- R- W- - S01"
    assert not found(*rows, arch="sm_90")
    assert found(rows[0], rows[2], arch="sm_90")[0][0] == "raw"


def test_results_of_fixed_latency_set_no_scoreboard() -> None:
    """I2I has one, unlike the other conversions: an H200 reads the old register after a wait for its scoreboard."""
    reader = "LOP3.LUT R7, R7, 0xff, RZ, 0xc0, !PT"
    assert not found("I2I.U8.S32.SAT R7, R7 | B------ R- W- Y S04", reader)
    assert found("I2I.U8.S32.SAT R7, R7 | B------ R- W- Y S03", reader)[0][0] == "raw"
    assert ("control", 0x0, -1, "", -1, -1) in found(
        "I2I.U8.S32.SAT R7, R7 | B------ R- W2 - S02", f"{reader} | B--2--- R- W- - S01"
    )


def test_an_operation_without_a_result_may_set_a_scoreboard() -> None:
    """ptxas -O0 has LDGSTS set two."""
    assert not found("LDGSTS.E.BYPASS.128 [R6], [R4.64] | B------ R1 W0 Y S15", arch="sm_80")


def test_an_arrival_reads_uniform_registers_at_issue() -> None:
    """Unlike an exchange, as ptxas leaves it on sm_90 and sm_120."""
    arrive = "SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR8], RZ | B------ R1 W- - S02"
    assert not found(arrive, "USEL UR8, URZ, 0x1, UP0", arch="sm_90")
    exchange = "SYNCS.EXCH.64 URZ, [UR8], UR4 | B------ R1 W2 - S02"
    assert [h[0] for h in found(exchange, "USEL UR8, URZ, 0x1, UP0", arch="sm_90")] == ["war"]


def test_setmaxnreg_without_a_stall_waits() -> None:
    assert not found(
        "USETMAXREG.DEALLOC.CTAPOOL 0x28 | B------ R- W0 Y S00",
        "LDC R3, c[0x0][0x348] | B0----- R- W0 - S02",
        arch="sm_90",
    )


def test_wait_for_another_scoreboard() -> None:
    got = found("LDG.E R2, [R4.64] | B------ R- W2 - S02", "IADD3 R3, R2, R5, RZ | B---3-- R- W- - S01")
    assert [h[0] for h in got] == ["raw"]


def test_overwriting_a_late_result() -> None:
    assert [h[0] for h in found("LDG.E R2, [R4.64] | B------ R- W2 - S02", "MOV R2, RZ")] == ["waw"]


def test_overwriting_a_source_that_is_read_late() -> None:
    store = "STG.E [R4.64], R2 | B------ R0 W- - S02"
    assert [(h[0], h[3]) for h in found(store, "MOV R2, RZ")] == [("war", "R2")]
    assert [(h[0], h[3]) for h in found(store, "MOV R5, RZ")] == [("war", "R5")]
    assert not found(store, "MOV R2, RZ | B0----- R- W- - S01")


def test_the_last_of_an_in_order_unit_answers_for_all() -> None:
    code = ["LDS R2, [R4]", "LDS R3, [R4+0x4] | B------ R- W0 - S02"]
    assert not found(*code, "IADD3 R6, R2, R3, RZ | B0----- R- W- - S01")
    loads = ["LDG.E R2, [R4.64]", "LDG.E R3, [R4.64+0x4] | B------ R- W0 - S02"]
    assert [h[3] for h in found(*loads, "IADD3 R6, R2, R3, RZ | B0----- R- W- - S01")] == ["R2"]


def test_surface_loads_read_their_sources_in_order() -> None:
    """A later one answers for the sources of the earlier; the fourth register of three coordinates is not read (ptxas's code)."""
    first = "SULD.D.BA.2D_ARRAY.STRONG.CTA.TRAP R20, [R20], 0x0, 0x5e | B------ R- W5 - S01"
    later = "SULD.D.BA.2D_ARRAY.STRONG.CTA.TRAP R18, [R12], 0x0, 0x5e | B------ R0 W5 - S02"
    assert not found(first, later, "MOV R22, RZ | B0----- R- W- - S01", arch="sm_75")
    assert [h[3] for h in found(first, later, "MOV R22, RZ", arch="sm_75")] == ["R22"]
    assert not found(first, later, "MOV R15, RZ", arch="sm_75")
    assert [h[3] for h in found(first, later, "MOV R14, RZ", arch="sm_75")] == ["R14"]


def test_a_wait_comes_at_least_two_cycles_after_the_setter() -> None:
    got = found("LDG.E R2, [R4.64] | B------ R- W2 - S01", "IADD3 R3, R2, R5, RZ | B--2--- R- W- - S01")
    assert [h[0] for h in got] == ["wait"]


def test_counted_wait() -> None:
    tex = [f"LDG.E R{r}, [R10.64] | B------ R- W5 - S02" for r in (2, 3)]
    behind = "IADD3 R6, R2, RZ, RZ"
    assert not found(*tex, "DEPBAR.LE SB5, 0x1 | B------ R- W- - S04", behind)
    got = found(*tex, "DEPBAR.LE SB5, 0x1 | B------ R- W- - S04", "IADD3 R6, R3, RZ, RZ")
    assert [(h[0], h[3]) for h in got] == [("raw", "R3")]


def test_opposite_guards_do_not_meet() -> None:
    load = "@P0 LDG.E R2, [R4.64] | B------ R- W2 - S02"
    assert not found(load, "@!P0 MOV R2, RZ")
    got = found(load, "ISETP.EQ.AND P0, PT, R6, R7, PT | B------ R- W- Y S13", "@!P0 MOV R2, RZ")
    assert [h[0] for h in got] == ["waw"]


def test_reuse_flag_across_a_write() -> None:
    keep = "IADD3 R2, R4.reuse, R5, RZ | B------ R- W- - S01 U1"
    assert not found(keep, "IADD3 R3, R4, R6, RZ")
    got = found(keep, "MOV R4, RZ | B------ R- W- Y S04", "IADD3 R3, R4, R6, RZ")
    assert [(h[0], h[3]) for h in got] == [("reuse", "R4")]
    own = found("IADD3 R4, R4.reuse, R5, RZ | B------ R- W- Y S04 U1", "IADD3 R3, R4, R6, RZ")
    assert [h[0] for h in own] == ["reuse"]


def test_loop_carried() -> None:
    code = (
        ".L_top:",
        "IADD3 R2, R2, R5, RZ | B------ R- W- - S01",
        "ISETP.EQ.AND P0, PT, R6, R7, PT | B------ R- W- Y S13",
        "@P0 BRA `(.L_top) | B------ R- W- - S05",
    )
    assert not found(*code)
    tight = (
        ".L_top:",
        "IADD3 R6, R2, R5, RZ | B------ R- W- - S01",
        "@P0 BRA `(.L_out) | B------ R- W- - S01",
        "LDG.E R2, [R8.64] | B------ R- W2 - S02",
        "BRA `(.L_top) | B------ R- W- - S05",
        ".L_out:",
    )
    assert ("raw", 0, 0x20) in [h[:3] for h in found(*tight)]


def test_one_of_two_paths() -> None:
    code = (
        "@P0 BRA `(.L_a) | B------ R- W- - S05",
        "LDG.E R2, [R8.64] | B------ R- W2 - S02",
        ".L_a:",
        "IADD3 R3, R2, R5, RZ",
    )
    assert [(h[0], h[1], h[2]) for h in found(*code)] == [("raw", 0x20, 0x10)]


def test_into_a_subroutine_and_back() -> None:
    code = (
        "MOV R2, RZ | B------ R- W- - S01",
        "CALL.REL.NOINC `(.L_sub) | B------ R- W- - S02",
        "IADD3 R9, R8, RZ, RZ",
        "EXIT | B------ R- W- - S05",
        ".L_sub:",
        "IADD3 R8, R2, RZ, RZ | B------ R- W- - S01",
        "RET.REL.NODEC R20 0x0 | B------ R- W- - S02",
    )
    assert [(h[0], h[1], h[3], h[4]) for h in found(*code)] == [("raw", 0x20, "R8", 3), ("raw", 0x40, "R2", 3)]


def test_scoreboard_that_does_not_exist() -> None:
    assert [h[0] for h in found("LDG.E R2, [R4.64] | B------ R- W6 - S02")] == ["control"]


def test_records_and_lines() -> None:
    h = check_cubin(cubin("LDG.E R2, [R4.64] | B------ R- W2 - S02", "IADD3 R3, R2, R5, RZ"))[0]
    assert isinstance(h, Hazard)
    assert h.line() == (
        "k 0x0010: IADD3 R3, R2, R5, RZ: reads R2 without a wait for its scoreboard: 0x0000 LDG.E R2, [R4.64]"
    )
    assert h.record()["register"] == "R2"


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad, good = tmp_path / "bad.cubin", tmp_path / "good.cubin"
    bad.write_bytes(cubin("IADD3 R2, R4, R5, RZ", "IADD3 R3, R2, R5, RZ"))
    good.write_bytes(cubin("MOV R2, RZ"))
    assert check_command("orias", [str(good)]) == 0
    assert capsys.readouterr().out == f"{good}: 0 hazards\n"
    assert check_command("orias", ["--json", str(good), str(bad)]) == 1
    line = json.loads(capsys.readouterr().out)
    assert (line["file"], line["rule"], line["address"], line["have"], line["need"]) == (str(bad), "raw", 16, 1, 4)
    assert check_command("orias", [str(tmp_path / "none")]) == 255
    (tmp_path / "junk").write_bytes(b"junk")
    assert check_command("orias", [str(tmp_path / "junk")]) == 255
    assert check_command("orias", []) == 255


@pytest.mark.parametrize(
    ("arch", "product", "need"),
    [
        ("sm_80", "HMMA.16816.F32 R8, R4, R20, R8", 7),
        ("sm_86", "IMMA.16832.S8.S8 R8, R4.ROW, R20.COL, R8", 7),
        ("sm_89", "QMMA.16832.F32.E4M3.E4M3 R8, R4.ROW, R20.COL, R8", 7),
        ("sm_90", "HMMA.16816.F32 R8, R4, R20, R8", 7),
        ("sm_90", "HMMA.1688.F32 R8, R4, R20, R8", 1),
        ("sm_100", "HMMA.16816.F32 R8, R4, R20, R8", 1),
        ("sm_120", "HMMA.1688.F32 R8, R4, R20, R8", 8),
        ("sm_120", "HMMA.16816.F32 R8, R4, R20, R8", 8),
    ],
)
@pytest.mark.parametrize("register", [4, 20])
def test_sources_of_a_matrix_operation(arch: str, product: str, need: int, register: int) -> None:
    """A short operation may replace a source as early as ptxas was seen to let it, and no earlier; a load may at once."""
    for cycles in {max(need - 1, 1), need}:
        first = f"{product} | B------ R- W- {'Y' if cycles < 12 else '-'} S{cycles:02}"
        hits = found(first, f"MOV R{register}, R2", arch=arch)
        assert hits == ([("war", 0x10, 0, f"R{register}", cycles, need)] if cycles < need else [])
        assert not found(first, f"LDS R{register}, [R2] | B------ R- W0 Y S02", arch=arch)


@pytest.mark.parametrize(
    ("arch", "product"),
    [("sm_80", "HMMA.16816.F32 R8, R4, R20, R8"), ("sm_120", "QMMA.16832.F32.E5M2.E4M3 R8, R4, R20, R8")],
)
def test_sources_that_a_load_has_replaced(arch: str, product: str) -> None:
    """A load lands after the product has read, and what waits for the load comes after it, whatever the cycles between."""
    first, load = f"{product} | B------ R- W- Y S01", "LDS R4, [R2] | B------ R- W0 Y S02"
    assert not found(first, load, "MOV R4, R2 | B0----- R- W- Y S01", arch=arch)
    assert [h[0] for h in found(first, load, "MOV R4, R2 | B------ R- W- Y S01", arch=arch)] == ["waw"]
    guarded = found(first, f"@P0 {load}", "MOV R4, R2 | B0----- R- W- Y S01", arch=arch)
    assert [h[0] for h in guarded] == ["war"]


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
def test_sources_of_the_uniform_pipe(arch: str) -> None:
    """UMOV, ULDC and ELECT may replace a source after three cycles (an H100: wrong after one and two), the pipe itself at once."""
    carries = "UPT, UPT, " if arch in ("sm_100", "sm_120") else ""
    writers = ["UMOV UR5, 0x1"] + ([] if arch in ("sm_100", "sm_120") else ["ULDC UR5, c[0x0][0x160]"])
    if arch not in ("sm_75", "sm_80"):
        writers.append("ELECT P0, UR5, PT")
    for cycles in (1, 2, 3):
        first = f"UIADD3 UR4, {carries}UR5, 0x1, URZ | B------ R- W- {'Y' if cycles > 1 else '-'} S{cycles:02}"
        for second in writers:
            hits = found("UMOV UR5, 0x7 | B------ R- W- Y S15", first, second, arch=arch)
            assert hits == ([("war", 0x20, 0x10, "UR5", cycles, 3)] if cycles < 3 else [])
    first = f"UIADD3 UR4, {carries}UR5, 0x1, URZ | B------ R- W- Y S02"
    assert not found("UMOV UR5, 0x7 | B------ R- W- Y S15", first, f"UIADD3 UR5, {carries}UR6, 0x1, URZ", arch=arch)
    assert not found("UMOV UR5, 0x7 | B------ R- W- Y S15", "MOV R4, UR5", "UMOV UR5, 0x1", arch=arch)


def test_sources_of_late_matrix_operations() -> None:
    """Where products are late, a wait for their scoreboard comes first."""
    for arch, product in (
        ("sm_75", "HMMA.1688.F32 R8, R4, R20, R8"),
        ("sm_80", "DMMA.884 R8, R4, R20, R8"),
        ("sm_103", "IMMA.16832.S8.S8 R8, R4.ROW, R20.COL, R8"),
    ):
        first = f"{product} | B------ R1 W0 - S02"
        assert [x[0] for x in found(first, "MOV R4, R2", arch=arch)] == ["war"]
        assert not found(first, "MOV R4, R2 | B01---- R- W- - S01", arch=arch)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100a", "sm_120"])
def test_sources_in_our_code(arch: str) -> None:
    """The factors of a product change in the instruction after it."""
    change = "".join(f"xor.b32 %a{k}, %a{k}, 0x1234567;\n" for k in range(4))
    product = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%c0, %c1, %c2, %c3}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%c0, %c1, %c2, %c3};\n"
    text = f""".version 9.0
.target {arch}
.address_size 64
.visible .entry k(.param .u64 p)
{{
    .reg .b64 %d<2>;
    .reg .b32 %a<4>, %b<2>;
    .reg .f32 %c<4>;
    ld.param.u64 %d1, [p];
    ld.global.v4.u32 {{%a0, %a1, %a2, %a3}}, [%d1];
    ld.global.v2.u32 {{%b0, %b1}}, [%d1+16];
    ld.global.v4.f32 {{%c0, %c1, %c2, %c3}}, [%d1+32];
    {(product + change) * 4}
    {product}
    st.global.v4.f32 [%d1], {{%c0, %c1, %c2, %c3}};
    ret;
}}
"""
    for level in (0, 1, 3):
        assert not [h.line() for h in check_cubin(orias.compile(text, arch=arch, opt_level=level).data)]


def test_code_that_ends_within_an_instruction() -> None:
    """Damage: a code section of half an instruction is refused by name."""
    data = bytearray(cubin("MOV R4, R2"))
    (code,) = [x for x in ElfFile(bytes(data)).sections if x.type == SHT_PROGBITS and x.flags & SHF_EXECINSTR]
    at = data.index(struct.pack("<QQ", code.offset, len(code.data)))
    data[at + 8 : at + 16] = (8).to_bytes(8, "little")
    with pytest.raises(CubinError, match=r"\.text\.k: 8 bytes are no whole number of instructions"):
        check_cubin(bytes(data))


def test_an_acquire_waits_for_its_value_before_it_invalidates() -> None:
    """Also one under a guard, or whose value nobody reads; a later load may be under way."""
    load = "LDG.E.STRONG.GPU R4, [R2.64] | B------ R0 W1 - S02"
    plain = "LDG.E R5, [R2.64+0x10] | B------ R2 W3 - S02"
    waits, goes_on = (f"CCTL.IVALL | B{mask} R- W- Y S05" for mask in ("-1----", "------"))
    assert not found(plain, load, waits)
    assert [x[:3] for x in found(load, plain, goes_on)] == [("acquire", 0x20, 0)]
    guarded = "@P0 ATOMG.E.ADD.STRONG.GPU PT, RZ, [R2.64], R4 | B------ R0 W1 - S02"
    assert not found(guarded, waits)
    assert [x[:3] for x in found(guarded, goes_on)] == [("acquire", 0x10, 0)]


def test_a_fence_that_acquires_waits_for_all_loads() -> None:
    """One of fence.sc waits by itself."""
    loads = [f"LDG.E R{4 + k}, [R2.64+{hex(16 * k + 16)}] | B------ R{2 * k} W{2 * k + 1} - S02" for k in (0, 1)]
    fence = ["MEMBAR.ALL.GPU | B------ R- W- - S06", "ERRBAR | B------ R- W- Y S00"]
    assert not found(*loads, *fence, "CCTL.IVALL | B-1-3-- R- W- Y S05")
    assert [x[:3] for x in found(*loads, *fence, "CCTL.IVALL | B-1---- R- W- Y S05")] == [("acquire", 0x40, 0x10)]
    ordered = ["MEMBAR.SC.GPU | B------ R- W- - S06", "ERRBAR | B------ R- W- Y S00"]
    assert not found(*loads, *ordered, "CCTL.IVALL | B------ R- W- Y S05")


def test_the_acquire_of_a_cluster_barrier_waits_for_no_value() -> None:
    """ptxas leaves a load in flight that stands before the release of the barrier."""
    load, fence = "LDS R4, [R2] | B------ R- W1 - S02", "MEMBAR.ALL.GPU | B------ R- W- - S06"
    barrier = ["UCGABAR_ARV | B------ R- W- - S01", "UCGABAR_WAIT | B------ R- W- - S01"]
    invalidate = "CCTL.IVALL | B------ R- W- Y S05"
    assert not found(load, fence, *barrier, invalidate, arch="sm_103a")
    assert [x[0] for x in found(load, fence, invalidate, arch="sm_103a")] == ["acquire"]


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_89"])
def test_units_get_uniform_registers_the_same_way(arch: str) -> None:
    """Nine cycles from the uniform pipe, also to a unit that few programs give one to."""
    query = "TXQ.NODEP RZ, R8, R8, TEX_HEADER_DIMENSION, UR4, 0x0, 0x2 | B------ R- W5 Y S02"
    for cycles, rules in ((9, []), (8, ["raw"]), (4, ["raw"])):
        first = f"ULOP3.LUT UR4, UR4, 0xfffff, URZ, 0xc0, !UPT | B------ R- W- Y S{cycles:02}"
        assert [x[0] for x in found(first, query, arch=arch)] == rules


def test_an_error_barrier_that_its_guard_leaves_out_waits_for_nothing() -> None:
    """With a stall count of 0 it is a long wait for those that run it, and no cycle for the others."""
    compare = "UISETP.LT.AND UP0, UPT, UR6, UR7, UPT | B------ R- W- - S01"
    use = "PLOP3.LUT P3, PT, PT, PT, UP0, 0x80, 0x0 | B------ R- W- - S02"
    assert not found(compare, "ERRBAR | B------ R- W- Y S00", use)
    assert [x[:3] for x in found(compare, "@P2 ERRBAR | B------ R- W- Y S00", use)] == [("raw", 0x20, 0)]

"""Time-aware runs: nothing to see in good code, old values and a report in bad code."""

import json
import random
from pathlib import Path

import numpy as np
import pytest

import orias
from orias import sim
from orias.check import check_cubin
from orias.cli.run_command import run_command
from orias.isa.isa_table import load
from orias.tools.patch import new_cubin
from tests.check.plant import Planter, patched, sections
from tests.kernels.test_kernels import HERE, NAMES, arguments, source
from tests.oracle import compile_or_none

STEP = "B------ R- W- - S01"


def kernel(*rows: str) -> bytes:
    """Stores R2 of each thread at the parameter; control words stand after ``|``."""
    start = (
        "S2R R0, SR_TID.X | B------ R- W0 - S02",
        "MOV R3, 0x4 | B------ R- W- Y S05",
        "IMAD.WIDE.U32 R6, R0, R3, c[0x0][0x160] | B0----- R- W- Y S05",
        "ULDC.64 UR4, c[0x0][0x118] | B------ R- W- Y S05",
        "MOV R2, 0x7 | B------ R- W- Y S06",
    )
    end = ("STG.E [R6.64], R2 | B------ R0 W- - S02", "EXIT | B------ R- W- - S05", "BRA `(.L_end)")
    text = ['\t.target\tsm_80\n\t.section\t.text.k,"ax",@progbits\n.text.k:']
    for row in (*start, *rows, *end):
        inst, _, ctl = row.partition("|")
        if row == end[-1]:
            text.append(".L_end:")
        text.append(f"{inst.strip()} ; /* {ctl.strip() or STEP} */")
    return new_cubin("\n".join(text) + "\n", "sm_80", 32, [8])


def launch(data: bytes, mode: str) -> tuple[sim.Result, np.ndarray]:
    out = np.zeros(64, "u4")
    return sim.load(data).launch("k", 1, 64, [out], hazards=mode), out


def test_a_result_that_comes_in_time() -> None:
    r, out = launch(kernel("IADD3 R2, R2, 0x1, RZ | B------ R- W- Y S05"), "stale")
    assert not r.hazards and (out == 8).all()


def test_an_early_reader_sees_the_old_value() -> None:
    r, out = launch(kernel("IADD3 R2, R2, 0x1, RZ | B------ R- W- Y S04"), "stale")
    assert (out == 7).all()
    v = r.hazards[0]
    assert (v.rule, v.register, v.have, v.need, v.stale, v.value, v.block, v.warp) == (
        "raw",
        "R2",
        4,
        5,
        7,
        8,
        (0, 0, 0),
        0,
    )
    assert v.line() == (
        "k 0x0060 (STG.E [R6.64], R2), block (0, 0, 0) warp 0: reads R2 too early "
        "(0x0050 IADD3 R2, R2, 0x1, RZ: 4 of 5 cycles), sees 0x7 instead of 0x8"
    )


def test_sources_that_a_load_has_replaced() -> None:
    """What waits for a load comes after the product whose source the load has replaced."""
    product = "HMMA.16816.F32 R8, R12, R16, R8 | B------ R- W- Y S01"
    load = "LDG.E R16, [R6.64] | B------ R- W1 - S02"
    move = "MOV R16, R3 | B-1---- R- W- - S01"
    assert not launch(kernel(product, load, move), "stale")[0].hazards
    assert [v.rule for v in launch(kernel(product, move), "stale")[0].hazards] == ["war"]


def test_stopping_at_the_first() -> None:
    with pytest.raises(sim.HazardError, match=r"0x0060 .*block \(0, 0, 0\) thread \(0, 0, 0\): reads R2 too early"):
        launch(kernel("IADD3 R2, R2, 0x1, RZ | B------ R- W- Y S04"), "stop")


def test_a_load_without_a_wait() -> None:
    r, out = launch(kernel("LDG.E R2, [R6.64] | B------ R- W2 Y S15"), "stale")
    assert (out == 7).all() and [(v.rule, v.register) for v in r.hazards] == [("raw", "R2")]
    r, out = launch(kernel("LDG.E R2, [R6.64] | B------ R- W2 - S02", "NOP | B--2--- R- W- Y S04"), "stale")
    assert (out == 0).all() and not r.hazards


def test_some_threads_only() -> None:
    guard = "ISETP.GT.U32.AND P0, PT, R0, 0x28, PT | B------ R- W- Y S13"
    r, out = launch(kernel(guard, "@P0 IADD3 R2, R2, 0x1, RZ | B------ R- W- Y S04"), "stale")
    assert (out == 7).all() and [v.warp for v in r.hazards] == [1]


def test_writing_what_may_still_be_read() -> None:
    r, _ = launch(kernel("STG.E [R6.64], R2 | B------ R0 W- - S02", "MOV R2, RZ | B------ R- W- Y S05"), "stale")
    assert [(v.rule, v.register) for v in r.hazards] == [("war", "R2")]


def test_writing_what_the_uniform_pipe_still_reads() -> None:
    """UMOV writes before an operation issued two cycles earlier has read (an H100: wrong results)."""
    for cycles in (1, 2, 3):
        reader = f"UIADD3 UR6, UR4, 0x1, URZ | B------ R- W- {'Y' if cycles > 1 else '-'} S{cycles:02}"
        r, _ = launch(
            kernel(reader, "UMOV UR4, 0x5 | B------ R- W- Y S12", "ULDC.64 UR4, c[0x0][0x118] | B------ R- W- Y S12"),
            "stale",
        )
        assert [(v.rule, v.register, v.have, v.need) for v in r.hazards] == (
            [("war", "UR4", cycles, 3)] if cycles < 3 else []
        )


@pytest.mark.parametrize(
    ("boards", "wait", "free"), [("R- W0", 0, True), ("R1 W0", 0, True), ("R1 W0", 1, True), ("R1 W-", 0, False)]
)
def test_uniform_sources_of_an_exchange_are_free_after_a_wait_for_it(boards: str, wait: int, free: bool) -> None:
    """SYNCS.EXCH has no result: its completion too says that its sources have been read, as in the static checker."""
    waits = "".join(str(k) if k == wait else "-" for k in range(6))
    rows = [
        "UMOV UR6, 0x0 | B------ R- W- - S01",
        "UMOV UR8, 0x1ffffe | B------ R- W- - S01",
        "UMOV UR9, 0x7ffff800 | B------ R- W- Y S12",
        f"SYNCS.EXCH.64 URZ, [UR6], UR8 | B------ {boards} - S04",
        f"NOP | B{waits} R- W- Y S04",
        "UMOV UR8, 0x5 | B------ R- W- Y S12",
        "EXIT | B------ R- W- - S05",
        "BRA `(.L_end)",
    ]
    text = ['\t.target\tsm_90\n\t.section\t.text.k,"ax",@progbits\n.text.k:']
    for row in rows:
        inst, _, ctl = row.partition("|")
        text.append((".L_end:\n" if row == rows[-1] else "") + f"{inst.strip()} ; /* {ctl.strip() or STEP} */")
    cubin = new_cubin("\n".join(text) + "\n", "sm_90", 32)
    found = [(v.rule, v.register) for v in sim.load(cubin).launch("k", 1, 32, shared=64, hazards="stale").hazards]
    assert found == ([] if free else [("war", "UR8")])
    assert [(h.rule, h.register) for h in check_cubin(cubin)] == found


def test_a_kept_operand() -> None:
    r, _ = launch(
        kernel("IADD3 R2, R2.reuse, 0x1, RZ | B------ R- W- Y S04 U1", "IADD3 R8, R2, R2, RZ | B------ R- W- Y S05"),
        "stale",
    )
    assert [(v.rule, v.register) for v in r.hazards] == [("reuse", "R2")]


def test_a_reader_whose_guard_is_false_takes_what_is_kept() -> None:
    """As in the static checker: it has the operand's place, so a later read is a read of the register."""
    rows = [
        "ISETP.NE.AND P0, PT, RZ, RZ, PT | B------ R- W- Y S13",
        "IADD3 R8, R2.reuse, 0x1, RZ | B------ R- W- Y S02 U1",
        "@P0 IADD3 R8, R2, 0x2, RZ | B------ R- W- Y S05",
        "MOV R2, 0x7 | B------ R- W- Y S05",
        "IADD3 R8, R2, 0x1, RZ | B------ R- W- Y S05",
    ]
    r, _ = launch(kernel(*rows), "stale")
    assert r.hazards == []
    del rows[2]
    r, _ = launch(kernel(*rows), "stale")
    assert [(v.rule, v.register) for v in r.hazards] == [("reuse", "R2")]


def run(name: str, cubin: bytes, mode: str) -> sim.Result:
    case = json.loads((HERE / "cases" / f"{name}.json").read_text())
    args, _ = arguments(case)
    return sim.load(cubin).launch(
        case["kernel"], tuple(case["grid"]), tuple(case["block"]), args, shared=case["shared"], hazards=mode
    )


QUICK = ("saxpy", "transpose", "matmul", "scan", "half", "votes")


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90"])
@pytest.mark.parametrize("name", QUICK)
def test_good_code(name: str, arch: str, tmp_path: Path) -> None:
    run(name, orias.compile(source(name), arch=arch).data, "stop")
    theirs = compile_or_none(HERE / "ptx" / f"{name}.ptx", arch, ["-O3"], tmp_path)
    if theirs is None:
        pytest.skip("no ptxas")
    run(name, theirs, "stop")


@pytest.mark.sweep
@pytest.mark.parametrize("name", NAMES)
def test_good_code_of_every_kernel(name: str, tmp_path: Path) -> None:
    for level in (0, 3):
        run(name, orias.compile(source(name), arch="sm_86", opt_level=level).data, "stop")
        theirs = compile_or_none(HERE / "ptx" / f"{name}.ptx", "sm_86", [f"-O{level}"], tmp_path)
        assert theirs is not None
        run(name, theirs, "stop")


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("name", ["saxpy", "matmul"])
def test_planted_faults_happen_where_the_static_checker_sees_them(name: str) -> None:
    """Every fault that shows in a run is one that the static checker reports too, at the same instruction."""
    data = orias.compile(source(name), arch="sm_80").data
    rng = random.Random(name)
    shown = 0
    for index, offset, code in sections(data):
        for k, fault in enumerate(Planter(index, code, load("sm_80"), 80).faults(rng)):
            if k == 20:
                break
            bad = patched(data, offset, fault)
            try:
                seen = {(v.address, v.register) for v in run(name, bad, "stale").hazards}
            except sim.SimError:
                continue
            found = {(h.address, h.register) for h in check_cubin(bad)}
            assert found and {a for a, _ in seen} <= {a for a, _ in found}, fault
            shown += bool(seen)
    assert shown >= 5


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.cubin"
    path.write_bytes(kernel("IADD3 R2, R2, 0x1, RZ | B------ R- W- Y S04"))
    common = [str(path), "--block", "64", "--arg", "buf:u32:64"]
    assert run_command([*common, "--hazards"]) == 1
    assert "HazardError" in capsys.readouterr().err
    assert run_command([*common, "--hazards=stale", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["hazards"][0]["register"] == "R2"
    assert run_command(common) == 0
    assert run_command([*common, "--hazards=maybe"]) == 2

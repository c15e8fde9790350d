"""orias audit: right cubins are equal, wrong ones are found, with the instruction, the fault and a smaller case."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import orias
from orias.cli.audit_command import audit_command
from orias.cli.main import run as run_line
from orias.sim.core.image import Image
from orias.tools.audit.audit_kernel import DIFFERENT, EQUAL, Auditor, Verdict
from orias.tools.audit.audit_subject import Binary
from orias.tools.audit.known_faults import catalogue
from orias.tools.audit.launch_choice import loop_steps, usable_launch
from orias.tools.audit.reference_run import wrong_words
from tests.nvtools import LIMIT_S, tool

FAULTS = Path(__file__).parents[1] / "oracle_faults"
HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
KERNEL = (
    HEAD
    + """.visible .entry k(.param .u64 p, .param .u32 n) {
.reg .b64 %d<4>; .reg .b32 %r<9>; .reg .pred %q;
ld.param.u64 %d0, [p];
ld.param.u32 %r1, [n];
mov.u32 %r0, %tid.x;
mad.wide.u32 %d1, %r0, 4, %d0;
mov.u32 %r3, 0;
mov.u32 %r4, 0;
Loop:
ld.global.u32 %r2, [%d1];
add.u32 %r4, %r4, %r2;
xor.b32 %r4, %r4, 12345;
add.s32 %r3, %r3, 64;
setp.lt.s32 %q, %r3, %r1;
@%q bra Loop;
st.global.u32 [%d1], %r4;
ret; }
"""
)
SHARED = (
    HEAD
    + """.extern .shared .align 16 .b8 s[];
.visible .entry k(.param .u64 p) {
.reg .b64 %d<4>; .reg .b32 %r<9>;
ld.param.u64 %d0, [p];
mov.u32 %r0, %tid.x;
mad.wide.u32 %d1, %r0, 4, %d0;
shl.b32 %r1, %r0, 2;
mov.u32 %r2, s;
add.u32 %r2, %r2, %r1;
ld.global.u32 %r3, [%d1];
st.shared.u32 [%r2], %r3;
ld.shared.u32 %r4, [%r2];
st.global.u32 [%d1+1024], %r4;
ret; }
"""
)
STRUCTURE = (
    HEAD
    + """.visible .entry k(.param .u64 p) {
.reg .b64 %d<5>; .reg .b32 %r<9>;
ld.param.u64 %d0, [p];
ld.global.u64 %d1, [%d0+8];
mov.u32 %r0, %tid.x;
mad.wide.u32 %d2, %r0, 4, %d1;
ld.global.u32 %r1, [%d2];
add.u32 %r1, %r1, 7;
st.global.u32 [%d2], %r1;
ret; }
"""
)


def cubin(text: str, **options: object) -> bytes:
    return orias.compile(text, arch="sm_80", **options).data  # type: ignore[arg-type]


def audited(ptx: str, data: bytes, **options: object) -> tuple[Auditor, Verdict]:
    auditor = Auditor(ptx, **options)  # type: ignore[arg-type]
    return auditor, auditor.audit(auditor.kernels()[0], Binary("x", data))


@pytest.mark.parametrize("text", [KERNEL, SHARED, STRUCTURE])
def test_right_code_is_equal(text: str) -> None:
    _, v = audited(text, cubin(text))
    assert (v.outcome, v.compared, v.skipped) == (EQUAL, 3, [])


def test_wrong_code_is_different() -> None:
    """The suspect is the instruction with the wrong constant."""
    _, v = audited(KERNEL, cubin(KERNEL.replace("12345", "12344")))
    assert v.outcome == DIFFERENT
    assert v.difference.line == 19
    assert v.difference.store.startswith("STG.E")
    assert "0x3038" in v.difference.suspect


TRAPS = (
    HEAD
    + ".visible .entry k(.param .u64 p) {\n.reg .b64 %d<2>;\nld.param.u64 %d0, [p];\nst.global.u64 [%d0], %d0;\ntrap;\n}\n"
)


def test_a_kernel_that_traps_must_trap() -> None:
    """What producers emit for a target that they have no code for."""
    assert audited(TRAPS, cubin(TRAPS))[1].outcome == EQUAL
    _, v = audited(TRAPS, cubin(TRAPS.replace("trap;", "ret;")))
    assert v.outcome == DIFFERENT
    assert (v.difference.expected, v.difference.got) == ("trap", "no error")


def test_alternatives_are_run_as_needed() -> None:
    """The first alternatives explain it; the others are not run."""
    text = KERNEL.replace(
        "add.u32 %r4, %r4, %r2;\nxor.b32 %r4, %r4, 12345;", "mul.f32 %r5, %r4, 0f3DCCCCCD;\nadd.f32 %r4, %r5, %r2;"
    )
    auditor, v = audited(text, cubin(text, fmad=True))
    assert v.outcome == EQUAL
    (references,) = auditor._references.values()
    assert {len(r._others) for r in references} <= {0, 2}
    assert any(r._others for r in references)


def test_a_wrong_value_behind_a_pointer_in_memory() -> None:
    _, v = audited(STRUCTURE, cubin(STRUCTURE.replace("7;", "8;")))
    assert v.outcome == DIFFERENT


def test_loops_run_two_and_three_times() -> None:
    auditor = Auditor(KERNEL)
    kernel = auditor.kernels()[0]
    assert loop_steps(kernel) == [64]
    image = Image(cubin(KERNEL))
    sizes = [
        int.from_bytes(usable_launch(auditor.module, kernel, "sm_80", t, image)[0].params[1], "little") for t in (0, 1)
    ]
    assert sizes == [129, 65]


def test_shared_memory_is_what_the_ptx_reaches() -> None:
    """One word beyond it is an error, as it is for a user who gives the right size."""
    auditor = Auditor(SHARED)
    case, _ = usable_launch(auditor.module, auditor.kernels()[0], "sm_80", 0, Image(cubin(SHARED)))
    assert case.shared == 4 * case.block[0]
    _, v = audited(
        SHARED, cubin(SHARED.replace("add.u32 %r2, %r2, %r1;", "add.u32 %r2, %r2, %r1; add.u32 %r2, %r2, 4;"))
    )
    assert v.outcome == DIFFERENT
    assert v.difference.place == ("error", 0)
    assert "outside" in v.difference.got


def test_a_register_that_nothing_writes_shows_in_both_fills() -> None:
    """The pattern makes the address fail, zero makes the value wrong."""
    from orias.tools.patch import new_cubin

    rows = [
        "S2R R0, SR_TID.X | B------ R- W0 - S02", "MOV R2, c[0x0][0x160] | B------ R- W- Y S05", "MOV R3, c[0x0][0x164] | B------ R- W- Y S05",
        "IMAD.WIDE.U32 R2, R0, 0x4, R2 | B0----- R- W- Y S06", "IADD3 R5, R6, 0x1, RZ | B------ R- W- Y S05", "ULDC.64 UR4, c[0x0][0x118] | B------ R- W- Y S08",
        "STG.E desc[UR4][R2.64], R5 | B------ R0 W- - S02", "EXIT | B------ R- W- - S05",
    ]  # fmt: skip
    listing = ["\t.target\tsm_80", '\t.section\t.text.k,"ax",@progbits', ".text.k:"]
    listing += [f"{r.partition('|')[0].strip()} ; /* {r.partition('|')[2].strip()} */" for r in rows]
    text = HEAD + (
        ".visible .entry k(.param .u64 p) { .reg .b64 %d<3>; .reg .b32 %r<3>; ld.param.u64 %d0, [p]; mov.u32 %r0, %tid.x;\n"
        "mad.wide.u32 %d1, %r0, 4, %d0; mov.u32 %r1, 1; st.global.u32 [%d1], %r1; ret; }\n"
    )
    _, v = audited(text, new_cubin("\n".join(listing) + "\n", "sm_80", 32, [8]))
    assert v.outcome == DIFFERENT
    assert v.difference.fill == "poison"
    assert v.difference.reason == "reads R6, which nothing has written"


def test_a_fused_product_is_allowed() -> None:
    """A contraction moves a result by a rounding; a wrong sign does not pass for one."""
    text = HEAD + (
        ".visible .entry k(.param .u64 p) { .reg .b64 %d<3>; .reg .b32 %r; .reg .f32 %f<5>; ld.param.u64 %d0, [p]; mov.u32 %r, %tid.x;\n"
        "mad.wide.u32 %d1, %r, 4, %d0; ld.global.f32 %f1, [%d1]; ld.global.f32 %f2, [%d1+512]; mul.f32 %f3, %f1, %f2;\n"
        "add.f32 %f4, %f3, %f1; st.global.f32 [%d1], %f4; ret; }\n"
    )
    assert audited(text, cubin(text))[1].outcome == EQUAL
    assert audited(text, cubin(text.replace("add.f32 %f4", "sub.f32 %f4")))[1].outcome == DIFFERENT


def test_a_difference_of_products_is_fused_exactly() -> None:
    """Part of a complex product: where the difference is small, the product that is not rounded leaves more than its error."""
    text = HEAD + (
        ".visible .entry k(.param .u64 p) { .reg .b64 %d<3>; .reg .b32 %r; .reg .f32 %f<8>; ld.param.u64 %d0, [p]; mov.u32 %r, %tid.x;\n"
        "mad.wide.u32 %d1, %r, 4, %d0; ld.global.f32 %f1, [%d1]; ld.global.f32 %f2, [%d1+512];\n"
        "add.f32 %f6, %f1, 0f3A83126F; add.f32 %f7, %f2, 0f3A83126F;\n"
        "mul.f32 %f3, %f1, %f7; mul.f32 %f4, %f2, %f6; sub.f32 %f5, %f3, %f4; st.global.f32 [%d1], %f5; ret; }\n"
    )
    assert audited(text, cubin(text))[1].outcome == EQUAL
    assert audited(text, cubin(text.replace("sub.f32 %f5, %f3", "sub.f32 %f5, %f1")))[1].outcome == DIFFERENT


def test_a_product_before_a_branch_is_fused_exactly() -> None:
    """With either product, and not with a wrong one: where threads branch away between it and the subtraction, too."""
    text = HEAD + (
        ".visible .entry k(.param .u64 p) { .reg .b64 %d<3>; .reg .b32 %r; .reg .f32 %f<8>; .reg .pred %q; ld.param.u64 %d0, [p];\n"
        "mov.u32 %r, %tid.x; mad.wide.u32 %d1, %r, 4, %d0; ld.global.f32 %f1, [%d1]; ld.global.f32 %f2, [%d1+512];\n"
        "add.f32 %f6, %f1, 0f3A83126F; add.f32 %f7, %f2, 0f3A83126F; mul.f32 %f3, %f1, %f7; setp.gt.f32 %q, %f1, 0f00000000;\n"
        "@!%q bra S; mul.f32 %f4, %f2, %f6; sub.f32 %f3, %f3, %f4; S: st.global.f32 [%d1], %f3; ret; }\n"
    )
    for fused, outcome in (
        ("neg.f32 %f4, %f4; fma.rn.f32 %f3, %f1, %f7, %f4", EQUAL),
        ("neg.f32 %f2, %f2; fma.rn.f32 %f3, %f2, %f6, %f3", EQUAL),
        ("neg.f32 %f4, %f4; fma.rn.f32 %f3, %f1, %f6, %f4", DIFFERENT),
    ):
        assert audited(text, cubin(text.replace("sub.f32 %f3, %f3, %f4", fused)))[1].outcome == outcome


def test_words_that_move_are_floats_with_an_error() -> None:
    import numpy as np

    def raw(*values: float) -> np.ndarray:
        return np.array(values, np.float32).view(np.uint8)

    types = frozenset(("f32",))
    known = [raw(1.0, 1.0, 5.0), raw(1.00001, 1.0, -7.0)]
    assert wrong_words(known, raw(1.000005, 1.0, 3.0), types).tolist() == [False, False, False]
    assert wrong_words(known, raw(1.1, 1.0000001, 3.0), types).tolist() == [True, True, False]


def test_nothing_compared_has_a_code_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """0 equal, 1 different, 2 not compared, 255 usage."""
    ptx, good, bad = tmp_path / "k.ptx", tmp_path / "good.cubin", tmp_path / "bad.cubin"
    ptx.write_text(KERNEL)
    good.write_bytes(cubin(KERNEL))
    bad.write_bytes(cubin(KERNEL.replace("12345", "12344")))
    other = tmp_path / "other.cubin"
    other.write_bytes(cubin(KERNEL.replace(" k(", " other(")))
    junk = tmp_path / "junk.cubin"
    junk.write_bytes(b"\x7fELF junk")
    assert audit_command([str(ptx), str(good), "--quiet"]) == 0
    assert audit_command([str(ptx), str(good), str(bad), "--quiet"]) == 1
    assert audit_command([str(ptx), str(other), "--quiet"]) == 2
    assert audit_command([str(ptx), str(junk), "--quiet"]) == 2
    assert audit_command([str(ptx), "--quiet"]) == 2
    for wrong in ([], [str(tmp_path / "none.ptx")], [str(good)], [str(ptx), "--turns", "x"], [str(ptx), "--no"]):
        assert run_line(["orias", "audit", *wrong]) == 255
    capsys.readouterr()
    assert audit_command([str(ptx), str(bad), "--json"]) == 1
    out = json.loads(capsys.readouterr().out)
    assert out["verdicts"][0]["outcome"] == DIFFERENT


def test_a_launch_description(tmp_path: Path) -> None:
    ptx, good = tmp_path / "k.ptx", tmp_path / "good.cubin"
    ptx.write_text(KERNEL)
    good.write_bytes(cubin(KERNEL))
    case = tmp_path / "case.json"
    case.write_text(json.dumps({"kernel": "k", "grid": 1, "block": [32], "args": ["buf:u32:32=iota", "u32:130"]}))
    assert audit_command([str(ptx), str(good), "--case", str(case), "--quiet"]) == 0
    for wrong in (
        {"grid": [1 << 40]}, {"grid": [1, 1, 65536]}, {"block": [1 << 20]}, {"grid": 1 << 70}, {"block": "32,32,2"}, {"args": [f"buf:u32:{1 << 30}=iota"]},
        {"args": ["buf:u64:8000000"] * 2}, {"args": ["u32:1e400"]}, {"args": 1},
    ):  # fmt: skip
        case.write_text(
            json.dumps({"kernel": "k", "grid": 1, "block": [32], "args": ["buf:u32:32=iota", "u32:130"], **wrong})
        )
        assert run_line(["orias", "audit", str(ptx), str(good), "--case", str(case)]) == 255, wrong
    case.write_text('{"kernel": "k"')
    assert run_line(["orias", "audit", str(ptx), str(good), "--case", str(case)]) == 255


def test_an_entry_of_tritons_cache(tmp_path: Path) -> None:
    """The folder has the kernel's PTX, cubin and metadata; its dynamic shared memory is that of the metadata."""
    (tmp_path / "k.ptx").write_text(SHARED)
    (tmp_path / "k.cubin").write_bytes(cubin(SHARED))
    (tmp_path / "k.json").write_text(json.dumps({"name": "k", "shared": 256, "num_warps": 2}))
    assert audit_command([str(tmp_path), "--quiet"]) == 0
    (tmp_path / "k.json").write_text(json.dumps({"name": "k", "shared": 0, "num_warps": 2}))
    assert audit_command([str(tmp_path), "--quiet"]) == 2


@pytest.mark.parametrize("name", ["abs_sign", "minmax_negation", "vadd_sat"])
def test_a_known_fault_is_named(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From PTX and compiler alone."""
    given = [str(FAULTS / f"{name}.ptx"), "--with", tool("ptxas"), "--arch", "sm_90", "--json"]
    assert audit_command(given) == 1
    (verdict,) = json.loads(capsys.readouterr().out)["verdicts"]
    assert name in verdict["confirmed"]
    assert name in [f["name"] for f in verdict["known"]]
    assert audit_command([str(FAULTS / f"{name}.ptx"), "--with", "orias", "--arch", "sm_90", "--quiet"]) == 0


@pytest.mark.in_turn(2)
def test_a_case_is_reduced(tmp_path: Path) -> None:
    """A compiler that is wrong: the smallest PTX found is in the file."""
    longer = (FAULTS / "vadd_sat.ptx").read_text()
    ptx, out = tmp_path / "k.ptx", tmp_path / "small.ptx"
    ptx.write_text(longer)
    given = [str(ptx), "--with", tool("ptxas"), "--reduce", str(out), "--seconds", "6", "--quiet"]
    assert audit_command(given) == 1
    assert "vadd" in out.read_text()
    assert len(out.read_text().splitlines()) < len(longer.splitlines())


def test_catalogue() -> None:
    """Every entry has its proof, its program shows its signature, and its releases are in order."""
    found = catalogue()
    assert len({f.name for f in found}) == len(found) > 25
    for f in found:
        assert (FAULTS / f.proof).exists()
        assert not set(f.wrong) & set(f.right)
        assert f.levels and set(f.levels) <= {0, 1, 2, 3}
        if f.file:
            assert f.in_text((FAULTS / f.file).read_text()), f.name


def test_every_proof_is_in_the_catalogue() -> None:
    assert {p.name for p in FAULTS.glob("*.ptx")} <= {f.file for f in catalogue()}


def test_a_compiler_that_does_not_exist() -> None:
    assert run_line(["orias", "audit", str(FAULTS / "vadd_sat.ptx"), "--with", "no-such-compiler"]) == 255


def test_the_command(tmp_path: Path) -> None:
    """As a program: the report names cubin, place and instruction."""
    ptx, bad = tmp_path / "k.ptx", tmp_path / "bad.cubin"
    ptx.write_text(KERNEL)
    bad.write_bytes(cubin(KERNEL.replace("12345", "12344")))
    r = subprocess.run(
        [sys.executable, "-m", "orias", "audit", str(ptx), str(bad)], capture_output=True, text=True, timeout=LIMIT_S
    )
    assert r.returncode == 1
    assert "different" in r.stdout and "suspect:" in r.stdout and "PTX:      line 19" in r.stdout

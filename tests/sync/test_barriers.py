from pathlib import Path

import pytest

import orias
from orias.analysis.divergence import divergence
from orias.ori.ir import Func
from orias.ori.text import dump, parse
from orias.ori.verify import verify
from orias.passes.convergence import insert_sync
from tests.oracle import compile_or_none
from tests.rotation import with_later

DIAMOND = """\
.func k sm_90 entry ssa
b0: -> b1 b2
  v256:R = S2R SR_TID.X
  v257:P, PT = ISETP.GE.AND v256, 0x4, PT
  @v257 BRA
b1: -> b3
  v258:R = IADD3 v256, 0x1, RZ
b2: -> b3
  v259:R = IADD3 v256, 0x2, RZ
b3:
  v260:R = phi v258, v259
  STG.E -, v261, URZ, 0x0, v260
  EXIT
"""


def ops(fn: Func, block: int) -> list[str]:
    return [i.op.name for b in fn.blocks if b.id == block for i in b.insts]


def run(text: str) -> Func:
    fn = parse(text.replace("v261,", "RZ,"))
    assert verify(fn) == []
    insert_sync(fn)
    assert verify(fn) == [], dump(fn)
    return fn


def test_divergent_diamond() -> None:
    fn = run(DIAMOND)
    assert ops(fn, 0) == ["S2R", "ISETP.GE.AND", "BSSY", "BRA"]
    assert ops(fn, 4) == ["phi", "BSYNC"]
    assert ops(fn, 3) == ["STG.E", "EXIT"] or ops(fn, 3) == ["phi", "STG.E", "EXIT"]
    assert [b.id for b in fn.blocks] == [0, 1, 2, 4, 3]


def test_turing_clears_the_barrier() -> None:
    fn = run(DIAMOND.replace("sm_90", "sm_75"))
    assert ops(fn, 0) == ["S2R", "ISETP.GE.AND", "BMOV.32.CLEAR", "BSSY", "BRA"]


def test_uniform_branch_has_no_barrier() -> None:
    fn = run(DIAMOND.replace("SR_TID.X", "SR_CTAID.X"))
    assert "BSSY" not in dump(fn)


def test_exit_as_post_dominator() -> None:
    fn = run("""\
.func k sm_90 entry ssa
b0: -> b1 b2
  v256:R = S2R SR_TID.X
  v257:P, PT = ISETP.GE.AND v256, 0x4, PT
  @v257 BRA
b1:
  EXIT
b2:
  EXIT
""")
    assert "BSSY" not in dump(fn)


LOOP = """\
.func k sm_90 entry ssa
b0: -> b1
  v256:R = S2R SR_TID.X
b1: -> b2 b1
  v258:R = phi RZ, v259
  v259:R = IADD3 v258, 0x1, RZ
  v257:P, PT = ISETP.LT.AND v259, v256, PT
  @v257 BRA
b2:
  STG.E -, RZ, URZ, 0x0, v259
  EXIT
"""


def test_loop_barrier_in_the_preheader() -> None:
    fn = run(LOOP)
    assert ops(fn, 0) == ["S2R", "BSSY"]
    assert [b.id for b in fn.blocks] == [0, 1, 3, 2]
    assert ops(fn, 3) == ["BSYNC"]


def test_values_leaving_a_divergent_loop_vary() -> None:
    fn = parse(LOOP)
    div = divergence(fn)
    assert div.varying[259] == 1
    assert div.branches[1] == 1
    uniform = parse(LOOP.replace("SR_TID.X", "SR_CTAID.X"))
    assert divergence(uniform).varying[259] == 0


def test_loop_counter_inside_a_divergent_branch_stays_uniform() -> None:
    fn = parse("""\
.func k sm_90 entry ssa
b0: -> b1 b3
  v256:R = S2R SR_TID.X
  v300:R = S2R SR_CTAID.X
  v257:P, PT = ISETP.GE.AND v256, 0x4, PT
  @v257 BRA
b1: -> b2
b2: -> b3 b2
  v258:R = phi RZ, v259
  v259:R = IADD3 v258, 0x1, RZ
  v261:P, PT = ISETP.LT.AND v259, v300, PT
  @v261 BRA
b3:
  v262:R = phi RZ, v259
  EXIT
""")
    div = divergence(fn)
    assert div.varying[259] == 0
    assert div.branches[2] == 0
    assert div.varying[262] == 1


def test_nested_regions_use_different_registers() -> None:
    fn = run("""\
.func k sm_80 entry ssa
b0: -> b1 b6
  v256:R = S2R SR_TID.X
  v257:P, PT = ISETP.GE.AND v256, 0x4, PT
  @v257 BRA
b1: -> b2 b3
  v258:P, PT = ISETP.GE.AND v256, 0x2, PT
  @v258 BRA
b2: -> b4
  v260:R = IADD3 v256, 0x2, RZ
b3: -> b4
  v261:R = IADD3 v256, 0x3, RZ
b4: -> b6
  v262:R = phi v260, v261
  v259:R = IADD3 v262, 0x1, RZ
b6: -> b7 b8
  v263:R = phi v256, v259
  v264:P, PT = ISETP.GE.AND v263, 0x2, PT
  @v264 BRA
b7: -> b8
  v265:R = IADD3 v256, 0x3, RZ
b8:
  EXIT
""")
    text = dump(fn)
    assert text.count("BSSY") == 3
    assert "B1 = BSSY" in text
    assert "B2" not in text


def test_entry_from_outside_picks_the_barrier_up() -> None:
    """b2 is entered from a uniform branch too: a block with BSSY goes on that edge, and b4 has a way around BSYNC."""
    fn = run("""\
.func k sm_90 entry ssa
b0: -> b1 b2
  v256:R = S2R SR_TID.X
  v266:R = S2R SR_CTAID.X
  v257:P, PT = ISETP.GE.AND v266, 0x4, PT
  v267:P, PT = ISETP.GE.AND v256, 0x4, PT
  @v257 BRA
b1: -> b2 b3
  @v267 BRA
b2: -> b3
  v260:R = IADD3 v256, 0x2, RZ
b3:
  EXIT
""")
    text = dump(fn)
    assert text.count("BSSY") == 2
    assert text.count("BSYNC") == 1


def test_whole_warp_collectives_make_a_branch_uniform() -> None:
    fn = run(DIAMOND.replace("  v258:R = IADD3 v256", "  BAR.SYNC.DEFER_BLOCKING 0x0\n  v258:R = IADD3 v256"))
    assert "BSSY" not in dump(fn)


def test_warpsync_stays_only_in_divergent_code() -> None:
    mask = "  WARPSYNC 0xf\n"
    fn = run(DIAMOND.replace("  v258:R = IADD3", mask + "  v258:R = IADD3"))
    assert ops(fn, 1) == ["WARPSYNC", "IADD3"]
    fn = run(DIAMOND.replace("  v257:P", mask + "  v257:P"))
    assert ops(fn, 0) == ["S2R", "ISETP.GE.AND", "BSSY", "BRA"]


def test_spin_loops_yield() -> None:
    fn = run("""\
.func k sm_90 entry ssa
b0: -> b1
  v256:R = S2R SR_TID.X
b1: -> b2 b1
  v259:R = LDG.E.STRONG.SYS -, v256, URZ, 0x0
  v257:P, PT = ISETP.LT.AND v259, v256, PT
  @v257 BRA
b2:
  EXIT
""")
    assert ops(fn, 1) == ["LDG.E.STRONG.SYS", "YIELD", "ISETP.LT.AND", "BRA"]


def test_early_exit_does_not_hide_the_join() -> None:
    fn = run("""\
.func k sm_90 entry ssa
b0: -> b1 b3
  v256:R = S2R SR_TID.X
  v257:P, PT = ISETP.GE.AND v256, 0x4, PT
  v258:P, PT = ISETP.GE.AND v256, 0x2, PT
  @v257 BRA
b1: -> b3 b2
  @v258 BRA
b2:
  EXIT
b3:
  STG.E -, RZ, URZ, 0x0, v256
  EXIT
""")
    assert ops(fn, 0)[-2:] == ["BSSY", "BRA"]
    assert ops(fn, 1) == ["BRA"]
    assert dump(fn).count("BSYNC") == 1


def test_guard_against_too_many_threads_needs_nothing() -> None:
    fn = run("""\
.func k sm_90 entry ssa
b0: -> b1 b2
  v256:R = S2R SR_TID.X
  v257:P, PT = ISETP.GE.AND v256, 0x4, PT
  @v257 BRA
b1:
  WARPSYNC 0xf
  v258:R, PT = SHFL.BFLY v256, 0x1, 0x1f
  STG.E -, RZ, URZ, 0x0, v258
  EXIT
b2:
  EXIT
""")
    assert "BSSY" not in dump(fn)
    assert "WARPSYNC" not in dump(fn)


def test_constant_mask_through_a_copy() -> None:
    fn = run(DIAMOND.replace("  v257:P", "  v280:R = copy 0xf\n  WARPSYNC v280\n  v257:P"))
    assert "WARPSYNC" not in dump(fn)


def test_break_out_of_a_loop_gives_the_inner_barrier_up() -> None:
    """b2 leaves the loop from inside an if; the threads of the if meet again at b4, all of them after the loop."""
    fn = run("""\
.func k sm_90 entry ssa
b0: -> b1
  v256:R = S2R SR_TID.X
b1: -> b2 b4
  v258:R = phi RZ, v259
  v257:P, PT = ISETP.GE.AND v256, v258, PT
  @v257 BRA
b2: -> b3 b6
  v260:P, PT = ISETP.GE.AND v256, 0x7, PT
  @v260 BRA
b3: -> b4
  STG.E -, RZ, URZ, 0x0, v256
b4: -> b6 b1
  v259:R = IADD3 v258, 0x1, RZ
  v261:P, PT = ISETP.LT.AND v259, 0x40, PT
  @v261 BRA
b6:
  EXIT
""")
    text = dump(fn)
    assert ops(fn, 0) == ["S2R", "BSSY"]
    assert ops(fn, 1) == ["phi", "ISETP.GE.AND", "BSSY", "BRA"]
    assert ops(fn, 2) == ["ISETP.GE.AND", "BREAK", "BRA"]
    assert "@v260 BREAK B1" in text
    assert text.count("BSYNC") == 2


def test_functions_keep_warpsync() -> None:
    text = DIAMOND.replace("  v257:P", "  WARPSYNC 0xf\n  v257:P").replace(" entry ", " func ")
    assert "WARPSYNC 0xf" in dump(run(text))


PRODUCTS = """\
.version 9.0
.target sm_80
.address_size 64
.extern .func outside();
.visible .func inside(.param .b32 i)
{
    .reg .b32 %r<4>;
    ld.param.b32 %r1, [i];
    mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r2, %r3}, {%r1, %r1}, {%r1}, {%r1, %r1};
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r2];
    st.shared.b32 [%r3], %r2;
    ret;
}
.visible .entry behind()
{
    .reg .b32 %r<4>;
    mov.u32 %r1, %tid.x;
    mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r2, %r3}, {%r1, %r1}, {%r1}, {%r1, %r1};
    call outside;
    movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r2;
    st.shared.b32 [%r3], %r2;
    ret;
}
"""


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    "arch,sync",
    [
        ("sm_80", "WARPSYNC 0xffffffff"),
        ("sm_90", "WARPSYNC.ALL"),
        ("sm_100a", "WARPSYNC.ALL"),
        ("sm_120a", "WARPSYNC.ALL"),
    ],
)
@pytest.mark.parametrize("level", [0, 3])
def test_matrix_operations_wait_for_the_warp(level: int, arch: str, sync: str, tmp_path: Path) -> None:
    """In functions and after calls part of the warp may come first; ptxas -O3 has the same WARPSYNC there."""
    text = PRODUCTS.replace("sm_80", arch)
    ours = orias.compile(text, arch=arch, opt_level=level, compile_only=True).data
    assert matrix_operations(ours) == {"inside": [sync, "HMMA", "LDSM"], "behind": ["HMMA", "CALL", sync, "MOVM"]}
    (tmp_path / "k.ptx").write_text(text)
    theirs = compile_or_none(tmp_path / "k.ptx", arch, ["-O3", "-c"], tmp_path)
    assert theirs is not None and matrix_operations(theirs) == matrix_operations(ours)


def matrix_operations(cubin: bytes) -> dict[str, list[str]]:
    """By function its matrix operations, calls and WARPSYNC."""
    names = ("WARPSYNC", "HMMA", "LDSM", "MOVM", "CALL")
    return {
        f: [line if line.startswith("WARPSYNC") else line.split(".")[0] for line in lines if line.startswith(names)]
        for f, lines in instructions(cubin).items()
    }


def yields(cubin: bytes) -> dict[str, int]:
    """By function its number of YIELD."""
    return {f: lines.count("YIELD") for f, lines in instructions(cubin).items()}


def instructions(cubin: bytes) -> dict[str, list[str]]:
    """By function its instructions as text."""
    found: dict[str, list[str]] = {}
    for part in orias.disassemble(cubin).split("\n.text.")[1:]:
        lines = [line.split("*/", 1)[1].strip(" ;") for line in part.splitlines() if "/*0" in line]
        found[part.split(":")[0]] = lines
    return found


WAITS = """\
.version 9.0
.target sm_80
.address_size 64
.shared .align 8 .b8 shared[16];
.visible .entry retries(.param .u64 p)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<4>;
    .reg .b16 %h<3>;
    .reg .pred %q;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
    cvt.u64.u32 %rd2, %r1;
    cvt.u16.u32 %h1, %r1;
    setp.gt.u32 %q, %r1, 4;
    @%q red.shared.add.u64 [shared], %rd2;
    @%q atom.global.cas.b16 %h2, [%rd1], %h1, %h1;
    st.global.b16 [%rd1+8], %h2;
    ret;
}
.visible .entry ends(.param .u64 p)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<4>;
    .reg .pred %q;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, %tid.x;
again:
    atom.global.cas.b32 %r2, [%rd1], 0, %r1;
    setp.ne.u32 %q, %r2, 0;
    @%q bra again;
    ret;
}
"""


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", with_later(["sm_75", "sm_80", "sm_90"], "yield"))
@pytest.mark.parametrize("level", [1, 3])
def test_loops_that_wait_yield(level: int, arch: str, tmp_path: Path) -> None:
    """Not those made for atomics that the target lacks, where some thread always gets on; those that threads end in, as with ptxas."""
    text = WAITS.replace("sm_80", arch)
    assert yields(orias.compile(text, arch=arch, opt_level=level).data) == {"retries": 0, "ends": 1}
    (tmp_path / "k.ptx").write_text(text)
    theirs = compile_or_none(tmp_path / "k.ptx", arch, [f"-O{level}"], tmp_path)
    assert theirs is not None and yields(theirs) == {"retries": 0, "ends": 1}


@pytest.mark.parametrize("arch", with_later(["sm_75", "sm_80", "sm_90"], "reduction"))
def test_a_reduction_without_a_reader_passes_the_self_check(arch: str) -> None:
    """The text of B2R.RESULT leaves out a predicate result that nobody reads."""
    body = (
        ".reg .pred %p<3>; .reg .b32 %r; mov.u32 %r, %tid.x; setp.gt.u32 %p2, %r, 3; bar.red.and.pred %p1, 0, %p2; ret;"
    )
    ptx = f".version 9.0\n.target {arch}\n.address_size 64\n.visible .entry k() {{ {body} }}\n"
    orias.compile(ptx, arch=arch, self_check=True)


SIDES = """\
.version 9.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .b64 %rd<4>;
    .reg .b32 %r<8>;
    .reg .pred %p;
    .shared .align 4 .b32 words[32];
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.u64 %rd1, %rd1, %rd2;
    shl.b32 %r2, %r1, 2;
    mov.u32 %r3, words;
    add.u32 %r2, %r2, %r3;
    xor.b32 %r4, %r2, 64;
    setp.gt.u32 %p, %r1, 15;
    @%p bra other;
    st.shared.u32 [%r2], %r1;
    bar.warp.sync -1;
    ld.shared.u32 %r5, [%r4];
    add.u32 %r5, %r5, 1000;
    bra done;
other:
    mul.lo.u32 %r6, %r1, 3;
    st.shared.u32 [%r2], %r6;
    bar.warp.sync -1;
    ld.shared.u32 %r5, [%r4];
done:
    st.global.u32 [%rd1], %r5;
    ret;
}
"""


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", with_later(["sm_75", "sm_80", "sm_90"], "both sides"))
@pytest.mark.parametrize("level", [0, 3])
def test_the_sides_of_a_branch_wait_for_each_other(level: int, arch: str, tmp_path: Path) -> None:
    """Each side writes what the other reads after a bar.warp.sync of the whole warp of its own."""
    np = pytest.importorskip("numpy")
    sim = pytest.importorskip("orias.sim")
    want = [3 * (n + 16) + 1000 for n in range(16)] + list(range(16))
    (tmp_path / "k.ptx").write_text(SIDES.replace("sm_75", arch))
    ours = orias.compile(SIDES.replace("sm_75", arch), arch=arch, opt_level=level).data
    theirs = compile_or_none(tmp_path / "k.ptx", arch, [f"-O{level}"], tmp_path)
    assert theirs is not None
    for cubin in (ours, theirs):
        out = np.zeros(32, np.uint32)
        sim.load(cubin).launch("k", 1, 32, [out])
        assert out.tolist() == want


TOGETHER = (
    SIDES.split("    setp.gt.u32", maxsplit=1)[0].replace("words[32]", "words[33]")
    + """\
    ld.global.u32 %r5, [%rd1];
    st.shared.u32 [%r2], %r5;
    bar.warp.sync -1;
    ld.shared.u32 %r6, [%r2+4];
    st.global.u32 [%rd1], %r6;
    ret;
}
"""
)


@pytest.mark.parametrize("arch", with_later(["sm_75", "sm_80", "sm_90"], "whole warp"))
def test_a_barrier_of_the_whole_warp_orders_memory(arch: str) -> None:
    """The load is of another thread's word, so no address keeps it after the store once the WARPSYNC is gone."""
    np = pytest.importorskip("numpy")
    sim = pytest.importorskip("orias.sim")
    out = np.arange(100, 132, dtype=np.uint32)
    cubin = orias.compile(TOGETHER.replace("sm_75", arch), arch=arch).data
    sim.load(cubin).launch("k", 1, 32, [out])
    assert out.tolist()[:31] == [101 + n for n in range(31)]

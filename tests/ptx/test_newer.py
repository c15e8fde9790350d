"""What PTX 9.1 to 9.5 added: taken from the version and on the targets of ptxas 13.5.37, in its words; the rest is refused by name.

docs/newer-ptx.md has the table.  Where ptxas 13.5 is installed (`tests/nvtools.py`, `newer_ptxas`), it judges the same lines.
"""

import subprocess
from pathlib import Path

import pytest

import orias
from orias.cli.main import run
from orias.diag import CompileError
from orias.ptx.parser import parse
from orias.target.target_names import COMPILED
from tests.nvtools import LIMIT_S, newer_ptxas
from tests.rotation import rotating

TAKEN = """
9.1 all : ld.volatile.local.u32 %r10, [lc];
9.1 all : st.volatile.local.u32 [lc], %r1;
9.1 100af+ : cvt.rn.satfinite.e2m1x2.bf16x2 %b1, %r1;
9.1 100af+ : cvt.rn.satfinite.e4m3x2.bf16x2 %h10, %r1;
9.1 100af+ : cvt.rn.satfinite.e2m3x2.f16x2 %h10, %r1;
9.1 100af+ : cvt.rn.satfinite.e3m2x2.bf16x2 %h10, %r1;
9.1 100a+ : cvt.rn.satfinite.s2f6x2.f32 %h10, %f1, %f2;
9.1 100a+ : cvt.rn.satfinite.relu.scaled::n2::ue8m0.s2f6x2.f32 %h10, %f1, %f2, %h3;
9.1 100a+ : cvt.rn.bf16x2.s2f6x2 %r10, %h1;
9.1 90+ : multimem.cp.async.bulk.global.shared::cta.bulk_group [%rd1], [smem], 64;
9.1 90+ : multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [smem], 64;
9.1 120af+ : mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r1,%r2}, {%f1,%f2,%f3,%f4}, %r1, {0,0}, %r2, {0,0};
9.2 100af+ : cvt.rn.bf16x2.e4m3x2 %r10, %h1;
9.2 100af+ : cvt.rn.scaled::n2::ue8m0.bf16x2.e5m2x2 %r10, %h1, %h2;
9.2 120af+ : add.u8x4 %r10, %r1, %r2;
9.2 120af+ : sub.s8x4 %r10, %r1, %r2;
9.2 120af+ : min.s8x4 %r10, %r1, %r2;
9.2 120af+ : max.u8x4 %r10, %r1, %r2;
9.2 120af+ : neg.s8x4 %r10, %r1;
9.2 120af+ : add.sat.u32 %r10, %r1, %r2;
9.2 120af+ : add.sat.u16x2 %r10, %r1, %r2;
9.2 120af+ : add.sat.s16x2 %r10, %r1, %r2;
9.2 90+ : st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b128 [%r1], %q1, [%r2];
9.2 90+ : cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob [smem], [%rd1], 64, %r1, %r2, [mb];
9.3 80+ : clmad.lo.u64 %rd10, %rd4, %rd5, %rd6;
9.3 80+ : clmad.hi.u64 %rd10, %rd4, %rd5, %rd6;
9.3 100+ : multimem.st.async.release.sys.global.f32 [%rd1], %f1;
9.3 100+ : multimem.red.async.release.sys.global.add.u32 [%rd1], %r1;
9.3 90+ : mbarrier.try_wait.phase_type::primary.shared::cta.b64 %p1, [mb], %rd4;
9.3 90+ : mbarrier.test_wait.phase_type::primary.shared::cta.b64 %p1|%p2, [mb], %rd4;
9.3 90+ : mbarrier.test_wait.parity.phase_type::conditional.shared::cta.b64 %p1, [mb], %r1;
9.3 90+ : mbarrier.check_layout.layout::v1.shared::cta.b64 %p1, [mb];
9.3 90+ : mbarrier.check_layout.layout::v0.shared::cta.b64 %p1, [mb];
9.3 90+ : mbarrier.init.layout::v1.shared::cta.b64 [mb], %r1;
9.3 90+ : mbarrier.init.layout::v0.shared::cta.b64 [mb], %r1;
9.3 90+ : mbarrier.pending_count.layout::v0.b64 %r10, %rd4;
9.3 90+ : cp.async.bulk.weak.global.shared::cta.bulk_group [%rd1], [smem], 64;
9.3 90+ : cp.async.bulk.relaxed.sys.global.shared::cta.bulk_group.b128 [%rd1], [smem], 64;
9.3 all : ld.mmio.acquire.sys.global.u32 %r10, [%rd1];
9.3 all : st.mmio.release.sys.global.u32 [%rd1], %r1;
9.4 90+ : ld.global.proxy::readonly.u32 %r10, [%rd1];
9.4 90+ : ld.proxy::readonly.u32 %r10, [%rd1];
9.4 90+ : atom.global.add.noftz.f32 %f10, [%rd1], %f1;
9.4 90+ : atom.global.v2.f32.add.noftz {%f10,%f11}, [%rd1], {%f1,%f2};
9.4 90+ : red.global.add.noftz.f32 [%rd1], %f1;
9.4 90+ : prefetch.valid_addr.L1::32B [%rd1];
9.4 90+ : prefetch.global.valid_addr.L1::32B [%rd1];
9.5 100+ : mov.u32 %r10, %locality_domain_id;
9.5 100+ : mov.u32 %r10, %locality_domain_supplemental_sm;
9.5 90a/100af+ : tensormap.query.alloc_class_large.b1024 %p1, [%rd1];
"""
"""First version, targets, an instruction."""

REFUSED = """
9.3 fabric : fabric.submit;
9.3 fabric : fabric.wait.sync_restrict::reads;
9.3 fabric : fabric.try_get.async.shared::cta.mbarrier::complete_tx::bytes.mbarrier::report::fabric.relaxed.sys.b128 [%rd4], [%r1,%rd5], %r2, [%rd6];
9.3 fabric : fabric.try_put.async.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric.relaxed.sys.b128 [%r1,%rd5], [%rd4], %r2, [%rd6];
9.3 .fabric::generic : fence.proxy.fabric::generic.alias.release.sys;
9.4 .ue5m3x2 : cvt.rn.satfinite.ue5m3x2.f32 %h10, %f1, %f2;
9.4 .ue5m3x2 : cvt.rp.satfinite.ue5m3x2.f32 %h10, %f1, %f2;
9.4 .ue5m3x2 : cvt.rn.bf16x2.ue5m3x2 %r10, %h1;
9.4 .ue5m3x2 : cvt.rn.f16x2.ue5m3x2 %r10, %h1;
9.4 cvt : cvt.rz.satfinite.e4m3x2.f32 %h10, %f1, %f2;
9.4 cvt : cvt.rz.satfinite.e2m3x2.f32 %h10, %f1, %f2;
9.4 .pzo : cvt.rn.satfinite.pzo.e4m3x2.f32 %h10, %f1, %f2;
9.4 .multicast::cluster::32b : mbarrier.expect_tx.multicast::cluster::32b.relaxed.cluster.shared::cluster.b64 [%r1], %r2, %r3;
9.4 ldmatrix : ldmatrix.sync.aligned.m8n16.x1.shared.s8.s4 {%r10}, [smem];
9.4 .sp::2 : spcompress.b8.b4.sp::2:4.x1 {%r10}, {%r11}, {%r1,%r2}, %r3;
9.4 .bulk : applypriority.async.bulk.global.bulk_group.L2::evict_normal [%rd1], 128;
9.4 cp.async.bulk.prefetch : cp.async.bulk.prefetch.L2.global.L2::evict_last [%rd1], 64;
9.4 .exclusive : tcgen05.alloc.cta_group::1.sync.aligned.exclusive.shared::cta.b32 [smem], 32;
9.4 .kind::ti16 : tcgen05.mma.cta_group::1.kind::ti16 [%r1], %rd4, %rd5, %r2, %p1;
9.4 set : set.lt.s8x4 %r10, %r1, %r2;
9.4 set : set.lt.u8x4 %r10, %r1, %r2;
9.4 set : set.lt.s16x2 %r10, %r1, %r2;
9.4 %perctamemoryoffset : mov.u64 %rd10, %perctamemoryoffset;
9.4 %perctamemorysize : mov.u32 %r10, %perctamemorysize;
9.5 fabric : fabric.submit.commit_group;
9.5 fabric : fabric.wait.sync_restrict::read 0;
9.5 trace : trace.mark 1;
"""
"""First version, the word that the message names, an instruction."""

DIRECTIVES = [
    ("9.4", ".minperctamemory", ".visible .entry k() .minperctamemory 1024 { ret; }"),
]
GROUPS = {
    "all": COMPILED,
    "80+": COMPILED[1:],
    "90+": COMPILED[6:],
    "100+": COMPILED[8:],
    "100af+": tuple(t for t in COMPILED[8:] if t[-1] in "af"),
    "100a+": tuple(t for t in COMPILED[8:] if t[-1] == "a"),
    "120af+": ("120a", "120f", "121a", "121f"),
    "90a/100af+": ("90a", *(t for t in COMPILED[8:] if t[-1] in "af")),
}
FORMS = [tuple(line.split(" ", 3)[i] for i in (0, 1, 3)) for line in TAKEN.split("\n") if line]
ROWS = [line.split(" ", 3) for line in REFUSED.split("\n") if line]
TARGETS = ("sm_80", "sm_90a", "sm_100a", "sm_120a")
BELOW = {"9.1": "9.0", "9.2": "9.1", "9.3": "9.2", "9.4": "9.3", "9.5": "9.4"}


def head(version: str, target: str) -> str:
    return f".version {version}\n.target {target}\n.address_size 64\n"


def module(line: str, version: str, target: str) -> str:
    return (
        head(version, target) + ".visible .entry k() {\n"
        ".reg .pred %p<4>; .reg .b8 %b<4>; .reg .b16 %h<16>; .reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .b128 %q<4>; .reg .f32 %f<16>;\n"
        ".shared .align 16 .b8 smem[1024]; .shared .align 8 .b64 mb; .local .b32 lc;\n"
        f"{line}\nret; }}\n"
    )


def messages(text: str) -> list[str]:
    """Our error messages on a module."""
    try:
        parse(text, "a.ptx")
    except CompileError as error:
        return [d.message for d in error.diagnostics if d.severity in ("error", "fatal")]
    return []


def refused(text: str, place: int) -> list[str]:
    """The errors on a line of a module that is refused."""
    with pytest.raises(CompileError) as caught:
        parse(text, "a.ptx")
    return [d.message for d in caught.value.diagnostics if d.severity in ("error", "fatal") and d.line in (place, 0)]


def theirs(tool: str, text: str, target: str, folder: Path) -> list[str]:
    """The error messages of ptxas 13.5 on a module."""
    (folder / "a.ptx").write_text(text)
    command = [tool, f"-arch={target}", str(folder / "a.ptx"), "-o", str(folder / "a.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    found = [line.split("; error   : ")[1] for line in done.stderr.splitlines() if "; error   : " in line]
    return found if done.returncode else []


def test_the_module_around_the_lines_is_fine() -> None:
    for target in TARGETS:
        parse(module("mov.u32 %r1, %r2;", "9.5", target))


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(("version", "group", "line"), FORMS, ids=[f"{f[0]}-{f[2]}"[:70] for f in FORMS])
def test_taken_from_its_version_on_its_targets(version: str, group: str, line: str) -> None:
    for name in COMPILED:
        found = messages(module(line, version, f"sm_{name}"))
        assert bool(found) == (name not in GROUPS[group]), (name, found)
    first = f"sm_{GROUPS[group][0]}"
    for name in rotating(list(GROUPS[group]), 2, "targets of newer PTX"):
        assert orias.compile(module(line, "9.5", f"sm_{name}"), arch=f"sm_{name}").data
    below = messages(module(line, BELOW[version], first))
    assert below, below
    if version != "9.1":
        assert any(f"requires PTX ISA .version {version} or later" in m for m in below), below


def test_the_words_of_the_newer_ptxas(tmp_path: Path) -> None:
    """Messages below the version, on targets without the feature, and the verdict, on a sample of the lines."""
    tool = newer_ptxas()
    for version, group, line in rotating(FORMS, 10, "newer PTX in ptxas"):
        with_it = f"sm_{GROUPS[group][-1]}"
        asked = [(version, with_it), ("9.5", "sm_75")]
        if version != "9.1":
            asked.append((BELOW[version], with_it))
        for declared, target in asked:
            text = module(line, declared, target)
            a, b = theirs(tool, text, target, tmp_path), messages(text)
            assert bool(a) == bool(b), (declared, target, line, a, b)
            if a and "scaled::" not in line and "ignore_oob" not in line:
                assert a[-1] in b or set(a) & set(b), (declared, target, line, a, b)


@pytest.mark.parametrize(("version", "word", "_", "line"), ROWS, ids=[f"{r[1]}-{r[3]}"[:60] for r in ROWS])
def test_newer_instructions_are_refused_by_name(version: str, word: str, _: str, line: str) -> None:
    for target in TARGETS:
        for declared in (version, "9.5"):
            found = refused(module(line, declared, target), 7)
            assert any(f"'{word}" in m for m in found), (target, found)


@pytest.mark.parametrize(("version", "word", "text"), DIRECTIVES)
def test_newer_directives_are_refused_by_name(version: str, word: str, text: str) -> None:
    for declared in (version, "9.5"):
        assert refused(head(declared, "sm_90a") + text, 4) == [f"Parsing error near '{word}': syntax error"]


def test_languages() -> None:
    text = '.visible .entry k() .language "%s" { ret; }'
    for name in ("PTX", "CUDA C++", "Fortran", "OptiX", "NVVM", "Unknown"):
        parse(head("9.2", "sm_75") + text % name)
    assert refused(head("9.2", "sm_75") + text % "C", 4) == ["Parsing error near 'C': Invalid language name"]
    assert refused(head("9.1", "sm_75") + text % "PTX", 4) == [
        "Feature '.language' requires PTX ISA .version 9.2 or later"
    ]


def test_newer_pragmas() -> None:
    assert parse(module('.pragma "mma_throughput";', "9.3", "sm_90a")).warnings == []
    assert refused(module('.pragma "mma_throughput";', "9.2", "sm_90a"), 7) == [
        "Feature 'mma_throughput' requires PTX ISA .version 9.3 or later"
    ]


def test_the_command_names_line_and_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "a.ptx"
    for version, word, _, line in ROWS:
        source.write_text(module(line, version, "sm_90a"))
        assert (
            run(["ptxas", "--orias-release=13.5", "-arch=sm_90a", str(source), "-o", str(tmp_path / "a.cubin")]) == 255
        ), line
        errors = [text for text in capsys.readouterr().err.splitlines() if ", line 7; " in text or word[0] == "%"]
        assert any(f"'{word}" in text for text in errors), (line, errors)
    assert not (tmp_path / "a.cubin").exists()

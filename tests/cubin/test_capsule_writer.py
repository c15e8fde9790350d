"""Capsules that Orias writes: equal to ptxas's for ptxas's code, finalised right by nvlink for ours, left out where a rule is missing."""

import itertools
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from orias.cli.main import run
from orias.compiler import compile_text
from orias.cubin import nvinfo
from orias.cubin.capsule.capsule_parser import SHT_CUDA_CAPSULE, capsules
from orias.cubin.capsule.capsule_rules import RULES_PATH, Rules, load_rules, use_rules
from orias.cubin.capsule.capsule_writer import NoCapsule, capsule_bytes, mercury_of
from orias.cubin.capsule.items import HEAD, SAME
from orias.cubin.elf import KIND_CAPSULE, KIND_SASS, ElfFile
from orias.diag import CompileError
from orias.isa.isa_table import load
from orias.isa.op import F_BRANCH, F_CALL, F_RETURNS, op
from orias.isa.operand import K_SB, NOT_PT, PT, RZ, Opnd, imm, kind_of, payload, r
from orias.options import Options
from orias.output.result import CompileResult
from orias.target.decoder_class import table_of_sm
from tests.corpus.test_corpus import needs_objects
from tests.cubin.link_cases import CASES as LINKS
from tests.cubin.linking import link
from tests.cubin.ptx_cases import CASES
from tests.cubin.test_capsules import code_sections
from tests.cubin.test_mixed_links import outcome
from tests.cubin.test_roundtrip import compile_ptx
from tests.device import load as load_image
from tests.forms.form import Form, module_text
from tests.forms.generate import FAMILIES, all_forms
from tests.forms.run import run_form
from tests.kernels.test_kernels import NAMES, source
from tests.kernels.test_kernels import run as run_kernel
from tests.nvtools import LIMIT_S, tool
from tests.ptx.corpus import small_files
from tests.rotation import rotating
from tools.capsules.refine import Judge, Trial, judgeable

FAMILY = {"sm_100": "sm_103", "sm_120": "sm_121"}
"""The SM of an object, and the SM that nvlink makes code for."""
SIMPLE = """
.global .align 4 .b32 gv[8];
.visible .entry k(.param .u64 p0, .param .u32 n) {
  .reg .b64 %rd<6>; .reg .b32 %r<8>; .reg .pred %p<2>; .shared .align 4 .b8 sm[256];
  ld.param.u64 %rd1,[p0]; ld.param.u32 %r5,[n]; mov.u32 %r1,%tid.x; setp.ge.u32 %p1,%r1,%r5; @%p1 ret;
  mul.wide.u32 %rd2,%r1,4; add.s64 %rd3,%rd1,%rd2; ld.global.u32 %r2,[%rd3]; mov.u64 %rd4,gv; ld.global.u32 %r4,[%rd4];
  mov.u32 %r6,sm; st.shared.u32 [%r6],%r2; bar.sync 0; ld.shared.u32 %r2,[%r6]; add.s32 %r2,%r2,%r4; st.global.u32 [%rd3],%r2; ret;
}
"""


def with_head(text: str, arch: str) -> str:
    return f".version 9.0\n.target {arch}\n.address_size 64\n{text}"


def compiled(text: str, arch: str, mode: str = "allow", opt: int = 3, objects: bool = True) -> CompileResult:
    options = Options(arch, opt)
    options.compile_only, options.capsules = objects, mode
    return compile_text([("a.ptx", text)], options)


def finalised(data: bytes, arch: str, folder: Path, name: str = "a.o") -> bytes:
    """What nvlink makes of an object (which it tells from an executable by its name) for the other SM of the family."""
    (folder / name).write_bytes(data)
    out = folder / "f.cubin"
    command = [tool("nvlink"), "-arch", FAMILY[arch], str(folder / name), "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 0, done.stdout + done.stderr
    return out.read_bytes()


def compared(data: bytes) -> tuple[int, int, int]:
    """Of the functions of ptxas's cubin: those whose capsule we write alike, those we do not write, and all."""
    file = ElfFile(data)
    table = load(table_of_sm(file.sm))
    equal = missing = 0
    sections = {s.name: s for s in file.sections}
    found = capsules(file)
    for c in found:
        text = sections[c.text]
        try:
            ours = mercury_of(text.data, table, c.text)
        except NoCapsule:
            missing += 1
            continue
        equal += capsule_bytes(ours.items, text.index) == sections[c.section].data
    return equal, missing, len(found)


@pytest.mark.parametrize("arch", ["sm_100a", "sm_120a"])
def test_round_trip(tmp_path: Path, arch: str) -> None:
    done = [compared(compile_ptx(tmp_path, CASES[case], arch)) for case in ("plain", "params")]
    assert all(equal == of for equal, _, of in done)


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("objects", [False, True])
@pytest.mark.parametrize("arch", ["sm_100", "sm_110", "sm_121f"])
def test_sections(tmp_path: Path, arch: str, objects: bool) -> None:
    """The Mercury sections are those of ptxas: names, types, flags, alignments, links."""
    ours = ElfFile(compiled(with_head(SIMPLE, arch), arch, objects=objects).data)
    theirs = ElfFile(compile_ptx(tmp_path, SIMPLE, arch, *(["-c"] if objects else [])))
    assert ours.flags & 0xFF == theirs.flags & 0xFF == KIND_CAPSULE

    def merc(file: ElfFile) -> list[tuple[str, int, int, int, int, str]]:
        return [
            (s.name, s.type, s.flags, s.align, s.entsize, file.sections[s.link].name)
            for s in file.sections
            if s.name.startswith(".nv.merc") and ".rela.text" not in s.name
        ]

    assert merc(ours) == merc(theirs)
    for name in ("nvdisasm", "cuobjdump"):
        path = tmp_path / "o.cubin"
        path.write_bytes(ours.data)
        command = [tool(name), str(path)] if name == "nvdisasm" else [tool(name), "-sass", "-elf", str(path)]
        assert subprocess.run(command, capture_output=True, timeout=LIMIT_S).returncode == 0


POINTERS = """
.global .align 8 .b32 g[4] = {1,2,3,4};
.const .align 8 .u64 c[2] = {g, generic(g)};
.func (.reg .b32 r) f(.reg .b32 a) { add.s32 r,a,1; ret; }
.func (.reg .b32 r) h(.reg .b32 a) { mul.lo.s32 r,a,a; ret; }
.global .align 8 .u64 table[2] = {f, h};
.visible .entry k(.param .u64 p0, .param .u32 q) {
  .reg .b64 %rd<8>; .reg .b32 %r<8>; .reg .pred %p<2>;
  ld.param.u64 %rd1,[p0]; ld.param.u32 %r1,[q]; cvt.u64.u32 %rd2,%r1; ld.global.u32 %r2,[%rd1];
  mov.u64 %rd3,f; setp.eq.u32 %p1,%r2,4; mov.u64 %rd4,table; add.u64 %rd4,%rd4,%rd2; ld.global.u64 %rd5,[%rd4];
  selp.u64 %rd3,%rd3,%rd5,%p1; prot: .callprototype (.reg .b32 r) _ (.reg .b32 a); call (%r3),%rd3,(%r2),prot;
  st.global.u32 [%rd1],%r3; mov.u64 %rd4,c; add.u64 %rd4,%rd4,%rd2; ld.const.u64 %rd5,[%rd4]; st.global.u64 [%rd1+8],%rd5; ret;
}
"""
BRANCHES = """
.visible .entry k(.param .u64 p0) {
  .reg .b64 %rd<8>; .reg .b32 %r<8>; ld.param.u64 %rd1,[p0]; ld.global.u32 %r1,[%rd1+4];
  ts: .branchtargets L1, L2, L3, L4, L5, L6, L7, L8; brx.idx %r1, ts;
  L1: st.global.u32 [%rd1+4],%r1; bra L9; L2: st.global.u32 [%rd1+8],%r1; bra L9; L3: st.global.u32 [%rd1+12],%r1; bra L9;
  L4: st.global.u32 [%rd1+16],%r1; bra L9; L5: st.global.u32 [%rd1+20],%r1; bra L9; L6: st.global.u32 [%rd1+24],%r1; bra L9;
  L7: st.global.u32 [%rd1+28],%r1; bra L9; L8: st.global.u32 [%rd1+32],%r1; L9: ret;
}
"""


def relocation_types(data: bytes) -> dict[str, set[int]]:
    """The types of each Mercury relocation section."""
    return {
        s.name: {int.from_bytes(s.data[i + 8 : i + 12], "little") for i in range(0, len(s.data), 24)}
        for s in ElfFile(data).sections
        if s.name.startswith(".nv.merc.rela")
    }


@pytest.mark.parametrize("arch", sorted(FAMILY))
def test_addresses(tmp_path: Path, arch: str) -> None:
    """Addresses of functions and in initial values have the Mercury relocations of ptxas, and are right once finalised."""
    ours = compiled(with_head(POINTERS, arch), arch, "require").data
    assert relocation_types(ours) == relocation_types(compile_ptx(tmp_path, POINTERS, arch, "-c"))
    assert not changes(ours, finalised(ours, arch, tmp_path))


def test_branch_tables(tmp_path: Path) -> None:
    """Tables of branch targets (executables have them) are zeros with a relocation for each target, as with ptxas."""
    ours = compiled(with_head(BRANCHES, "sm_100"), "sm_100", "require", objects=False).data
    theirs = compile_ptx(tmp_path, BRANCHES, "sm_100")
    assert relocation_types(ours) == relocation_types(theirs)
    name = ".nv.merc.nv.constant.optimizer.k"
    a, b = ElfFile(ours).section(name), ElfFile(theirs).section(name)
    assert a is not None and b is not None
    assert (a.type, a.flags, a.align, a.data) == (b.type, b.flags, b.align, b.data)
    records = {r.code: r for r in nvinfo.decode(ElfFile(ours).section(".nv.merc.nv.info.k").data)}
    words = records[nvinfo.INDIRECT_BRANCH_TARGETS].payload
    targets = [int.from_bytes(words[k : k + 4], "little") for k in range(12, len(words), 4)]
    rela = ElfFile(ours).section(".nv.merc.rela.nv.constant.optimizer.k").data
    addends = [int.from_bytes(rela[k + 16 : k + 24], "little") for k in range(0, len(rela), 24)]
    assert targets == addends[::-1]
    assert len(set(targets)) == 8


UNUSED_SHARED = """
.visible .entry k(.param .u64 p0) {
  .reg .b64 %rd<4>; .reg .b32 %r<4>; .shared .align 4 .b8 sm[256]; ld.param.u64 %rd1,[p0]; mov.u32 %r1,sm; st.global.u32 [%rd1],0; ret;
}
"""


@pytest.mark.parametrize("arch", sorted(FAMILY))
def test_no_empty_relocations(tmp_path: Path, arch: str) -> None:
    """An object has no empty section of relocations, as with ptxas: with a capsule beside it, nvlink crashes."""
    ours = compiled(with_head(UNUSED_SHARED, arch), arch, "require").data
    theirs = compile_ptx(tmp_path, UNUSED_SHARED, arch, "-c")
    names = [{s.name for s in ElfFile(x).sections if "rela.text" in s.name} for x in (ours, theirs)]
    assert names == [set(), set()]
    assert not changes(ours, finalised(ours, arch, tmp_path))


@pytest.mark.parametrize("arch", sorted(FAMILY))
def test_branch_tables_of_objects(tmp_path: Path, arch: str) -> None:
    """In objects the linker places a table of branch targets: relocations as with ptxas, and right once finalised."""
    ours = compiled(with_head(BRANCHES, arch), arch, "require").data
    assert relocation_types(ours) == relocation_types(compile_ptx(tmp_path, BRANCHES, arch, "-c"))
    image = load_image(finalised(ours, arch, tmp_path))
    for k in range(8):
        out = np.zeros(9, np.uint32)
        out[1] = k
        image.launch("k", 1, 1, [out])
        assert [i for i in range(2, 9) if out[i] == k and k] == ([k + 1] if k else [])


MIXED = (("division", "sm_100"), ("branch tables and constants", "sm_120"))
"""Cases of tests/cubin/link_cases.py, and the target of the objects."""


def sibling_links(name: str, arch: str, opt: int, folder: Path) -> list[str]:
    """The links of a case for the sibling SM, of objects of ours and of ptxas's, that compute something else than ptxas's."""
    objects: dict[tuple[int, bool], Path] = {}
    for number, text in enumerate(LINKS[name]):
        for mine in (False, True):
            objects[number, mine] = folder / f"{number}{mine}.o"
            whole = with_head(text, arch)
            data = compiled(whole, arch, "require", opt).data if mine else compile_ptx(folder, text, arch, "-c")
            objects[number, mine].write_bytes(data)
    wanted = outcome(link([objects[0, False], objects[1, False]], FAMILY[arch], folder))
    assert any(wanted)
    mixtures = ((False, True), (True, False), (True, True))
    found = [outcome(link([objects[0, a], objects[1, b]], FAMILY[arch], folder)) for a, b in mixtures]
    return [f"{name} {m}: {f}, want {wanted}" for m, f in zip(mixtures, found, strict=True) if f != wanted]


@pytest.mark.parametrize(("name", "arch"), MIXED)
def test_links_for_the_sibling(tmp_path: Path, name: str, arch: str) -> None:
    """Two objects with capsules, in every mixture with ptxas's, are one right cubin for the other SM of the family."""
    assert not sibling_links(name, arch, 3, tmp_path)


@pytest.mark.sweep
@pytest.mark.parametrize("arch", sorted(FAMILY))
def test_links_for_the_sibling_sweep(tmp_path: Path, arch: str) -> None:
    wrong = []
    for n, name in enumerate(rotating(list(LINKS), 10, f"links for the sibling {arch}")):
        wrong += sibling_links(name, arch, (0, 1, 3)[n % 3], tmp_path)
    assert not wrong


@pytest.mark.parametrize("arch", ["sm_100a", "sm_103f", "sm_110", "sm_110a", "sm_120", "sm_121"])
def test_own_target(tmp_path: Path, arch: str) -> None:
    """nvlink takes objects with capsules for their own SM (a wrong symbol of reserved shared memory crashes it)."""
    result = compiled(with_head(SIMPLE, arch), arch, "require")
    (tmp_path / "a.o").write_bytes(result.data)
    command = [tool("nvlink"), "-arch", arch, str(tmp_path / "a.o"), "-o", str(tmp_path / "f.cubin")]
    assert subprocess.run(command, capture_output=True, timeout=LIMIT_S).returncode == 0


@pytest.fixture
def without_stores() -> Iterator[None]:
    """The table of rules without that of STG."""
    lines = Path(RULES_PATH).read_text().splitlines()
    use_rules(Rules([x for x in lines if not x.startswith("STG")]))
    yield
    use_rules(Rules(lines, in_order=True))


@pytest.mark.usefixtures("without_stores")
def test_without_a_rule() -> None:
    """A cubin without a known Mercury form of everything in it has none of the sections, and says why."""
    result = compiled(with_head(SIMPLE, "sm_100"), "sm_100")
    file = ElfFile(result.data)
    assert file.flags & 0xFF == KIND_SASS
    assert not [s for s in file.sections if "merc" in s.name]
    assert result.no_capsule
    with pytest.raises(CompileError, match="No capsules: "):
        compiled(with_head(SIMPLE, "sm_100"), "sm_100", "require")
    assert compiled(with_head(SIMPLE, "sm_90"), "sm_90").no_capsule == "sm_90 has none"
    plain = compiled(with_head(SIMPLE, "sm_100"), "sm_100", "forbid")
    assert ElfFile(plain.data).flags & 0xFF == KIND_SASS
    assert not plain.no_capsule


@pytest.mark.usefixtures("without_stores")
def test_refused_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "a.ptx", tmp_path / "a.cubin"
    path.write_text(with_head(SIMPLE, "sm_100"))
    assert run(["orias", "-arch=sm_100", "-v", "--capsules=allow", str(path), "-o", str(out)]) == 0
    assert "No capsules: " in capsys.readouterr().err
    assert run(["orias", "-arch=sm_100", "-v", str(path), "-o", str(out)]) == 0
    assert "No capsules: " not in capsys.readouterr().err
    assert run(["orias", "-arch=sm_100", "--capsules=require", str(path), "-o", str(out)]) != 0
    assert "No capsules: " in capsys.readouterr().err
    assert run(["orias", "-arch=sm_100", "--capsules=maybe", str(path), "-o", str(out)]) != 0


def test_command_line(tmp_path: Path) -> None:
    path, out = tmp_path / "a.ptx", tmp_path / "a.cubin"
    path.write_text(with_head(SIMPLE, "sm_100"))
    for options, names in (
        (["--capsules=require"], [".nv.capmerc.text.k"]),
        (["--capsules=allow"], [".nv.capmerc.text.k"]),
        ([], [".nv.capmerc.text.k"]),
        (["--no-capsules"], []),
        (["--capsules=forbid"], []),
    ):
        assert run(["orias", "-arch=sm_100", *options, str(path), "-o", str(out)]) == 0
        file = ElfFile(out.read_bytes())
        assert [s.name for s in file.sections if s.type == SHT_CUDA_CAPSULE] == names
        assert file.flags & 0xFF == (KIND_CAPSULE if names else KIND_SASS)


def test_rules() -> None:
    """Conditions are asked in the order of the lines; what no line covers has no rule."""
    table = load("sm_100")
    head = "MOV R | R=255\thead 42100102"
    zero, plain = (table.decode(table.encode(op("MOV"), PT, [r(4)], [source_], 0x7F1)) for source_ in (RZ, r(3)))
    rules = Rules([head, "MOV R | R=r\tsame 2"])
    found = rules.find([zero]), rules.find([plain])
    assert [(x.kind, x.units) for x in found if x is not None] == [(HEAD, 2), (SAME, 2)]
    assert Rules([head]).find([plain]) is None
    with pytest.raises(ValueError, match="no rule of a capsule"):
        Rules(["MOV R | R"]).parse_all()
    load_rules().parse_all()
    assert load_rules() is load_rules()
    names = [x[: x.index(" ") + 1] for x in Path(RULES_PATH).read_text().splitlines()]
    assert names == sorted(names)


PACKED = """
.visible .entry k(.param .u64 p0) {
  .reg .b64 %rd<4>; .reg .b32 %r<4>;
  ld.param.u64 %rd1,[p0]; ld.global.v2.b32 {%r1,%r2},[%rd1]; add.s16x2 %r3,%r1,%r2; st.global.u32 [%rd1+8],%r3; ret;
}
"""


@pytest.mark.parametrize("arch", ["sm_100", "sm_110", "sm_120", "sm_121a"])
def test_packed_sums(tmp_path: Path, arch: str) -> None:
    """VIADD.16x2 is stated in full: as the word itself, which sm_100 may have, it crashes nvlink on sm_120."""
    (tmp_path / "a.o").write_bytes(compiled(with_head(PACKED, arch), arch, "require").data)
    command = [tool("nvlink"), "-arch", arch, str(tmp_path / "a.o"), "-o", str(tmp_path / "f.cubin")]
    assert subprocess.run(command, capture_output=True, timeout=LIMIT_S).returncode == 0


def instructions(data: bytes, section: str) -> list[tuple[Opnd, str, list[Opnd], list[Opnd]]]:
    """Guard, operation, results and sources of the instructions of a section, without those that the linker makes anew.

    It orders code anew, and waits for some of several textures by DEPBAR where scoreboards are short; 0 is that of asynchronous copies.
    """
    file = ElfFile(data)
    table = load(table_of_sm(file.sm))
    code = file.section(section)
    assert code is not None
    words = [int.from_bytes(code.data[at : at + 16], "little") for at in range(0, len(code.data), 16)]
    decoded = [d for d in map(table.decode, words) if d.op.name != "NOP" and (d.op.name, d.guard) != ("LDS", NOT_PT)]
    out = []
    for d in decoded:
        if d.op.name == "DEPBAR.LE" and any(kind_of(o) == K_SB and payload(o) for o in d.src):
            continue
        targets = d.op.flags & (F_BRANCH | F_CALL | F_RETURNS) or d.op.base == "BSSY"
        out.append((d.guard, d.op.name, d.dst, [] if targets else d.src))
    while out and out[-1][1] == "BRA":
        out.pop()
    return out


def changes(before: bytes, after: bytes) -> list[str]:
    """The functions of an object whose instructions are others once finalised; the other SM has the same ones, save their order."""
    names = {s.name for s in ElfFile(after).sections} & set(code_sections(ElfFile(before)))
    return [n for n in sorted(names) if instructions(before, n) != instructions(after, n)]


UNCOMMON = [
    (part.partition("\n")[0], part.partition("\n")[2])
    for part in Path(__file__).with_name("data").joinpath("uncommon_capsules.txt").read_text().split("== ")[1:]
]
"""Kernels whose forms no program of ptxas showed or whose rules did not hold for their operands: what they are about, and their bodies."""


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", sorted(FAMILY))
@pytest.mark.parametrize(("name", "body"), UNCOMMON, ids=[name for name, _ in UNCOMMON])
def test_uncommon_forms(tmp_path: Path, name: str, body: str, arch: str) -> None:
    """Instructions that had no rule have one at every level, and nvlink gives them back."""
    head = ".visible .entry k(.param .u64 p, .param .u32 n) { .reg .b64 %a; .reg .b32 %q; ld.param.u64 %a,[p]; ld.param.u32 %q,[n];"
    text = with_head(f"{head}\n{body}ret; }}\n", arch)
    for opt in (0, 1, 3):
        before = compiled(text, arch, "require", opt).data
        assert changes(before, finalised(before, arch, tmp_path)) == [], (name, opt)


def check_files(paths: list[Path], arch: str, folder: Path) -> tuple[int, list[str]]:
    """Number of corpus files with capsules that link, and functions that finalising changes."""
    linked, wrong = 0, []
    for path in paths:
        text = path.read_text(errors="replace")
        if any(kind in text for kind in (".texref", ".surfref", ".samplerref")):
            # nvlink puts the places of handles into the code: the test of references runs it.
            continue
        try:
            result = compiled(text, arch)
        except CompileError:
            continue
        if result.no_capsule:
            continue
        (folder / "a.o").write_bytes(result.data)
        command = [tool("nvlink"), "-arch", FAMILY[arch], str(folder / "a.o"), "-o", str(folder / "f.cubin")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
        if done.returncode and "Undefined reference" in done.stdout + done.stderr:
            continue
        assert done.returncode == 0, f"{path.name}: {done.stdout}{done.stderr}"
        linked += 1
        wrong += [f"{path.name}: {n}" for n in changes(result.data, (folder / "f.cubin").read_bytes())]
    return linked, wrong


def judged_anew(arch: str, count: int, folder: Path) -> tuple[int, dict[str, list[str]]]:
    """Send rules of the table through nvlink with other operands: how many it could judge, and those that must change."""
    lines = [x for x in Path(RULES_PATH).read_text().splitlines() if x and not x.startswith("#")]
    try:
        judge = Judge(lines, arch, folder, rotating(range(100), 1, arch)[0], False)
        trials = [Trial(x) for x in rotating([x for x in lines if judgeable(x, arch)], count, f"rules {arch}")]
        changed = judge.refine(trials)
    finally:
        use_rules(Rules(lines))
    return sum(bool(t.results) for t in trials), changed


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("arch", sorted(FAMILY))
def test_rules_in_nvlink(tmp_path: Path, arch: str) -> None:
    """Instructions with every class of operand that a rule allows come back from nvlink as they were, and have the length that the rule says."""
    judged, changed = judged_anew(arch, 10, tmp_path)
    assert judged >= 5
    assert not changed


@pytest.mark.sweep
@pytest.mark.parametrize("arch", sorted(FAMILY))
def test_rules_in_nvlink_sweep(tmp_path: Path, arch: str) -> None:
    judged, changed = judged_anew(arch, 300, tmp_path)
    assert judged >= 200
    assert not changed


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    ("arch", "text", "count"),
    [
        ("sm_120", "USEL.64 U | U I Q\t", 1),
        ("sm_100", " + NOP |\t", 100),
        ("sm_120", "UF2I.", 60),
        ("sm_100", " + SYNCS.ARRIVE.", 5),
        ("sm_120", "SYNCS.PHASECHK.TRANS64.TRYWAIT P=1", 2),
        ("sm_100", "ULEA.HI", 15),
        ("sm_100", "SYNCS.ARRIVE.TRANS64.TMASK", 8),
        ("sm_120", "SYNCS.ARRIVE.TRANS64.TMASK", 8),
        ("sm_100", "W:SR_VIRTID\twhole 11", 1),
        ("sm_120", "W:SR_VIRTID\twhole 11", 1),
    ],
)
def test_all_rules_of_a_kind_in_nvlink(tmp_path: Path, arch: str, text: str, count: int) -> None:
    """Constants of 64 bits; accesses that acquire at CTA scope, with what waits for them; conversions on the uniform datapath; barriers in
    memory at any address, RZ too; upper words of sums with shifts on the uniform datapath; states of arrivals; a special register.
    """
    lines = [x for x in Path(RULES_PATH).read_text().splitlines() if x and not x.startswith("#")]
    try:
        judge = Judge(lines, arch, tmp_path, 1, False)
        trials = [Trial(x) for x in lines if text in x and judgeable(x)]
        assert not judge.refine(trials)
    finally:
        use_rules(Rules(lines))
    assert sum(bool(t.results) for t in trials) >= count


def test_all_combinations_in_nvlink(tmp_path: Path) -> None:
    """The length of a comparison depends on three operands together."""
    lines = [x for x in Path(RULES_PATH).read_text().splitlines() if x and not x.startswith("#")]
    comparisons = [x for x in lines if x.startswith(("DSETP.", "FSETP.")) and "P=n\tsame 2" in x]
    try:
        judge = Judge(lines, "sm_100", tmp_path, 1, False)
        trials = [Trial(x) for x in rotating(comparisons, 8, "combinations")]
        judge.cases(trials, [(i, "".join(c), "T") for i, t in enumerate(trials) for c in itertools.product(*t.options)])
    finally:
        use_rules(Rules(lines))
    assert all(t.results for t in trials)
    assert not [t.texts for t in trials if t.texts]


def test_an_acquire_that_waits_for_nothing_is_found(tmp_path: Path) -> None:
    """As the rule of an atomic that does not acquire, with a NOP after it."""
    lines = Path(RULES_PATH).read_text().splitlines()
    exit_ = [x for x in lines if x.startswith("EXIT ")]
    plain = next(x for x in lines if x.startswith("ATOMG.E.ADD.STRONG.SM R P=+ | U R U=255 I R\t"))
    wrong = plain.replace(" R\t", " R + NOP |\t").replace("U R U", "U R=r U")
    try:
        judge = Judge([*exit_, wrong], "sm_100", tmp_path, 1, False)
        trial = Trial(wrong)
        found = judge.refine([trial])
    finally:
        use_rules(Rules(lines))
    assert found == {wrong: []}
    assert any("does not wait" in x for x in trial.texts)


def test_a_wrong_rule_is_found(tmp_path: Path) -> None:
    """The judge of the rules finds a wrong length, and restricts a rule to the operands that it is right for."""
    exit_ = [x for x in Path(RULES_PATH).read_text().splitlines() if x.startswith("EXIT ")]
    wrong, wide = "FADD R | R R\tsame 2", "FMNMX R | R R P\tsame"
    try:
        judge = Judge([*exit_, wrong, wide], "sm_100", tmp_path, 1, False)
        found = judge.refine([Trial(wrong), Trial(wide)])
    finally:
        use_rules(Rules(Path(RULES_PATH).read_text().splitlines()))
    assert found == {wrong: [], wide: ["FMNMX R | R R P=7\tsame", "FMNMX R | R R P=15\tsame"]}


def test_tables_of_logic() -> None:
    """A rule can ask for a table of LOP3 that is an AND or OR of two operands, or for another one (XOR is neither)."""
    table = load("sm_100")

    def found(value: int) -> int | None:
        word = table.encode(op("LOP3.LUT"), PT, [r(4)], [r(3), r(5), r(6), imm(value), NOT_PT], 0x7F1)
        rule = Rules(["LOP3.LUT R | R R R I=a P=15\tsame", "LOP3.LUT R | R R R I=l P=15\tsame 2"]).find(
            [table.decode(word)]
        )
        return rule.units if rule is not None else None

    assert [found(v) for v in (0xC0, 0xFC, 0x3F, 0x96, 0x80, 0x3C)] == [1, 1, 1, 2, 2, None]


def check_forms(forms: list[Form], arch: str, folder: Path, opt: int = 3) -> tuple[int, list[str]]:
    """Number of forms with a capsule, and those that are wrong once finalised."""
    written, wrong = 0, []
    for form in forms:
        try:
            result = compiled(module_text([form], arch), arch, opt=opt)
        except CompileError:
            continue
        if result.no_capsule:
            continue
        written += 1
        image = load_image(finalised(result.data, arch, folder))
        wrong += run_form(image, "k0", form)
    return written, wrong


def forms_of(arch: str, everything: bool = False) -> list[Form]:
    sm = int(arch[3:])
    families = all_forms() if everything else {"warp": FAMILIES["warp"](), "memory": FAMILIES["memory"]()}
    return [f for fs in families.values() for f in fs if f.sm <= sm and (not f.archs or arch in f.archs)]


def check_kernels(names: list[str], arch: str, folder: Path, opt: int = 3) -> int:
    written = 0
    for name in names:
        result = compiled(source(name), arch, opt=opt)
        if not result.no_capsule:
            run_kernel(name, finalised(result.data, arch, folder))
            written += 1
    return written


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("arch", sorted(FAMILY))
def test_finalised(tmp_path: Path, arch: str) -> None:
    _, wrong = check_forms(rotating(forms_of(arch), 4, f"finalised {arch}"), arch, tmp_path)
    assert not wrong
    check_kernels(["saxpy", *rotating(NAMES, 1, f"finalised kernels {arch}")], arch, tmp_path)
    _, changed = check_files(rotating(small_files(arch), 3, f"finalised files {arch}"), arch, tmp_path)
    assert not changed


@pytest.mark.sweep
@pytest.mark.parametrize("arch", ["sm_100a", "sm_103a", "sm_110a", "sm_120a", "sm_121a"])
def test_round_trip_sweep(tmp_path: Path, arch: str) -> None:
    """Corpus files: most functions have ptxas's capsule byte for byte, and few have none.

    All small files together give 84 % and 3 % (docs/facts/capsules.md); samples of a day go down to 65 %.
    """
    equal = missing = functions = 0
    for path in rotating(small_files(arch), 60, f"round trip {arch}"):
        options = ["-c"] if needs_objects(path.read_text(errors="replace")) else []
        out = tmp_path / "a.cubin"
        command = [tool("ptxas"), f"-arch={arch}", *options, str(path), "-o", str(out)]
        if subprocess.run(command, capture_output=True, timeout=LIMIT_S).returncode == 0:
            e, m, n = compared(out.read_bytes())
            equal, missing, functions = equal + e, missing + m, functions + n
    assert functions
    assert equal >= 0.6 * functions, (equal, functions)
    assert missing <= 0.15 * functions, (missing, functions)


@pytest.mark.sweep
@pytest.mark.parametrize("opt", [0, 3])
@pytest.mark.parametrize("arch", sorted(FAMILY))
def test_finalised_sweep(tmp_path: Path, arch: str, opt: int) -> None:
    forms = rotating(forms_of(arch, True), 200, f"sweep finalised {arch}")
    written, wrong = check_forms(forms, arch, tmp_path, opt)
    assert not wrong
    assert written > 0.85 * len(forms)
    assert check_kernels(NAMES, arch, tmp_path, opt) == len(NAMES)


@pytest.mark.sweep
@pytest.mark.parametrize("arch", sorted(FAMILY))
def test_finalised_files_sweep(tmp_path: Path, arch: str) -> None:
    linked, changed = check_files(rotating(small_files(arch), 100, f"sweep of finalised files {arch}"), arch, tmp_path)
    assert not changed
    assert linked >= 60

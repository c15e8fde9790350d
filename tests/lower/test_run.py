"""What lowering makes, run in the simulator next to ptxas's code for the same PTX: the results must be the same.

Each line of ``cases/lines`` runs on 64 threads with different operands; the modules of ``cases/modules`` run as they are.
"""

import os
import random
import re
import subprocess
from pathlib import Path

import pytest

import orias
from orias.sim.core.sim_errors import PartOfWarp
from tests.lower.test_cases import _NAME, _PREFIX, HERE, read
from tests.nvtools import LIMIT_S, tool
from tests.rotation import some_later, with_later

np = pytest.importorskip("numpy")
sim = pytest.importorskip("orias.sim")

THREADS = 64
BYTES = 512
_EDGES = [0, 1, 2, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 31, 32, 33, 63, 64, 0x8000, 0xFFFF, 0x10000, 0xFF, 7, 5, 16]
_SKIP = re.compile(
    # clocks, traps, invalid member masks or barrier numbers, addresses without memory, racing results, undefined carries
    r"clock|globaltimer|trap|brkpt|bar.*%r1|sync.*, %r\d;|99999999|ld.shared.u8 %r1, \[%d1|cas.b16|shared.max|"
    r"^@%p2 shfl|^@!%p1 add.cc|cluster|mov.u64 %d1, (lo|gl)|relu|16x2|elect|^refused|barrier.cluster|exit|ret;|v2.f32|envreg|"
    r"cvta.(local|to)|griddep|mma|matrix|tex|tld4|suld|sust|sured|txq|suq|red.global.add.f32 \[gl\]|"
    # random policies, addresses and handles (and ptxas's words for them that the table lacks: docs/isa-status.md)
    r"cache_hint|multimem|istypep"
)


def kernel(line: str, arch: str) -> str:
    """A kernel that runs the line on the operands of its thread and stores every register and some memory."""
    names = sorted(set(_NAME.findall(line)))
    decl = loads = stores = ""
    for j, (k, n) in enumerate(names):
        at = f"[%ad+{16 * j}]"
        decl += f".reg .{_PREFIX[k]} %{k}{n};"
        if k == "p":
            loads += f"ld.global.u32 %ar, {at}; and.b32 %ar, %ar, 1; setp.ne.u32 %{k}{n}, %ar, 0;\n"
            stores += f"selp.u32 %ar, 1, 0, %{k}{n}; st.global.u32 {at}, %ar;\n"
        elif re.search(rf"\[%{k}{n}\b", line):
            loads += f"add.u64 %{k}{n}, %ad, 256;\n" if k == "d" else f"mov.u32 %{k}{n}, sh;\n"
        else:
            loads += f"ld.global.{_PREFIX[k]} %{k}{n}, {at};\n"
            stores += f"st.global.{_PREFIX[k]} {at}, %{k}{n};\n"
    if "sh" in line or "[%r" in line:
        stores += "bar.sync 0; ld.shared.u32 %ar, [sh]; st.global.u32 [%ad+304], %ar;\n"
        stores += "ld.shared.u32 %ar, [sh+4]; st.global.u32 [%ad+308], %ar;\n"
    if "lo+" in line:
        stores += "ld.local.u32 %ar, [lo+8]; st.global.u32 [%ad+320], %ar;\n"
    version = "9.0" if int(arch[3:].rstrip("af")) > 103 else "8.8"
    return f""".version {version}
.target {arch}
.address_size 64
.global .align 8 .b8 gl[64]; .const .align 8 .b8 pad[16];
.const .align 8 .b8 co[64] = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 200}};
.visible .entry k(.param .u64 p, .param .align 8 .b8 st[32]) {{
.reg .b64 %ad; .reg .b32 %ar; {decl}
.shared .align 16 .b8 sh0[16]; .shared .align 16 .b8 sh[64]; .local .align 16 .b8 lo[64];
ld.param.u64 %ad, [p]; mov.u32 %ar, %tid.x; mad.wide.u32 %ad, %ar, {BYTES}, %ad; st.shared.u8 [sh0], 0;
{loads} mov.u32 %ar, %tid.x; st.shared.u32 [sh], 3; st.shared.u32 [sh+4], 5; st.shared.u32 [sh+8], 17;
st.shared.u32 [sh+12], 99; st.local.u32 [lo], %ar; st.local.u32 [lo+4], 77; st.local.u32 [lo+8], 55; st.local.u32 [lo+12], 23;
bar.sync 0;
{line}
{stores} ret; }}
"""


def operands() -> "np.ndarray[tuple[int], np.dtype[np.uint8]]":
    rng = random.Random(1)
    words = [rng.choice(_EDGES) if rng.random() < 0.5 else rng.getrandbits(32) for _ in range(THREADS * BYTES // 4)]
    return np.array(words, dtype=np.uint32).view(np.uint8)


def theirs(ptx: str, arch: str, folder: Path) -> bytes:
    ptxas = tool("ptxas")
    source, out = folder / "k.ptx", folder / "k.cubin"
    source.write_text(ptx)
    subprocess.run(
        [ptxas, "-arch", arch, str(source), "-o", str(out)], check=True, timeout=LIMIT_S, capture_output=True
    )
    return out.read_bytes()


def results(cubin: bytes, words: int) -> bytes:
    data = operands().copy()
    args = [data, bytes(range(32))] if words else [data, 77]
    sim.load(cubin).launch("k", 1, THREADS, args)
    return data.tobytes()


def differences(lines: list[str], arch: str, level: int, folder: Path) -> list[str]:
    """What our code does otherwise than ptxas's; a line that ptxas refuses must be one that the target lacks, for us too."""
    out = []
    for line in lines:
        ptx = kernel(line, arch)
        try:
            want = results(theirs(ptx, arch, folder), 32)
        except subprocess.CalledProcessError as e:
            if b"requires .target" not in e.stderr:
                out.append(f"{line}: {e.stderr.decode()}")
            with pytest.raises(orias.CompileError):
                orias.compile(ptx, arch=arch)
            continue
        try:
            got = results(orias.compile(ptx, arch=arch, opt_level=level).data, 32)
        except PartOfWarp:
            # An aligned barrier that part of a warp runs has no meaning.
            continue
        if got != want:
            at = next(k for k in range(len(got)) if got[k] != want[k])
            out.append(f"{line}: thread {at // BYTES} byte {at % BYTES}")
    return out


def lines_of(name: str) -> list[str]:
    return [t for t in read(os.path.join(HERE, "lines", name)) if t and t[0] not in " #" and not _SKIP.search(t)]


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", ["integer.txt", "bits.txt", "compare.txt", "memory.txt", "atomics.txt"])
def test_lines_sample(name: str, tmp_path: Path) -> None:
    arch = {"integer.txt": "sm_75", "bits.txt": "sm_80"}.get(name, "sm_90")
    assert differences(lines_of(name)[::4], arch, 3, tmp_path) == []


TEXT_ONLY = {
    "add_multiply.txt": "carries that no instruction before has set",
    "barriers.txt": "barriers and clusters that need other threads",
    "convert_int.txt": "cvt.pack: ptxas writes a 4-bit I2IP that the simulator refuses",
    "divide_float.txt": "quotients of NaNs, whose payloads differ",
    "loads_stores.txt": "addresses without memory",
    "mbarrier.txt": "addresses that are no barrier objects",
    "policy.txt": "policies, which the driver gives a meaning",
    "tensormap.txt": "addresses that are no tensor maps",
}
"""Files of cases/lines whose text alone is compared (tests/lower/test_cases.py), and why their lines are not run."""


@pytest.mark.sweep
@pytest.mark.parametrize("level", [0, 1, 3])
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", *some_later("lines")])
@pytest.mark.parametrize("name", sorted(set(os.listdir(os.path.join(HERE, "lines"))) - TEXT_ONLY.keys()))
def test_lines_all(name: str, arch: str, level: int, tmp_path: Path) -> None:
    assert differences(lines_of(name), arch, level, tmp_path) == []


def programs() -> dict[str, str]:
    out: dict[str, str] = {}
    name = ""
    for line in read(os.path.join(HERE, "modules", "programs.txt")):
        if line.startswith("##"):
            name = line[2:].strip()
            out[name] = ""
        elif not line.startswith(" "):
            out[name] += line + "\n"
    return out


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("arch", with_later(["sm_75", "sm_80", "sm_90"], "programs"))
def test_programs(arch: str, level: int, tmp_path: Path) -> None:
    for name, ptx in programs().items():
        want = results(theirs(ptx, arch, tmp_path), 0)
        assert results(orias.compile(ptx, arch=arch, opt_level=level).data, 0) == want, name


PRESERVE = """.version 9.0
.target sm_80
.address_size 64
.func (.param .b32 r) f(.param .b32 a) .abi_preserve 24 .abi_preserve_control 2 { .reg .b32 %r<3>; ld.param.u32 %r1, [a]; mul.lo.u32 %r1, %r1, 3;
st.param.b32 [r], %r1; ret; }
.visible .entry k(.param .u64 p, .param .u32 x) { .reg .b32 %r<4>; .reg .b64 %d<2>; ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; mad.wide.u32 %d1, %r1, 512, %d1;
{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call.uni (b), f, (a); ld.param.b32 %r2, [b]; } add.u32 %r2, %r2, %r1; st.global.u32 [%d1], %r2; ret; }
"""


def test_abi_preserve(tmp_path: Path) -> None:
    """Within a module the number of kept registers is an agreement of our own; a linked module would rely on it."""
    want = results(theirs(PRESERVE, "sm_80", tmp_path), 0)
    assert results(orias.compile(PRESERVE, arch="sm_80").data, 0) == want
    with pytest.raises(orias.CompileError, match="abi_preserve' in a relocatable module"):
        orias.compile(PRESERVE, arch="sm_80", compile_only=True)


CLUSTER = """.version 9.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) .explicitcluster .reqnctapercluster 2, 2, 1 {
.reg .b64 %d<2>; .reg .b32 %r<20>; .reg .pred %p; ld.param.u64 %d1, [p];
mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ctaid.y; mov.u32 %r3, %nctaid.x; mad.lo.u32 %r1, %r2, %r3, %r1; mad.wide.u32 %d1, %r1, 64, %d1;
mov.u32 %r4, %clusterid.x; st.global.u32 [%d1], %r4; mov.u32 %r5, %clusterid.y; st.global.u32 [%d1+4], %r5;
mov.u32 %r6, %cluster_ctaid.x; st.global.u32 [%d1+8], %r6; mov.u32 %r7, %cluster_ctaid.y; st.global.u32 [%d1+12], %r7;
mov.u32 %r8, %cluster_nctaid.x; st.global.u32 [%d1+16], %r8; mov.u32 %r9, %nclusterid.x; st.global.u32 [%d1+20], %r9;
mov.u32 %r10, %nclusterid.y; st.global.u32 [%d1+24], %r10; mov.u32 %r11, %cluster_nctarank; st.global.u32 [%d1+28], %r11;
mov.u32 %r12, %cluster_ctarank; st.global.u32 [%d1+32], %r12; mov.u32 %r13, %dynamic_smem_size; st.global.u32 [%d1+36], %r13;
mov.pred %p, %is_explicit_cluster; selp.u32 %r14, 1, 0, %p; st.global.u32 [%d1+40], %r14;
mov.u32 %r15, %cluster_nctaid.z; st.global.u32 [%d1+44], %r15; mov.u32 %r16, %nctaid.y; st.global.u32 [%d1+48], %r16; ret; }
"""


@pytest.mark.parametrize("arch", with_later(["sm_90"], "clusters"))
def test_words_about_clusters(arch: str, tmp_path: Path) -> None:
    """From sm_100 on these words of bank 0 move with SR_CgaSize, which the simulator makes 1 in a cluster."""
    rows = [
        [x // 2, y // 2, x % 2, y % 2, 2, 3, 2, 4, y % 2 * 2 + x % 2, 96, 1, 1, 4, 0, 0, 0]
        for y in range(4)
        for x in range(6)
    ]
    for cubin in (
        *(orias.compile(CLUSTER, arch=arch, opt_level=k).data for k in (0, 3)),
        theirs(CLUSTER, arch, tmp_path),
    ):
        data = np.zeros((24, 16), np.uint32)
        sim.load(cubin).launch("k", (6, 4, 1), 1, [data], shared=96)
        assert data.tolist() == rows

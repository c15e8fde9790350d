"""``-sanitize memcheck``: in the simulator, with the tables of a tool, our code reports what ptxas's reports."""

import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

import orias
from orias.sim.core.image import Image
from orias.sim.core.sim_errors import SimError
from tests.nvtools import LIMIT_S, tool

PROGRAM = """.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 data, .param .u32 shared_at, .param .u32 local_at, .param .s64 far)
{
    .reg .b64 %d<12>;
    .reg .b32 %r<12>;
    .reg .pred %p;
    .shared .align 16 .b8 s[256];
    .local .align 16 .b8 l[64];
    ld.param.u64 %d1, [data];
    ld.param.u32 %r7, [shared_at];
    ld.param.u32 %r8, [local_at];
    ld.param.u64 %d9, [far];
    mov.u32 %r9, %tid.x;
    mul.wide.u32 %d2, %r9, 16;
    add.u64 %d2, %d2, %d1;
    add.u64 %d2, %d2, %d9;
    mov.u32 %r5, s;
    add.u32 %r5, %r5, %r7;
    mov.u64 %d4, l;
    cvt.u64.u32 %d5, %r8;
    add.u64 %d4, %d4, %d5;
    st.shared.u32 [%r5], %r9;
    st.local.u32 [%d4], %r9;
    ld.global.v2.u32 {%r1, %r2}, [%d2];
    setp.lt.u32 %p, %r9, 7;
    @%p ld.u32 %r3, [%d2+8];
    selp.u32 %r3, %r3, 5, %p;
    ld.local.u32 %r4, [%d4];
    ld.shared.u16 %r6, [%r5+2];
    add.u32 %r1, %r1, %r2;
    add.u32 %r1, %r1, %r3;
    add.u32 %r1, %r1, %r4;
    add.u32 %r1, %r1, %r6;
    cvta.local.u64 %d6, %d4;
    st.u32 [%d6], %r1;
    ld.local.u32 %r2, [%d4];
    atom.global.max.u32 %r3, [%d2+12], %r2;
    red.global.sys.add.u32 [%d2+8], %r3;
    st.global.u8 [%d2+1], %r2;
    ret;
}
"""
ACCESSES = 11
SIZE = 1024
READ, WRITE, ATOMIC = 1, 2, 4
USED = 0x40000000
LOCAL_ONLY = 0x10
CASES = [
    {},
    {"tables": False},
    {"shared_at": 2},
    {"shared_at": 512},
    {"shared_at": 8192},
    {"local_at": 2},
    {"far": -(1 << 12)},
    {"far": 1 << 12},
    {"size": 256},
    {"size": 200},
    {"rights": WRITE | ATOMIC},
    {"rights": READ | ATOMIC},
    {"rights": READ | WRITE},
    {"flags": USED},
    {"flags": LOCAL_ONLY},
    {"flags": 8},
    {"flags": 8, "control": 2},
    {"control": 4},
    {"heap": True},
    {"heap": True, "holes": True},
]


def outcome(
    data: bytes, shared_at: int = 0, local_at: int = 0, far: int = 0, size: int = SIZE, rights: int = 7, flags: int = 0,
    control: int = 0, tables: bool = True, heap: bool = False, holes: bool = False,
) -> tuple[str, list[tuple[int, ...]], bytes, int]:  # fmt: skip
    """The error, the reports (without the place and the number of the access), the kernel's memory, flags of its allocation."""
    image = Image(data)
    a = image.arena
    starts = [a.allocate(SIZE, name) for name in "abcdef"]
    memory = starts[3]
    a.write(memory, bytes(range(256)) * (SIZE // 256))
    listed = [s for s in starts if not (heap and s == memory)]
    entries = a.allocate(24 * len(listed), "entries")
    own = {True: (size, flags, rights), False: (SIZE, 0, 7)}
    a.write(entries, b"".join(struct.pack("<QQII", s, *own[s == memory]) for s in listed))
    reports = a.allocate(48 * 256, "reports")
    region, bits, table = (a.allocate(SIZE, name) for name in ("region", "bits", "table"))
    a.write(region, struct.pack("<QQ", memory - 1, SIZE))
    # The region starts a byte before the memory, so a multiple of 16 bytes is one bit further.
    a.write(bits, (b"\xff" * 31 + b"\x7f" if holes else b"\xff" * 32) * (SIZE // 256))
    a.write(table, struct.pack("<IIQQIIQQ", len(listed), 0, reports, entries, control, 0, region if heap else 0, bits))
    image.checked_tables = table if tables else 0
    error = ""
    try:
        image.launch("k", 2, (8, 2), [np.uint64(memory), np.uint32(shared_at), np.uint32(local_at), np.int64(far)])
    except SimError as e:
        error = type(e).__name__
    count = struct.unpack("<I", a.read(table + 4, 4))[0]
    found = [struct.unpack("<QQIIHHHHHHIHHI", a.read(reports + 48 * k, 48)) for k in range(min(count, 256))]
    kept = [(at, what & 31, code, size, *rest) for _, at, what, code, size, _, *rest in found]
    own_entry = entries + 24 * listed.index(memory) if memory in listed else entries
    return error, sorted(kept), bytes(a.read(memory, SIZE)), struct.unpack("<I", a.read(own_entry + 16, 4))[0]


@pytest.mark.in_turn(6)
@pytest.mark.parametrize(
    ("arch", "level"), [("sm_75", 0), ("sm_80", 3), ("sm_89", 1), ("sm_90", 3), ("sm_100", 0), ("sm_120", 3)]
)
def test_reports_are_those_of_ptxas(arch: str, level: int, tmp_path: Path) -> None:
    (tmp_path / "k.ptx").write_text(PROGRAM)
    run = [tool("ptxas"), "-arch", arch, f"-O{level}", "-sanitize", "memcheck", "k.ptx", "-o", "k.cubin"]
    subprocess.run(run, cwd=tmp_path, check=True, timeout=LIMIT_S)
    theirs = (tmp_path / "k.cubin").read_bytes()
    ours = orias.compile(PROGRAM, arch=arch, opt_level=level, access_checks=True, self_check=True).data
    reported = 0
    for case in CASES:
        expected = outcome(theirs, **case)  # type: ignore[arg-type]
        assert outcome(ours, **case) == expected, case  # type: ignore[arg-type]
        reported += bool(expected[1])
    assert reported > 10


@pytest.mark.parametrize("arch", ["sm_75", "sm_90", "sm_100"])
def test_without_tables_nothing_changes(arch: str) -> None:
    plain = orias.compile(PROGRAM, arch=arch).data
    assert outcome(orias.compile(PROGRAM, arch=arch, access_checks=True).data, tables=False) == outcome(plain)


@pytest.mark.parametrize("arch", ["sm_90a", "sm_100f", "sm_110"])
def test_no_checks_where_ptxas_has_empty_routines(arch: str) -> None:
    assert "memcheck" not in orias.compile(PROGRAM, arch=arch, access_checks=True).disassemble()


def test_each_access_has_a_check_with_its_own_place() -> None:
    data = orias.compile(PROGRAM, arch="sm_80", access_checks=True).data
    assert orias.disassemble(data).count("LEPC") == ACCESSES
    assert Image(data).kernels["k"].sanitize == 1

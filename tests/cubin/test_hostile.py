"""Damaged cubins: the reader succeeds or raises CubinError, and nothing else happens."""

import random
from pathlib import Path

import pytest

from orias.cubin.cubin_error import CubinError
from orias.cubin.elf import ElfFile
from orias.cubin.model import CubinModule, KernelCode, Param, Reloc, Variable
from orias.cubin.reader import Reader
from orias.cubin.writer import write
from tests.cubin.ptx_cases import CASES
from tests.cubin.test_roundtrip import compile_ptx

EXIT = bytes.fromhex("4d790000000000000000800300ea0f00")


def sample(target: str, relocatable: bool = False) -> bytes:
    """A cubin of our own that needs no outside tool."""
    m = CubinModule(target, relocatable)
    k = KernelCode("kernel", EXIT)
    k.params = [Param(0, 0, 8), Param(1, 8, 4)]
    k.param_bytes, k.exit_offsets, k.num_regs = 12, [0], 8
    k.maxntid = (128, 1, 1)
    k.shared = [Variable("s", "shared", 16, 4)]
    m.kernels = [k]
    g = Variable("g", "global", 8, 8, 1, bytes(8))
    g.relocs = [Reloc(0, 2, "c")]
    m.variables = [g, Variable("c", "const", 4, 4, 0, b"abcd")]
    return write(m)


def read(data: bytes) -> None:
    try:
        Reader(data)
    except CubinError as e:
        assert str(e)


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90"])
def test_own_sample_reads_back(target: str) -> None:
    r = Reader(sample(target))
    k = r.kernels["kernel"]
    assert (k.num_regs, k.param_bytes, k.maxntid, k.exit_offsets) == (8, 12, (128, 1, 1), [0])
    assert [(p.ordinal, p.offset, p.size) for p in k.params] == [(0, 0, 8), (1, 8, 4)]
    assert k.shared_size == 16
    assert r.shared_size("kernel") == 16 + (1024 if target == "sm_90" else 0)
    assert {v.name: v.data for v in r.module.variables} == {"g": bytes(8), "c": b"abcd"}


@pytest.mark.parametrize(
    "data", [b"", b"\x7fELF", b"not an elf file" * 10, bytes(64), b"\x7fELF\x02\x01\x01\x41" + bytes(56)]
)
def test_not_a_cubin(data: bytes) -> None:
    with pytest.raises(CubinError):
        Reader(data)


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_cut_off_everywhere(target: str) -> None:
    data = sample(target)
    for end in range(0, len(data), 7):
        with pytest.raises(CubinError):
            Reader(data[:end])


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("target", ["sm_75", "sm_90"])
def test_every_byte_damaged(target: str) -> None:
    data = sample(target)
    for at in range(len(data)):
        for value in (0xFF, data[at] ^ 0x80):
            read(data[:at] + bytes([value]) + data[at + 1 :])


def test_random_damage_of_real_files(tmp_path: Path) -> None:
    rng = random.Random(5)
    for case in ("variables", "calls", "brx"):
        for options in ((), ("-c",)):
            data = compile_ptx(tmp_path, CASES[case], "sm_80", *options)
            for _ in range(300):
                damaged = bytearray(data)
                for _ in range(rng.randrange(1, 6)):
                    damaged[rng.randrange(len(damaged))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
                read(bytes(damaged))


def test_huge_sizes_do_not_allocate() -> None:
    data = bytearray(sample("sm_80"))
    elf = ElfFile(bytes(data))
    shoff = int.from_bytes(data[40:48], "little")
    shared = elf.section(".nv.shared.kernel")
    assert shared is not None
    at = shoff + 64 * shared.index + 32
    data[at : at + 8] = (1 << 62).to_bytes(8, "little")
    assert Reader(bytes(data)).kernels["kernel"].shared_size == 1 << 62


def test_writer_refuses_contradictions() -> None:
    m = CubinModule("sm_80")
    k = KernelCode("k", EXIT)
    k.relocs = [Reloc(0, 56, "nowhere")]
    m.kernels = [k]
    with pytest.raises(CubinError, match="nowhere"):
        write(m)
    with pytest.raises(CubinError, match="sm_12"):
        write(CubinModule("sm_12"))

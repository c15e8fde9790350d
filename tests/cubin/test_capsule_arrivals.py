"""Arrivals that complete no phase have capsules, whose words nvlink makes anew for the sibling."""

from pathlib import Path

import pytest

from orias.compiler import compile_text
from orias.cubin import nvinfo
from orias.cubin.capsule.capsule_parser import capsules
from orias.cubin.elf import ElfFile
from orias.isa.isa_table import load as load_table
from orias.options import Options
from orias.target.decoder_class import table_of_sm
from tests.asynchronous.barrier_programs import programs
from tests.asynchronous.harness import Program
from tests.device import load
from tools.capsules.campaign import differences
from tools.capsules.finalising import FAMILY, finalise
from tools.capsules.sources import KERNEL, expand, with_stores

PROGRAMS = [p for p in programs() if "noComplete" in p.body]
LIMIT_S = 60.0
"""Time for nvlink, which needs a tenth of a second."""


def compiled(p: Program, arch: str, level: int) -> bytes:
    """An object that must have capsules."""
    o = Options(arch, level)
    o.compile_only, o.capsules = True, "require"
    return compile_text([("a.ptx", p.text(arch))], o).data


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("arch", ["sm_100", "sm_120"])
@pytest.mark.parametrize("p", PROGRAMS, ids=lambda p: p.name)
def test_states(tmp_path: Path, p: Program, arch: str) -> None:
    """Both the object's code and what nvlink makes of it give the states that PTX says, and differ in the words of states alone."""
    for level in (0, 1, 3):
        before = compiled(p, arch, level)
        after, why = finalise(before, arch, tmp_path, LIMIT_S)
        assert not why
        assert ElfFile(after).sm == int(FAMILY[arch][3:])
        assert differences(before, after) == (1, [])
        assert p.check(load(after)) == ""
        assert "RPCMOV" in text_of(after)
        assert "RPCMOV" not in text_of(before)


GUARDED = (
    "<@%p1 /@!%p2 >mbarrier.<arrive/arrive_drop>.noComplete<.shared.b64 %rd4,[%r2+64]/.b64 %rd4,[%rd5]/.b64 _,[%rd5+16]/.shared.b64 _,[%r4]>,"
    "<2/%r20/%r3>; store %rd4"
)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("arch", ["sm_100", "sm_120"])
def test_guarded(tmp_path: Path, arch: str) -> None:
    """Under a guard, with a generic address, and without a result; the scheduler may have renamed values between the words."""
    bodies = list(expand(GUARDED))
    text = f".version 9.0\n.target {arch}\n.address_size 64\n" + "".join(
        KERNEL.format(number=k, body=with_stores(b)) for k, b in enumerate(bodies)
    )
    for level in (0, 3):
        o = Options(arch, level)
        o.compile_only, o.capsules = True, "require"
        before = compile_text([("a.ptx", text)], o).data
        after, why = finalise(before, arch, tmp_path, LIMIT_S)
        assert not why
        assert differences(before, after) == (len(bodies), [])


def text_of(data: bytes) -> str:
    file = ElfFile(data)
    table = load_table(table_of_sm(file.sm))
    section = file.section(".text.k")
    assert section is not None
    return "\n".join(
        table.text(int.from_bytes(section.data[at : at + 16], "little"), at) for at in range(0, len(section.data), 16)
    )


def test_register_map_has_mercury_offsets() -> None:
    """Each record of the register map begins with the place of the arrival in the capsule, as ptxas writes it."""
    data = compiled(PROGRAMS[0], "sm_100", 3)
    file = ElfFile(data)
    (c,) = capsules(file)
    assert [i.code[:4].hex() for i in c.items if i.words == 6] == ["021b0032"] * 2
    found = {
        name: [r.payload for r in nvinfo.decode(file.section(name).data) if r.code == nvinfo.INSTR_REG_MAP]
        for name in (".nv.info.k", ".nv.merc.nv.info.k")
    }
    plain, mercury = (
        [int.from_bytes(v[0][k : k + 4], "little") for k in range(0, len(v[0]), 4)] for v in found.values()
    )
    assert len(plain) == len(mercury) == 9
    assert plain[1::3] == mercury[1::3]
    lines = text_of(data).split("\n")
    assert all(".ART0" in lines[at // 16] for at in plain[::3])
    info = file.section(".nv.merc.nv.info.k")
    assert info is not None
    records = [r.payload for r in nvinfo.decode(info.data) if r.code == nvinfo.MBARRIER_INSTR_OFFSETS]
    places = [int.from_bytes(records[0][k : k + 4], "little") for k in range(0, len(records[0]), 16)]
    assert set(mercury[::3]) < set(places)

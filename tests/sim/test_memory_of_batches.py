"""The memory of a batch of blocks is free when the next one starts, and that of arguments after some launches."""

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import orias
from orias.ptx.parser import parse
from orias.sim import load
from orias.sim.core.launch import BATCH_THREADS
from orias.sim.core.state import Machine
from orias.sim.ptx import PtxImage

BLOCKS = 3 * BATCH_THREADS // 32
TEXT = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .b32 %r<4>;
    .reg .b64 %d<3>;
    ld.param.u64 %d1, [out];
    mov.u32 %r1, %ctaid.x;
    mul.wide.u32 %d2, %r1, 4;
    add.u64 %d1, %d1, %d2;
    st.global.u32 [%d1], %r1;
    ret;
}
"""


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def machines() -> int:
    return sum(isinstance(o, Machine) for o in gc.get_objects())


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("options", [{}, {"schedule": 1}, {"late": True}, {"hazards": "stop"}], ids=str)
def test_machine_code(no_collector: None, options: dict[str, Any]) -> None:
    image = load(orias.compile(TEXT, arch="sm_80").data)
    out = image.arena.allocate(4 * BLOCKS, "out")
    image.launch("k", BLOCKS, 32, [out.to_bytes(8, "little")], **options)
    assert machines() == 0


def test_ptx(no_collector: None) -> None:
    image = PtxImage(parse(TEXT, "k.ptx"), "sm_80")
    out = image.arena.allocate(4 * BLOCKS, "out")
    image.launch("k", (BLOCKS, 1, 1), (32, 1, 1), [out.to_bytes(8, "little")], 0, 10_000)
    assert machines() == 0


def test_arguments_of_many_launches() -> None:
    image = load(orias.compile(TEXT, arch="sm_80").data)
    tops, kept = [], []
    for k in range(12):
        out = np.zeros(6 << 20, np.uint32)
        image.launch("k", 100, 32, [out])
        assert (out[:100] == np.arange(100)).all()
        assert not out[100:].any()
        tops.append(image.arena.top)
        if k == 5:
            kept.append(image.arena.allocate(64, "kept"))
    assert tops[0] < tops[1]  # A pointer to the argument of a launch is not one to that of the next.
    assert max(tops) < 400 << 20
    assert image.arena.read(kept[0], 64) == bytes(64)

"""Special registers as guards and with a constant added, which become copies in registers; control characters among operands."""

import numpy as np
import pytest

import orias
import orias.sim
from orias.diag import CompileError
from orias.ptx.ast import Instr
from orias.ptx.parser import parse

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
REGISTERS = ".reg .b64 %rd<4>;\n.reg .b32 %r<4>;\n.reg .pred %p<2>;\n"
KERNEL = (
    HEAD + ".visible .entry k(.param .u64 p)\n{\n" + REGISTERS + "ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\n"
    "mul.wide.u32 %rd2, %r1, 8;\nadd.u64 %rd1, %rd1, %rd2;\nBODY\nst.global.v2.u32 [%rd1], {%r1, %r2};\nret;\n}\n"
)


@pytest.mark.parametrize("level", [0, 3])
def test_a_constant_is_added_to_a_special_register(level: int) -> None:
    text = KERNEL.replace("BODY", "mov.u32 %r1, %laneid+7;\nadd.u32 %r2, %r1, %laneid+4;")
    out = np.zeros((32, 2), "u4")
    orias.sim.load(orias.compile(text, arch="sm_90", opt_level=level).data).launch("k", grid=1, block=32, args=[out])
    lanes = np.arange(32)
    assert (out[:, 0] == lanes + 7).all() and (out[:, 1] == 2 * lanes + 11).all()


@pytest.mark.parametrize("level", [0, 3])
def test_a_special_predicate_guards(level: int) -> None:
    guarded = "mov.u32 %r2, 1;\n@%is_explicit_cluster mov.u32 %r2, 2;\n@!%is_explicit_cluster mov.u32 %r1, 3;"
    out = np.zeros((32, 2), "u4")
    cubin = orias.compile(KERNEL.replace("BODY", guarded), arch="sm_90", opt_level=level)
    orias.sim.load(cubin.data).launch("k", grid=1, block=32, args=[out])
    assert (out == [3, 1]).all()


def test_names_of_one_register() -> None:
    module = parse(KERNEL.replace("BODY", "mov.u32 %r02, 5;\nadd.u32 %r4294967298, %r002, 1;"))
    body = module.functions[0].body
    assert body is not None
    written = [op.var for i in body if isinstance(i, Instr) for op in i.ops[:1] if op.var is not None]
    assert [v.name for v in written[-3:-1]] == ["%r2", "%r2"] and written[-3] is written[-2]


@pytest.mark.parametrize("character", ["\v", "\x1c", "\x1f"])
def test_control_characters_are_no_blanks(character: str) -> None:
    """What ptxas 13.0.88 says."""
    with pytest.raises(CompileError) as caught:
        parse(KERNEL.replace("BODY", f"add.u32 %r1, %r1{character}, 1;"))
    assert f"Parsing error near '{character}'" in str(caught.value.diagnostics[0].message)

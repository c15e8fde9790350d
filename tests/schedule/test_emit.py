import subprocess
import tempfile

import pytest

from orias.diag import Unsupported
from orias.isa.isa_table import IsaTable, load
from orias.isa.op import op
from orias.isa.operand import r
from orias.options import Options
from orias.ori.ir import JumpTable
from orias.ori.text import parse
from orias.output.emit import EmittedText, emit
from orias.schedule.scheduling import post_ra
from tests.nvtools import LIMIT_S, tool

KERNEL = """\
.func k sm_90 entry allocated
.sym ret_lo - 0
.sym func helper 0
b0: -> b1 b2
  R1 = LDC c[0x0][0x28], RZ
  R1 = IADD3 R1, 0xfffffff8, RZ
  B0 = BSSY L2
  P0, PT = ISETP.GE.AND R4, 0x3, PT ; @7
  @!P0 BRA ; @7
b1: -> b2
  R2 = MOV sym0 ; @8
  CALL.REL.NOINC sym1 ; @8 ; call helper helper 0 0 0 0 0
b2: -> b3
  BSYNC B0
b3: -> b3 b4
  BAR.SYNC.DEFER_BLOCKING 0x0
  @P0 BRA
b4:
  @P1 EXIT
  EXIT
"""
HELPER = """\
.func helper sm_90 helper allocated
b0:
  R3 = MOV RZ
  RET.REL.NODEC R2, R3
"""


def build(*texts: str) -> EmittedText:
    funcs = [parse(t) for t in texts]
    for fn in funcs:
        post_ra(fn, Options(opt_level=0))
        assert fn.state == "final"
    return emit(funcs, load("sm_90"), funcs[0].target)


def disassemble(code: bytes, sm: str = "SM90") -> list[str]:
    with tempfile.NamedTemporaryFile(suffix=".bin") as f:
        f.write(code)
        f.flush()
        out = subprocess.run(
            [tool("nvdisasm"), "-b", sm, f.name], capture_output=True, text=True, timeout=LIMIT_S, check=True
        )
    return [line.split("*/")[1].split(";")[0].strip() for line in out.stdout.splitlines() if line.strip().startswith("/*") and ";" in line]  # fmt: skip


def test_offsets() -> None:
    out = build(KERNEL.replace("L2", "b2"), HELPER)
    assert out.exits == [0xA0, 0xB0]
    assert out.barriers == [0x80]
    assert out.functions == [("k", 0, 0xC0), ("helper", 0xC0, 0x20)]
    assert out.calls == [(0x60, "helper", "helper")]
    assert out.stack_adjust == {"k": 0x20}
    assert out.lines == [(0x30, 7), (0x50, 8)]


def test_disassembly() -> None:
    out = build(KERNEL.replace("L2", "b2"), HELPER)
    assert disassemble(out.code) == [
        "LDC R1, c[0x0][0x28]",
        "IADD3 R1, R1, -0x8, RZ",
        "BSSY B0, 0x70",
        "ISETP.GE.AND P0, PT, R4, 0x3, PT",
        "@!P0 BRA 0x70",
        "MOV R2, 0x70",
        "CALL.REL.NOINC 0xc0",
        "BSYNC B0",
        "BAR.SYNC.DEFER_BLOCKING 0x0",
        "@!P0 BRA 0x80",
        "@P1 EXIT",
        "EXIT",
        "MOV R3, RZ",
        "RET.REL.NODEC R2 0x0",
    ]


def test_jump_table() -> None:
    text = """\
.func k sm_90 entry allocated
b0: -> b1 b2
  BRX R2
b1:
  EXIT
b2:
  EXIT
"""
    fn = parse(text)
    fn.tables[fn.blocks[0].insts[0].uid] = JumpTable(8, [1, 0, 1])
    post_ra(fn, Options(opt_level=0))
    out = emit([fn], load("sm_90"), fn.target)
    assert out.branch_tables == [(0, [0x20, 0x10, 0x20])]
    assert out.table_bytes == bytes(8) + b"\x20\0\0\0\x10\0\0\0\x20\0\0\0"
    assert disassemble(out.code) == ["BRX R2 -0x10", "EXIT", "EXIT"]


def test_no_form_names_the_instruction() -> None:
    fn = parse(".func k sm_90 entry allocated\nb0:\n  R0 = IADD3 0x1, 0x2, RZ ; @5\n  EXIT\n")
    post_ra(fn, Options(opt_level=0))
    with pytest.raises(Unsupported, match="IADD3") as e:
        emit([fn], load("sm_90"), fn.target)
    assert e.value.line == 5


def test_self_check_reads_every_word() -> None:
    fn = parse(".func k sm_90 entry allocated\nb0:\n  R2 = FADD R2, R3\n  EXIT\n")
    post_ra(fn, Options(opt_level=0))
    table = IsaTable("sm_90")
    assert emit([fn], table, fn.target, self_check=True).code == emit([fn], table, fn.target).code
    plan = table._plan(op("FADD"), [r(2)], [r(2), r(3)])
    assert plan is not None
    plan.base |= 1 << 80
    assert emit([fn], table, fn.target).code
    with pytest.raises(Unsupported, match=r"a word of FADD reads 'FADD\.FTZ R2, R2, R3'"):
        emit([fn], table, fn.target, self_check=True)

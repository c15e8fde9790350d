"""What instructions read and write: the writes alone are those of the whole."""

from pathlib import Path

import pytest

from orias.analysis.access import accesses, units_written
from orias.compiler import compile_text
from orias.options import Options
from orias.ori.ir import Func

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
CALLS = """
.version 8.0
.target sm_90a
.address_size 64
.func (.param .b32 r) twice(.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x]; add.u32 %a, %a, %a; st.param.b32 [r], %a; ret; }
.visible .entry k(.param .u64 p) {
  .reg .b64 %d; .reg .b32 %a<4>; .reg .pred %q;
  ld.param.u64 %d, [p];
  ld.global.v4.u32 {%a0, %a1, %a2, %a3}, [%d];
  wgmma.fence.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  { .param .b32 x; .param .b32 r; st.param.b32 [x], %a0; call.uni (r), twice, (x); ld.param.b32 %a1, [r]; }
  setp.ne.u32 %q, %a1, %a2;
  @%q st.global.v4.u32 [%d], {%a0, %a1, %a2, %a3};
  ret;
}
"""


@pytest.mark.parametrize("name", ["calls", "saxpy.ptx"])
def test_writes_alone(name: str) -> None:
    seen: set[str] = set()

    def look(_: str, fn: Func) -> None:
        if fn.state == "final":
            for inst in fn.insts():
                seen.add(inst.op.base)
                assert units_written(inst, fn) == [w >> 8 for w in accesses(inst, fn).writes], inst

    text = CALLS if name == "calls" else (EXAMPLES / name).read_text()
    compile_text([(name, text)], Options("sm_90a"), look)
    assert "STG" in seen and ("CALL" in seen or name != "calls")

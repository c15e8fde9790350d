"""Loops that nothing enters: single predecessors lead from such a block back to itself.

Each program compiles in well under a second; walking predecessors without end took gigabytes.
"""

import subprocess
import sys

import pytest

HEAD = """.version 7.5
.target sm_80
.address_size 64
.visible .entry k()
{
.reg .pred %p; .reg .b32 %r<3>; .reg .b64 %rd;
"""
LOOPS = {
    "one block after exit": "exit; mov.u32 %r0, %ctaid.x; L: @%p bra L; cvt.s64.s32 %rd, %r0;",
    "one block after a loop without end": "X: bra X; mov.u32 %r0, %ctaid.x; L: @%p bra L; cvt.s64.s32 %rd, %r0;",
    "three blocks": "exit; L: add.u32 %r1, %r0, 1; bra M; M: add.u32 %r2, %r1, %r0; bra N; N: bra L;",
    "long way into a loop": "exit; "
    + " ".join(f"A{k}: @%p bra A{k + 1}; exit;" for k in range(20))
    + " A20: bra B; B: add.u32 %r1, %r0, %r2; bra C; C: bra B;",
}


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("name", LOOPS)
def test_compiles(name: str, level: int) -> None:
    code = "import sys, orias; orias.compile(sys.stdin.read(), arch='sm_80', opt_level=int(sys.argv[1]))"
    text = f"{HEAD}{LOOPS[name]}\n}}\n"
    done = subprocess.run(
        [sys.executable, "-c", code, str(level)], input=text, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr

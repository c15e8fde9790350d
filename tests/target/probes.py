"""Small kernels that ptxas compiles for a target, and the instructions it makes of each."""

import re
import subprocess
from pathlib import Path

from tests.nvtools import LIMIT_S, tool

HEAD = ".version 9.0\n.target {target}\n.address_size 64\n"
DATA = ".global .texref tx;\n.global .surfref sx;\n.const .align 4 .u32 table[4];\n"
REGISTERS = (
    ".reg .pred %p<4>; .reg .b16 %h<8>; .reg .b32 %r<20>; .reg .b64 %rd<8>; .reg .f32 %f<20>; .reg .f64 %d<20>;"
    ".shared .align 16 .b8 sh[64];"
)


def kernel(name: str, body: str) -> str:
    """A kernel on one line; %rd1 is its parameter, a pointer to global memory, and what the body leaves in %r1 is stored."""
    return (
        f".visible .entry {name}(.param .u64 p) {{ {REGISTERS} ld.param.u64 %rd1, [p]; "
        f"ld.global.u32 %r10, [%rd1]; {body} st.global.u32 [%rd1+64], %r1; ret; }}"
    )


def instructions(target: str, probes: dict[str, str], work: Path) -> dict[str, list[str]]:
    """The instructions of each probe; those that ptxas refuses for the target are left out."""
    left = dict(probes)
    path, out = work / f"{target}.ptx", work / f"{target}.cubin"
    for _ in range(4):
        text = HEAD.format(target=target) + DATA
        first = text.count("\n") + 1
        path.write_text(text + "".join(kernel(name, body) + "\n" for name, body in left.items()))
        run = subprocess.run(
            [tool("ptxas"), f"-arch={target}", str(path), "-o", str(out)],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
        if run.returncode == 0:
            break
        lines = {int(n) - first for n in re.findall(r"line (\d+); error", run.stderr + run.stdout)}
        assert lines, run.stderr + run.stdout
        names = list(left)
        for k in lines:
            del left[names[k]]
    else:
        raise AssertionError(f"{target}: ptxas refuses the rest")
    text = subprocess.run(
        [tool("nvdisasm"), "-c", str(out)], capture_output=True, text=True, timeout=LIMIT_S, check=True
    ).stdout
    found: dict[str, list[str]] = {}
    for match in re.finditer(r"^\.text\.(\w+):\n(.*?)(?=^//---|\Z)", text, re.M | re.S):
        lines_of = re.findall(r"/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", match[2])
        found[match[1]] = [re.sub(r"\s+", " ", line) for line in lines_of]
    assert set(found) == set(left)
    return found

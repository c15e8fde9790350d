"""The kernel that applies an instruction to a range of inputs, and its runs in the simulator."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from tools.judge.every_input.host import BYTES
from tools.judge.every_input.instructions import Instruction

BLOCK: Final = 1024
UNROLLED: Final = 4
"""Inputs of a thread in one iteration of the kernel's loop."""
BLOCKS: Final = 8
STRIDE: Final = BLOCK * BLOCKS
"""Threads of a launch: as many as the caches of a processor hold."""
STEP: Final = STRIDE * UNROLLED
"""Inputs of one iteration."""


def kernel(i: Instruction) -> str:
    """PTX: thread t computes the inputs `base` + (t + k * STRIDE) * `stride`, and stores each output in a plane of its own."""
    outs = range(len(i.outs))
    params = ", ".join(f".param .u64 out{k}" for k in outs)
    body = []
    for u in range(UNROLLED):
        steps = [f"add.u32 %word, %first, %by{u};"]
        steps.append("mov.b32 %a0, %word;" if i.ins == ("b32",) else "mov.b32 {%a0, %a1}, %word;")
        if i.ins == ("b16",):
            steps[-1] = "cvt.u16.u32 %a0, %word;"
        steps.append(i.body)
        for k, r in enumerate(i.outs):
            at = f"[%to{k}+{u * STRIDE * BYTES[r]}]"
            if r == "pred":
                steps.append(f"selp.u32 %flag, 1, 0, %o{k}; st.global.u8 {at}, %flag;")
            else:
                steps.append(f"st.global.{r} {at}, %o{k};")
        regs = [f".reg .{t} %a{k};" for k, t in enumerate(i.ins)] + [f".reg .{t} %o{k};" for k, t in enumerate(i.outs)]
        body.append("{ .reg .b32 %word, %flag; " + " ".join((*regs, i.decl, *steps)) + " }")
    starts = [
        f"ld.param.u64 %to{k}, [out{k}]; mad.wide.u32 %to{k}, %index, {BYTES[r]}, %to{k};" for k, r in enumerate(i.outs)
    ]
    ends = [f"add.u64 %to{k}, %to{k}, {STEP * BYTES[r]};" for k, r in enumerate(i.outs)]
    return f""".visible .entry k({params}, .param .u32 base, .param .u32 stride, .param .u32 count)
{{
    .reg .b64 %to<{len(i.outs)}>; .reg .b32 %index, %first, %left, %block, %stride, %by<{UNROLLED + 1}>; .reg .pred %more;
    ld.param.u32 %first, [base]; ld.param.u32 %left, [count];
    mov.u32 %index, %tid.x; mov.u32 %block, %ctaid.x; mad.lo.u32 %index, %block, {BLOCK}, %index;
    ld.param.u32 %stride, [stride]; mad.lo.u32 %first, %index, %stride, %first;
    {" ".join(f"mul.lo.u32 %by{u}, %stride, {u * STRIDE};" for u in range(UNROLLED + 1))}
    {" ".join(starts)}
AGAIN:
    {chr(10).join(body)}
    add.u32 %first, %first, %by{UNROLLED};
    {" ".join(ends)}
    sub.u32 %left, %left, 1;
    setp.ne.u32 %more, %left, 0;
    @%more bra AGAIN;
    ret;
}}
"""


def module(i: Instruction, arch: str) -> str:
    """A module with the kernel."""
    version = "9.0" if int(arch[3:].rstrip("af")) >= 100 else "8.7"
    return f".version {version}\n.target {arch}\n.address_size 64\n{kernel(i)}"


class Planes:
    """Memory for the outputs of one launch of an image."""

    def __init__(self, image: Any, outs: Sequence[str], most: int) -> None:
        self._image: Final = image
        self._sizes: Final = [most * BYTES[r] for r in outs]
        self._places: Final = [image.arena.allocate(n, f"output {k}") for k, n in enumerate(self._sizes)]

    def run(self, base: int, stride: int, count: int, **options: Any) -> list[int]:
        """Runs `count` inputs (a multiple of STEP), every `stride`th from `base` on; the addresses of the outputs in this process."""
        arguments = [*self._places, np.uint32(base), np.uint32(stride), np.uint32(count // STEP)]
        self._image.launch("k", BLOCKS, BLOCK, arguments, max_steps=1 << 40, **options)
        return [
            int(self._image.arena.bytes_at(p, n).ctypes.data) for p, n in zip(self._places, self._sizes, strict=True)
        ]

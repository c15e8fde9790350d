"""The forms again with inputs that all threads share: what the uniform datapath and everything that asks for equal values make of them.

Each block computes one vector.  Its inputs are parameters, at an offset that depends on the block's number.
"""

from typing import Any

import numpy as np

from tests.forms.form import SLOT, Form

MOST = 4096 // SLOT - 8
"""Inputs that fit into the parameters of sm_75 to sm_89."""


class UniformForm(Form):
    """`form` on as many of its vectors as fit, one in each block of `threads` threads."""

    def __init__(self, form: Form, count: int, threads: int) -> None:
        step = max(1, len(form.vectors) // min(count, MOST // len(form.ins)))
        super().__init__(
            f"{form.name} uniform", form.body, form.ins, form.outs, form.vectors[::step], form._want,
            sm=form.sm, decl=form.decl, module=form.module, block=(threads, 1, 1), judged=form.judged, archs=form.archs,
        )  # fmt: skip

    def kernel(self, name: str) -> str:
        """The kernel's PTX."""
        nin, nout = len(self.ins), len(self.outs)
        regs = [f".reg .{t} %a{k};" for k, t in enumerate(self.ins)]
        regs += [f".reg .{t} %o{k};" for k, t in enumerate(self.outs)]
        lines = []
        for k, t in enumerate(self.ins):
            if t == "pred":
                lines.append(f"ld.param.u32 %fw, [%fi+{SLOT * k}]; setp.ne.u32 %a{k}, %fw, 0;")
            else:
                lines.append(f"ld.param.{t} %a{k}, [%fi+{SLOT * k}];")
        lines.append(self.body)
        for k, t in enumerate(self.outs):
            if t == "pred":
                lines.append(f"selp.u32 %fw, 1, 0, %o{k}; st.global.u32 [%fo+{SLOT * k}], %fw;")
            else:
                lines.append(f"st.global.{t} [%fo+{SLOT * k}], %o{k};")
        memory = "ld.param.u64 %mem, [pm]; mad.wide.u32 %mem, %idx, 32, %mem;" if "%mem" in self.body else ""
        body = "\n".join(lines)
        return f""".visible .entry {name}(.param .u64 po, .param .u64 pm, .param .align 8 .b8 pi[{SLOT * nin * len(self.vectors)}]) {{
{" ".join(regs)} .reg .b64 %fi, %fo, %mem; .reg .b32 %idx, %fw; {self.decl}
ld.param.u64 %fo, [po]; mov.u32 %idx, %ctaid.x; mov.b64 %fi, pi;
mad.wide.u32 %fi, %idx, {SLOT * nin}, %fi; mad.wide.u32 %fo, %idx, {SLOT * nout}, %fo; {memory}
{body}
ret; }}
"""

    def launch(self, image: Any, kernel: str, inputs: "np.ndarray[Any, Any]", outputs: Any, memory: Any) -> None:
        """Run the kernel once for all vectors."""
        image.launch(kernel, len(self.vectors), self.block, [outputs, memory, inputs.tobytes()], max_steps=2_000_000)


def uniform_forms(forms: list[Form], count: int = 64) -> list[Form]:
    """Forms whose threads do not depend on each other; those without memory of a thread run with two threads a block.

    Forms that read their inputs in global memory are left out: here they are parameters.
    """
    out: list[Form] = []
    for f in forms:
        if f._want is None or not f.ins or "%fi" in f.body:
            continue
        alone = "%mem" in f.body or "%idx" in f.body or f.module
        out.append(UniformForm(f, count, 1 if alone else 2))
    return out

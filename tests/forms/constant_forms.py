"""The forms again with constants for inputs: what the constant folder and the rewrites for constant operands make of them.

One thread computes every vector, each in a scope of its own, with the inputs of the mask moved in as immediates and the
others loaded.
"""

from tests.forms.form import SLOT, Form
from tests.forms.values import rng


class ConstantForm(Form):
    """`form` on a few of its vectors; input k is a constant if bit k of `mask` is set."""

    def __init__(self, form: Form, mask: int, count: int) -> None:
        r = rng(f"{form.name} {mask}")
        vectors = r.sample(form.vectors, min(count, len(form.vectors)))
        super().__init__(
            f"{form.name} constants {mask:b}", form.body, form.ins, form.outs, vectors, form._want,
            sm=form.sm, decl=form.decl, module=form.module, block=(1, 1, 1), judged=form.judged, archs=form.archs,
        )  # fmt: skip
        self.mask = mask

    def _input(self, k: int, value: int, at: int) -> str:
        t = self.ins[k]
        if not self.mask >> k & 1:
            if t == "pred":
                return f"ld.global.u32 %fw, [%fi+{at}]; setp.ne.u32 %a{k}, %fw, 0;"
            return f"ld.global.{t} %a{k}, [%fi+{at}];"
        if t == "pred":
            return f"setp.ne.u32 %a{k}, {value & 1}, 0;"
        return f"mov.{t} %a{k}, {value:#x};"

    def kernel(self, name: str) -> str:
        """The kernel's PTX."""
        nin, nout = max(len(self.ins), 1), len(self.outs)
        regs = [f".reg .{t} %a{k};" for k, t in enumerate(self.ins)]
        regs += [f".reg .{t} %o{k};" for k, t in enumerate(self.outs)]
        scopes = []
        for n, row in enumerate(self.vectors):
            lines = [" ".join(regs), self.decl]
            lines += [self._input(k, v, SLOT * (n * nin + k)) for k, v in enumerate(row)]
            lines.append(self.body)
            for k, t in enumerate(self.outs):
                at = SLOT * (n * nout + k)
                if t == "pred":
                    lines.append(f"selp.u32 %fw, 1, 0, %o{k}; st.global.u32 [%fo+{at}], %fw;")
                else:
                    lines.append(f"st.global.{t} [%fo+{at}], %o{k};")
            scopes.append("{\n" + "\n".join(lines) + "\n}")
        return (
            f".visible .entry {name}(.param .u64 pi, .param .u64 po, .param .u64 pm) {{\n"
            ".reg .b64 %fi, %fo; .reg .b32 %fw; ld.param.u64 %fi, [pi]; ld.param.u64 %fo, [po];\n"
            + "\n".join(scopes)
            + "\nret; }\n"
        )


def constant_forms(forms: list[Form], count: int = 6) -> list[Form]:
    """Every form that is a function of its inputs alone, with all inputs constant and with each single one."""
    out: list[Form] = []
    for f in forms:
        if f._want is None or not f.ins or "%mem" in f.body or "%idx" in f.body:
            continue
        every = (1 << len(f.ins)) - 1
        masks = [every] + ([1 << k for k in range(len(f.ins))] if len(f.ins) > 1 else [])
        out += [ConstantForm(f, mask, count) for mask in masks]
    return out

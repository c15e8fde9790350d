"""A form: one instruction in a kernel, inputs per thread, and what each thread must store."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from tests.forms.exact import Answer, Expected

SLOT = 8
_LETTER = {"b16": "h", "b32": "r", "b64": "d", "pred": "p"}
BITS = {"b16": 16, "b32": 32, "b64": 64, "pred": 1}
Outputs = Expected | tuple[Expected, ...]


class Form:
    """``body`` uses %a0, %a1 ... for inputs, %o0 ... for outputs, %mem for the thread's 32 bytes of scratch memory (u64),
    %idx for the thread's number, and whatever ``decl`` declares.

    ``vectors`` are the inputs of each thread, or a function that makes them where that takes long (then ``threads`` says how many there are): what only names or counts forms need not make them.

    ``sm`` is the first SM that has it, ``archs`` are the only targets that have it, if not all from there on.  ``judged`` False (or a function that says so): ptxas's code for it is beyond the simulator or gives something else.  ``want(*inputs)`` gives a thread's outputs; ``want_all(vectors)`` those of all threads at once, where they depend on each other.
    """

    def __init__(
        self,
        name: str,
        body: str,
        ins: Sequence[str],
        outs: Sequence[str],
        vectors: Sequence[tuple[int, ...]] | Callable[[], Sequence[tuple[int, ...]]],
        want: Callable[..., Outputs] | None = None,
        want_all: Callable[[Sequence[tuple[int, ...]]], list[Outputs]] | None = None,
        sm: int = 75,
        decl: str = "",
        module: str = "",
        block: tuple[int, int, int] | None = None,
        judged: bool | Callable[[], bool] = True,
        archs: tuple[str, ...] = (),
        threads: int = 32,
    ) -> None:
        self.name = name
        self.body = body
        self.ins = tuple(ins)
        self.outs = tuple(outs)
        self._vectors = vectors
        self.sm = sm
        self.decl = decl
        self.module = module
        self.block = block or (threads if callable(vectors) else len(vectors), 1, 1)
        self._judged = judged
        self.archs = archs
        self._want = want
        self._want_all = want_all
        self._expected: list[tuple[Expected, ...]] | None = None
        assert callable(vectors) or 1 <= len(vectors) <= 1024, name

    @functools.cached_property
    def vectors(self) -> list[tuple[int, ...]]:
        """The inputs of each thread."""
        return list(self._vectors() if callable(self._vectors) else self._vectors)

    @functools.cached_property
    def judged(self) -> bool:
        """Whether ptxas's code for it must give the same."""
        return self._judged() if callable(self._judged) else self._judged

    def expected(self) -> list[tuple[Expected, ...]]:
        """Outputs of each thread (computed once)."""
        if self._expected is not None:
            return self._expected
        if self._want_all is not None:
            rows = self._want_all(self.vectors)
        else:
            assert self._want is not None
            rows = [self._want(*v) for v in self.vectors]
        self._expected = [r if isinstance(r, tuple) else (r,) for r in rows]
        return self._expected

    def kernel(self, name: str) -> str:
        """The kernel's PTX."""
        nin, nout = max(len(self.ins), 1), len(self.outs)
        regs = [f".reg .{t} %a{k};" for k, t in enumerate(self.ins)] + [
            f".reg .{t} %o{k};" for k, t in enumerate(self.outs)
        ]
        loads = []
        for k, t in enumerate(self.ins):
            if t == "pred":
                loads.append(f"ld.global.u32 %fw, [%fi+{SLOT * k}]; setp.ne.u32 %a{k}, %fw, 0;")
            else:
                loads.append(f"ld.global.{t} %a{k}, [%fi+{SLOT * k}];")
        stores = []
        for k, t in enumerate(self.outs):
            if t == "pred":
                stores.append(f"selp.u32 %fw, 1, 0, %o{k}; st.global.u32 [%fo+{SLOT * k}], %fw;")
            else:
                stores.append(f"st.global.{t} [%fo+{SLOT * k}], %o{k};")
        index = "mov.u32 %idx, %tid.x;"
        if self.block[1:] != (1, 1):
            index = (
                "mov.u32 %idx, %tid.z; mov.u32 %fw, %ntid.y; mul.lo.u32 %idx, %idx, %fw; mov.u32 %fw, %tid.y;"
                " add.u32 %idx, %idx, %fw; mov.u32 %fw, %ntid.x; mul.lo.u32 %idx, %idx, %fw; mov.u32 %fw, %tid.x;"
                " add.u32 %idx, %idx, %fw;"
            )
        memory = "ld.param.u64 %mem, [pm]; mad.wide.u32 %mem, %idx, 32, %mem;" if "%mem" in self.body else ""
        return f""".visible .entry {name}(.param .u64 pi, .param .u64 po, .param .u64 pm) {{
{" ".join(regs)} .reg .b64 %fi, %fo, %mem; .reg .b32 %idx, %fw; {self.decl}
ld.param.u64 %fi, [pi]; ld.param.u64 %fo, [po]; {index}
mad.wide.u32 %fi, %idx, {SLOT * nin}, %fi; mad.wide.u32 %fo, %idx, {SLOT * nout}, %fo; {memory}
{chr(10).join(loads)}
{self.body}
{chr(10).join(stores)}
ret; }}
"""

    def launch(self, image: Any, kernel: str, inputs: Any, outputs: Any, memory: Any) -> None:
        """Run the kernel on an image: inputs, outputs and memory of all threads."""
        image.launch(kernel, 1, self.block, [inputs, outputs, memory], max_steps=200_000)

    def mismatches(self, got: Sequence[Sequence[int]]) -> list[str]:
        """What differs: one line for each wrong output."""
        out = []
        for n, (row, want) in enumerate(zip(got, self.expected(), strict=True)):
            for k, (g, w) in enumerate(zip(row, want, strict=True)):
                g &= (1 << BITS[self.outs[k]]) - 1
                if not (w.ok(g) if isinstance(w, Answer) else g == w):
                    ins = ", ".join(hex(x) for x in self.vectors[n])
                    shown = repr(w) if isinstance(w, Answer) else hex(w)
                    out.append(f"{self.name} thread {n} output {k}: ({ins}) gave {g:#x}, expected {shown}")
        return out


def module_text(forms: Sequence[Form], arch: str) -> str:
    """A module with one kernel a form, named k0, k1 ..."""
    version = "9.0" if int(arch[3:].rstrip("af")) >= 100 else "8.7"
    head = f".version {version}\n.target {arch}\n.address_size 64\n"
    decls = "".join(dict.fromkeys(f.module for f in forms if f.module))
    return head + decls + "".join(f.kernel(f"k{n}") for n, f in enumerate(forms))

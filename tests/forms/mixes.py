"""Random programs that chain the forms: the outputs of one are inputs of others, in branches and loops.

``python -m tests.forms.mixes SEED COUNT [BUDGET]`` judges programs by the PTX interpreter, targets and levels in turn.
"""

import functools
import random
import sys

from orias.tools.fuzz.judge import OK, OPEN, Verdict, judge_text
from tests.forms.exact import Answer
from tests.forms.form import BITS, Form
from tests.forms.generate import all_forms

ARCHES = ("sm_80", "sm_90", "sm_120a", "sm_75", "sm_100a", "sm_89")
LEVELS = (3, 1, 3, 0)
_FAMILIES = ("integer", "float", "convert", "divide", "video", "later", "memory")
_VARIABLES = {"b16": ("vh", 3), "b32": ("vr", 5), "b64": ("vd", 4), "pred": ("vp", 3)}
_NUMBERS = (
    0,
    1,
    2,
    3,
    31,
    32,
    33,
    63,
    64,
    0xFF,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    0x8000,
    1 << 63,
    (1 << 64) - 1,
)
_HEAD = """\
.version 9.0
.target {arch}
.address_size 64
.visible .entry k(.param .u64 pi, .param .u64 po, .param .u64 c0, .param .u64 c1, .param .u64 c2)
{{
.reg .b64 %in, %out, %w; .reg .b32 %fw, %ft;
{declarations}
ld.param.u64 %in, [pi]; ld.param.u64 %out, [po];
mov.u32 %fw, %tid.x; mov.u32 %ft, %ctaid.x; mad.lo.u32 %fw, %ft, 64, %fw;
mul.wide.u32 %w, %fw, 32; add.u64 %in, %in, %w; mul.wide.u32 %w, %fw, 384; add.u64 %out, %out, %w;
{statements}
ret;
}}
"""


@functools.cache
def mixable() -> list[Form]:
    """Forms of one thread with exact results that touch no memory but their own."""
    words = ("%idx", "%mem", "%fi", "bar.", ".shared", "call")
    out = []
    for family in _FAMILIES:
        for f in all_forms()[family]:
            if f._want is None or not f.ins or not f.outs or f.module or any(w in f.body for w in words):
                continue
            if not any(isinstance(w, Answer) for row in f.expected()[:64] for w in row):
                out.append(f)
    return out


class _Mix:
    """A program under construction."""

    def __init__(self, seed: int, arch: str, budget: int) -> None:
        self.r = random.Random(seed)
        sm = int(arch[3:].rstrip("af"))
        self.forms = [f for f in mixable() if f.sm <= sm and (not f.archs or arch in f.archs)]
        self.variables = {t: [f"%{name}{k}" for k in range(n)] for t, (name, n) in _VARIABLES.items()}
        self.declarations = [f".reg .{t} %{name}<{n}>;" for t, (name, n) in _VARIABLES.items()]
        self.lines: list[str] = []
        self.open: list[tuple[str, int]] = []
        self.labels = 0
        self.left = budget

    def any(self, t: str) -> str:
        """A variable."""
        return self.r.choice(self.variables[t])

    def number(self, t: str) -> str:
        """A constant."""
        return hex(self.r.choice((*_NUMBERS, self.r.getrandbits(8), self.r.getrandbits(64))) & (1 << BITS[t]) - 1)

    def begin(self) -> None:
        """Give every variable a value: of a thread, of all threads, or a constant."""
        thread = {"b16": "cvt.u16.u32", "b32": "mov.b32", "b64": "cvt.u64.u32"}
        for t in ("b32", "b64", "b16"):
            for v in self.variables[t]:
                self.lines.append(
                    self.r.choice(
                        (
                            f"ld.global.{t} {v}, [%in+{8 * self.r.randrange(4)}];",
                            f"ld.param.{t} {v}, [c{self.r.randrange(3)}];",
                            f"mov.{t} {v}, {self.number(t)};",
                            f"{thread[t]} {v}, %tid.x;",
                        )
                    )
                )
        for v in self.variables["pred"]:
            self.lines.append(
                f"setp.{self.r.choice(('lt', 'ne', 'gt'))}.s32 {v}, {self.any('b32')}, {self.any('b32')};"
            )

    def branch(self) -> None:
        """Begin a statement that some threads leave out."""
        self.labels += 1
        self.lines.append(f"@{self.r.choice(('', '!'))}{self.any('pred')} bra L{self.labels};")
        self.open.append(("branch", self.labels))

    def loop(self) -> None:
        """Begin a loop of a number of turns that is known, that all threads share, or of each thread."""
        self.labels += 1
        c = f"%k{self.labels}"
        self.declarations.append(f".reg .b32 {c}; .reg .pred %q{self.labels};")
        some = self.r.choice(("ld.param.u32 {0}, [c0]", f"mov.b32 {{0}}, {self.any('b32')}")).format(c)
        self.lines.append(
            self.r.choice(
                (f"mov.u32 {c}, {self.r.randrange(1, 4)};", f"{some}; and.b32 {c}, {c}, 3; add.u32 {c}, {c}, 1;")
            )
        )
        self.lines.append(f"T{self.labels}:")
        self.open.append(("loop", self.labels))

    def end(self) -> None:
        """End the innermost branch or loop."""
        kind, n = self.open.pop()
        if kind == "branch":
            self.lines.append(f"L{n}:")
        else:
            self.lines.append(f"sub.u32 %k{n}, %k{n}, 1; setp.ne.u32 %q{n}, %k{n}, 0; @%q{n} bra T{n};")

    def form(self) -> None:
        """One form."""
        f = self.r.choice(self.forms)
        lines = [f".reg .{t} %a{k};" for k, t in enumerate(f.ins)] + [f".reg .{t} %o{k};" for k, t in enumerate(f.outs)]
        lines.append(f.decl)
        for k, t in enumerate(f.ins):
            constant = t != "pred" and self.r.random() < 0.25
            lines.append(f"mov.{t} %a{k}, {self.number(t) if constant else self.any(t)};")
        lines.append(f.body)
        lines += [f"mov.{t} {self.any(t)}, %o{k};" for k, t in enumerate(f.outs)]
        self.lines.append("{\n" + "\n".join(x for x in lines if x) + "\n}")

    def finish(self) -> None:
        """Store every variable."""
        at = 0
        for t in ("b32", "b64", "b16"):
            for v in self.variables[t]:
                self.lines.append(f"st.global.{t} [%out+{at}], {v};")
                at += 8
        for v in self.variables["pred"]:
            self.lines.append(f"selp.u32 %fw, 1, 0, {v}; st.global.u32 [%out+{at}], %fw;")
            at += 8


def program(seed: int, arch: str, budget: int) -> str:
    """A module with the kernel ``k`` of `budget` forms, branches and loops, for :func:`orias.tools.fuzz.judge.judge_text`."""
    m = _Mix(seed, arch, budget)
    m.begin()
    while m.left or m.open:
        roll = m.r.random()
        if m.open and (not m.left or roll > 0.85):
            m.end()
            continue
        m.left -= 1
        if roll < 0.12 and len(m.open) < 3:
            m.branch()
        elif roll < 0.18 and len(m.open) < 3:
            m.loop()
        else:
            m.form()
    m.finish()
    return _HEAD.format(arch=arch, declarations="\n".join(m.declarations), statements="\n".join(m.lines))


def judged(seed: int, budget: int = 30) -> Verdict:
    """The verdict on a program."""
    arch, level = ARCHES[seed % len(ARCHES)], LEVELS[seed // len(ARCHES) % len(LEVELS)]
    return judge_text(program(seed, arch, budget), seed, arch, level, "")


def main(first: int, count: int, budget: int) -> None:
    """Judge programs, and print those that are wrong."""
    kinds: dict[str, int] = {}
    for seed in range(first, first + count):
        v = judged(seed, budget)
        kinds[v.kind] = kinds.get(v.kind, 0) + 1
        if v.kind not in (OK, OPEN):
            print(seed, v.arch, v.level, v.kind, v.detail)
    print(kinds)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 30)

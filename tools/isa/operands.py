"""Compares the table with words of ptxas: one PTX operation a kernel, in every modifier, on every kind of operand.

Usage: ``python tools/isa/operands.py sm_90a [--seed N] [--count N]``.

A source is a value of the thread, its negation or absolute value, a parameter, a uniform value (a parameter and the block's number), or an
immediate: all of one kind, one of another kind, and ``count`` random mixes.  Each word that ptxas writes must have the text of nvdisasm, and
its operands must encode to the same word.
"""

import argparse
import itertools
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from orias.cubin.reader import Reader  # noqa: E402
from orias.isa.decode import IllegalWord  # noqa: E402
from orias.isa.isa_table import load  # noqa: E402
from orias.target.profile import profile_of_sm  # noqa: E402
from tests.isa.harvest import disassemble_words, words_of  # noqa: E402
from tests.nvtools import tool  # noqa: E402

OPERATIONS = """
{add,sub,mul}{,.rn,.ftz,.sat,.ftz.sat}.{f16,f16x2}: $ $ $
{add,sub,mul}{,.rn}.{bf16,bf16x2}: $ $ $
fma.rn{,.ftz,.sat,.ftz.sat,.relu,.ftz.relu,.oob,.oob.relu}.{f16,f16x2}: $ $ $ $
fma.rn{,.relu,.oob,.oob.relu}.{bf16,bf16x2}: $ $ $ $
{min,max}{,.ftz,.NaN,.ftz.NaN,.xorsign.abs,.NaN.xorsign.abs}.{f16,f16x2,f32}: $ $ $
{min,max}{,.NaN,.xorsign.abs,.NaN.xorsign.abs}.{bf16,bf16x2}: $ $ $
{min,max}{,.ftz,.NaN}.f32: $ $ $ $
{neg,abs}.{f16,f16x2,bf16,bf16x2,f32,f64,s16,s32,s64}: $ $
{tanh.approx.f16,tanh.approx.bf16x2,ex2.approx.f16,ex2.approx.f16x2,ex2.approx.ftz.bf16}: $ $
setp.{eq,ne,lt,ge,equ,ltu,num,nan}{,.ftz}.{f16,f32}: pred $ $
setp.{eq,ne,lt,le,gt,ge}.{bf16,f64,s16,u16,s32,u32,s64,u64}: pred $ $
setp.lt.{and,or,xor}.{f32,f64,s32,u64}: pred $ $ pred
set.{eq,ne,lt,ge,equ,num,nan}.f16x2.f16x2: $ $ $
set.{eq,ne,lt,ge,equ,num,nan}.bf16x2.bf16x2: $ $ $
set.{lt,ge,ne}.u32.{f16,f32,f64,s16,s32,u32,s64,u64}: u32 $ $
{add,sub,mul,fma}.{rn,rz,rm,rp}{,.ftz,.sat}.f32: $ $ $ *
{add,sub,mul,fma}.{rn,rz,rm,rp}.f64: $ $ $ *
{add,sub,mul,fma}.{rn,rz,rm,rp}{,.ftz}.f32x2: $ $ $ *
{min,max,copysign}.f64: $ $ $
copysign.f32: $ $ $
{sin,cos,ex2,lg2,sqrt,rsqrt,rcp}.approx{,.ftz}.f32: $ $
tanh.approx.f32: $ $
{rcp,rsqrt}.approx.ftz.f64: $ $
{div.approx,div.full}{,.ftz}.f32: $ $ $
{add,sub,mul.lo,mul.hi,min,max}.{s16,u16,s32,u32,s64,u64}: $ $ $
{mad.lo,mad.hi}.{s16,u16,s32,u32,s64,u64}: $ $ $ $
{add,sub}.sat.s32: $ $ $
mad.hi.sat.s32: $ $ $ $
{mul24.lo,mul24.hi}.{s32,u32}: $ $ $
sad.{s16,s32,u32}: $ $ $ $
mul.wide.s32: s64 $ $
mul.wide.u32: u64 $ $
mad.wide.s32: s64 $ $ s64
mad.wide.u32: u64 $ $ u64
{dp4a,dp2a.lo,dp2a.hi}.{s32,u32}.{s32,u32}: s32 $ $ s32
{and,or,xor}.{b16,b32,b64}: $ $ $
{not,cnot}.{b16,b32,b64}: $ $
{shl.b16,shl.b32,shl.b64,shr.s16,shr.u16,shr.s32,shr.u32,shr.s64,shr.u64}: $ $ u32
{add,min,max}.{s16x2,u16x2}: $ $ $
{min,max}.relu.{s16x2,s32}: $ $ $
bfe.{s32,u32,s64,u64}: $ $ u32 u32
bfi.{b32,b64}: $ $ $ u32 u32
{bfind,bfind.shiftamt}.{s32,u32,s64,u64}: u32 $
{popc,clz}.{b32,b64}: u32 $
brev.{b32,b64}: $ $
{szext.clamp,szext.wrap}.{s32,u32}: $ $ u32
{bmsk.clamp,bmsk.wrap}.b32: $ $ $
{shf.l.wrap,shf.r.wrap,shf.l.clamp,shf.r.clamp}.b32: $ $ $ $
prmt.b32{,.f4e,.b4e,.rc8,.ecl,.ecr,.rc16}: b32 b32 b32 b32
{selp.b16,selp.b32,selp.b64,selp.f32,selp.f64}: $ $ $ pred
slct.{s32,u64,f32,f64}.f32: f32 f32 f32 f32
{vadd,vsub,vabsdiff,vmin,vmax}.{s32,u32}.{s32,u32}.{s32,u32}{,.sat}: $ $ $
{vadd,vsub,vabsdiff,vmin,vmax}.s32.s32.s32{.add,.min}: s32 s32 s32 s32
{vadd2,vsub2,vavrg2,vabsdiff2,vmin2,vmax2,vadd4,vsub4,vavrg4,vabsdiff4,vmin4,vmax4}.s32.s32.s32{,.add}: s32 s32 s32 s32
{vset2,vset4}.u32.u32.{lt,ge}: u32 u32 u32 u32
{vmad.s32.s32.s32,vmad.u32.u32.u32.shr7}: s32 s32 s32 s32
{vshl.u32.u32.u32,vshr.s32.s32.u32}{.clamp,.wrap}: u32 u32 u32
cvt{,.sat}.{s8,u8,s16,u16,s32,u32,s64,u64}.{s8,u8,s16,u16,s32,u32,s64,u64}: < $
cvt{.rni,.rzi,.rmi,.rpi}{,.ftz,.sat}.{s8,u8,s16,u16,s32,u32,s64,u64}.{f16,bf16,f32,f64}: < $
cvt{.rn,.rz,.rm,.rp}{,.sat}.{f16,bf16,f32,f64}.{s8,u8,s16,u16,s32,u32,s64,u64}: < $
cvt{.rni,.rzi,.rmi,.rpi}.{f16,bf16,f32,f64}.{f16,bf16,f32,f64}: < $
cvt{,.rn,.rz,.rm,.rp}{,.ftz,.sat,.relu,.satfinite}.{f16,bf16,f32,f64}.{f16,bf16,f32,f64}: < $
cvt{.rn,.rz}{,.relu,.satfinite,.relu.satfinite}.{f16x2,bf16x2}.f32: < $ $
cvt.rs{,.relu}.{f16x2,bf16x2}.f32: < $ $ u32
cvt.rn.satfinite{,.relu}.{e4m3x2,e5m2x2,e2m3x2,e3m2x2}.f32: b16 $ $
cvt.rn.satfinite{,.relu}.{e4m3x2,e5m2x2}.f16x2: b16 $
cvt.rn{,.relu}.f16x2.{e4m3x2,e5m2x2,e2m3x2,e3m2x2}: f16x2 b16
cvt{.rz,.rp}.ue8m0x2.f32: b16 $ $
cvt{.rz,.rp}.satfinite.ue8m0x2.bf16x2: b16 $
cvt.rn.bf16x2.ue8m0x2: bf16x2 b16
cvt{.rna,.rna.satfinite,.rn,.rn.relu,.rz,.rz.relu}.tf32.f32: b32 $
cvt.pack.sat.{s16,u16}.{s32,u32}: b32 $ $
cvt.pack.sat.{s8,u8,s4,u4,s2,u2}.s32.b32: b32 s32 s32 b32
"""
"""A line: an operation with braces around its alternatives, the type of the result, those of the sources.

``$`` is the last type of the operation, ``<`` the one before; ``*`` a third source of the last type for ``fma`` alone.
"""

SIZES = {"f16": 16, "bf16": 16, "pred": 32}
IMMEDIATES = {
    "f32": ("0f3FC00000", "0f00000000", "0fBF800000"),
    "f64": ("0d3FF8000000000000", "0d0000000000000000"),
    16: ("0x3e00", "0", "7"),
    32: ("0x3e001234", "3", "-1"),
    64: ("0x123456789", "3", "-1"),
}
BATCH = 200
BRANCHES = (0x945, 0x947, 0x1547)
"""Opcodes whose text depends on the address."""


def size(kind: str) -> int:
    """Bits of a value of a type."""
    if kind in SIZES:
        return SIZES[kind]
    if kind.endswith("x2"):
        return 2 * size(kind[:-2])
    return int(kind.lstrip("bsuf"))


def spelled(pattern: str) -> Iterator[str]:
    """The texts of a pattern with alternatives in braces."""
    parts = re.split(r"\{([^}]*)\}", pattern)
    choices = [p.split(",") if i % 2 else [p] for i, p in enumerate(parts)]
    for words in itertools.product(*choices):
        yield "".join(words)


def operations() -> Iterator[tuple[str, str, list[str]]]:
    """Operation, type of its result, types of its sources."""
    for line in OPERATIONS.split("\n"):
        if not line:
            continue
        pattern, _, operands = line.partition(": ")
        for name in dict.fromkeys(spelled(pattern)):
            types = [w for w in name.split(".")[1:] if re.fullmatch(r"[bsuf]\d+|bf16|[suf]\d+x2|bf16x2", w)]
            words = operands.split(" ")
            if words[-1] == "*":
                words = [*words[:-1], "$"] if name.startswith("fma") else words[:-1]
            known = {"$": types[-1] if types else "", "<": types[-2] if len(types) > 1 else ""}
            kinds = [known.get(w, w) for w in words]
            yield name, kinds[0], kinds[1:]


def mixes(count: int, extra: int, rng: random.Random) -> list[str]:
    """Kinds of the sources of an operation, a letter each: Register, Constant, Uniform, Immediate, Negated, Absolute."""
    out = ["R" * count]
    for i in range(count):
        for one in "CUINA":
            out.append("R" * i + one + "R" * (count - i - 1))
        out += ["U" * i + other + "U" * (count - i - 1) for other in "RCI"]
    out += ["C" * count, "N" * count, "A" * count]
    out += ["".join(rng.choice("RCUINA") for _ in range(count)) for _ in range(extra)]
    return list(dict.fromkeys(out))


def source(i: int, kind: str, how: str, rng: random.Random) -> tuple[str, str, str]:
    """Text of the source, its parameter, and the PTX before the operation."""
    x = f"%x{i}"
    bits = size(kind)
    if how == "I" and kind != "pred":
        value = rng.choice(IMMEDIATES[kind] if kind in IMMEDIATES else IMMEDIATES[max(16, bits)])
        if kind in ("f32", "f64") or "f" not in kind:
            return value, "", ""
        return x, "", f".reg .b{bits} {x}; mov.b{bits} {x}, {value};"
    load = f"u{bits}" if bits == 8 else f"b{bits}"
    register = f"b{max(16, bits)}"
    text = f".reg .{register} {x};"
    parameter = ""
    if how in "RNAI":
        text += f" ld.global.{load} {x}, [%in+{16 * i}];"
    else:
        parameter = f", .param .{load} p{i}"
        text += f" ld.param.{load} {x}, [p{i}];"
    if how == "U" and bits >= 32:
        text += f" .reg .{register} %c{i}; cvt.u{bits}.u32 %c{i}, %block; xor.{register} {x}, {x}, %c{i};"
    if kind == "pred":
        return f"%t{i}", parameter, f"{text} .reg .pred %t{i}; setp.ne.u32 %t{i}, {x}, 0;"
    if how in "NA":
        if "f" in kind:
            text += f" {'neg' if how == 'N' else 'abs'}.{kind} {x}, {x};"
        elif bits >= 16:
            text += f" neg.s{bits} {x}, {x};" if how == "N" and "x" not in kind else f" not.b{max(16, bits)} {x}, {x};"
    return x, parameter, text


def kernel(name: str, operation: str, result: str, sources: list[str], mix: str, rng: random.Random) -> str:
    """A kernel with the operation, on one line."""
    found = [source(i, kind, how, rng) for i, (kind, how) in enumerate(zip(sources, mix, strict=True))]
    bits = size(result)
    operands = ", ".join(text for text, _, _ in found)
    if result == "pred":
        core = f".reg .pred %p; .reg .b32 %d; {operation} %p, {operands}; selp.b32 %d, 5, 9, %p;"
    else:
        core = f".reg .b{max(16, bits)} %d; {operation} %d, {operands};"
    return (
        f".visible .entry {name}(.param .u64 out, .param .u64 in{''.join(p for _, p, _ in found)}) {{ .reg .u64 %out, %in, %wide; "
        ".reg .u32 %thread, %block; ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; mov.u32 %thread, %tid.x; mov.u32 %block, %ctaid.x; "
        "mul.wide.u32 %wide, %thread, 16; add.u64 %out, %out, %wide; mul.wide.u32 %wide, %thread, 128; add.u64 %in, %in, %wide; "
        f"{' '.join(text for _, _, text in found)} {core} st.global.{'u8' if bits == 8 else f'b{bits}'} [%out], %d; ret; }}"
    )


def compiled(arch: str, kernels: list[str], work: Path) -> tuple[bytes, int]:
    """The cubin of the kernels that ptxas takes, and their number."""
    head = [".version 9.0", f".target {arch}", ".address_size 64"]
    ptx, cubin = work / "k.ptx", work / "k.cubin"
    while kernels:
        ptx.write_text("\n".join([*head, *kernels, ""]))
        done = subprocess.run(
            [tool("ptxas"), "-arch", arch, str(ptx), "-o", str(cubin)],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if done.returncode == 0:
            return cubin.read_bytes(), len(kernels)
        refused = {int(n) - len(head) - 1 for n in re.findall(r"line (\d+);", done.stderr)}
        if not refused:
            raise SystemExit(done.stderr)
        kernels = [k for i, k in enumerate(kernels) if i not in refused]
    return b"", 0


def main() -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("arch")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--count", type=int, default=2)
    a = p.parse_args()
    rng = random.Random(a.seed)
    texts = [
        kernel(f"k{n}", operation, result, sources, mix, rng)
        for n, (operation, result, sources, mix) in enumerate(
            (o, r, s, m) for o, r, s in operations() for m in mixes(len(s), a.count, rng)
        )
    ]
    words: set[int] = set()
    taken = 0
    name = ""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for start in range(0, len(texts), BATCH):
            cubin, number = compiled(a.arch, texts[start : start + BATCH], work)
            if cubin:
                taken += number
                words |= words_of(cubin)
                name = profile_of_sm(Reader(cubin).sm).table
        asked = sorted(w for w in words if w & 0xFFF | (w >> 91 & 1) << 12 not in BRANCHES)
        shown = disassemble_words(asked, a.arch.upper().replace("_", ""), work)
    table = load(name)
    wrong: Counter[str] = Counter()
    for w in asked:
        text = shown.get(w)
        try:
            got, extra = table.text(w), table.decode(w).extra
        except IllegalWord as e:
            got, extra = str(e), 0
        if text is not None and (got != text or extra):
            wrong["hidden bits" if got == text else "text"] += 1
            print(f"{w:032x} {text} / {got if got != text else hex(extra)}")
    print(f"{a.arch}: {len(texts)} kernels, {taken} taken by ptxas, {len(asked)} words, differ: {dict(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

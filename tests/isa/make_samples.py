"""Makes ``tests/isa/words_sm_*.txt``: words that ptxas writes for small kernels made here, with nvdisasm's text.

``python -m tests.isa.make_samples [sm_90 ...]``.  Every kernel holds one PTX instruction in a type and operand kind; a few words of each
operation and operand layout go into the file.
"""

import random
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.isa.harvest import disassemble_words, words_of
from tests.isa.newer_bodies import newer_bodies
from tests.nvtools import find

HERE = Path(__file__).resolve().parent
PER_LAYOUT = 6
TABLES = {
    "sm_75": "SM75", "sm_80": "SM80", "sm_86": "SM86", "sm_89": "SM89", "sm_90": "SM90", "sm_100": "SM100a", "sm_103": "SM103a",
    "sm_110": "SM110a", "sm_120": "SM120a",
}  # fmt: skip
NEWER = ("sm_100", "sm_103", "sm_110", "sm_120")

INT = ("u32", "s32")
WIDE = ("u64", "s64")
F = ("f32", "f64")
ROUND = ("rn", "rz", "rm", "rp")
CMP = ("eq", "ne", "lt", "le", "gt", "ge")


def bodies() -> Iterator[str]:
    """Instruction texts over %r0..3 (b32), %l0..3 (b64), %f0..3, %d0..3, %h0..3 (b16), %p0..3, addresses %l8 (global), %r8 (shared)."""
    for t in INT:
        for op in ("add", "sub", "mul.lo", "mul.hi", "min", "max", "div", "rem"):
            yield f"{op}.{t} %r0, %r1, %r2;"
            yield f"{op}.{t} %r0, %r1, 77;"
        for op in ("mad.lo", "mad.hi"):
            yield f"{op}.{t} %r0, %r1, %r2, %r3;"
        yield f"mul.wide.{t} %l0, %r1, %r2;"
        yield f"mad.wide.{t} %l0, %r1, 12, %l1;"
        yield f"sad.{t} %r0, %r1, %r2, %r3;"
        yield f"shr.{t} %r0, %r1, %r2;"
        yield f"bfe.{t} %r0, %r1, %r2, %r3;"
        yield f"bfind.{t} %r0, %r1;"
        yield f"bfind.shiftamt.{t} %r0, %r1;"
        for c in CMP:
            yield f"setp.{c}.{t} %p0, %r1, %r2; selp.b32 %r0, %r1, %r3, %p0;"
            yield f"set.{c}.u32.{t} %r0, %r1, 9;"
        yield f"setp.lt.and.{t} %p0|%p1, %r1, %r2, %p2; selp.b32 %r0, %r1, %r3, %p1; @%p0 st.global.u32 [%l8], %r1;"
        yield f"dp4a.{t}.{t} %r0, %r1, %r2, %r3;"
        yield f"dp2a.lo.{t}.{t} %r0, %r1, %r2, %r3;"
        yield f"vabsdiff4.{t}.{t}.{t}.add %r0, %r1, %r2, %r3;"
    for t in WIDE:
        for op in ("add", "sub", "mul.lo", "mul.hi", "min", "max", "div"):
            yield f"{op}.{t} %l0, %l1, %l2;"
        yield f"shr.{t} %l0, %l1, %r2;"
        for c in ("lt", "eq", "ge"):
            yield f"setp.{c}.{t} %p0, %l1, %l2; selp.b64 %l0, %l1, %l3, %p0;"
    for op in ("and", "or", "xor"):
        yield f"{op}.b32 %r0, %r1, %r2;"
        yield f"{op}.b32 %r0, %r1, 0x1234567;"
        yield f"{op}.pred %p0, %p1, %p2; selp.b32 %r0, 1, 2, %p0;"
    yield "not.b32 %r0, %r1;"
    yield "neg.s32 %r0, %r1;"
    yield "abs.s32 %r0, %r1;"
    yield "lop3.b32 %r0, %r1, %r2, %r3, 0x96;"
    yield "shl.b32 %r0, %r1, %r2;"
    yield "shl.b64 %l0, %l1, %r2;"
    for m in ("wrap", "clamp"):
        yield f"shf.l.{m}.b32 %r0, %r1, %r2, %r3;"
        yield f"shf.r.{m}.b32 %r0, %r1, %r2, %r3;"
    for m in ("", ".f4e", ".b4e", ".rc8", ".ecl", ".rc16"):
        yield f"prmt.b32{m} %r0, %r1, %r2, %r3;"
    for op in ("popc", "clz", "brev"):
        yield f"{op}.b32 %r0, %r1;"
        yield f"{op}.b64 {'%l0' if op == 'brev' else '%r0'}, %l1;"
    yield "bfi.b32 %r0, %r1, %r2, %r3, %r4;"
    yield "add.cc.u32 %r0, %r1, %r2; addc.u32 %r3, %r4, %r5; st.global.u32 [%l8+8], %r3;"
    yield "mad.lo.cc.u32 %r0, %r1, %r2, %r3; madc.hi.u32 %r3, %r1, %r2, %r5; st.global.u32 [%l8+8], %r3;"
    for t, r in (("f32", "f"), ("f64", "d")):
        a = f"%{r}0, %{r}1"
        for op in ("add", "sub", "mul"):
            for rnd in ROUND:
                yield f"{op}.{rnd}.{t} {a}, %{r}2;"
        for rnd in ROUND:
            yield f"fma.{rnd}.{t} {a}, %{r}2, %{r}3;"
            yield f"div.{rnd}.{t} {a}, %{r}2;"
            yield f"sqrt.{rnd}.{t} {a};"
            yield f"rcp.{rnd}.{t} {a};"
        for op in ("min", "max"):
            yield f"{op}.{t} {a}, %{r}2;"
        for op in ("abs", "neg"):
            yield f"{op}.{t} {a};"
        for c in (*CMP, "equ", "neu", "ltu", "gtu", "num", "nan"):
            yield f"setp.{c}.{t} %p0, %{r}1, %{r}2; selp.b32 %r0, %r1, %r3, %p0;"
        yield f"testp.infinite.{t} %p0, %{r}1; selp.b32 %r0, %r1, %r3, %p0;"
        yield f"copysign.{t} {a}, %{r}2;"
        yield f"fma.rn.{t} {a}, {'0f40490fdb' if r == 'f' else '0d4009000000000000'}, %{r}3;"
        yield f"add.{t} {a}, {'0f7f800000' if r == 'f' else '0d7ff0000000000000'};"
    for op in ("add", "mul", "fma.rn", "min", "max"):
        third = ", %f3" if op == "fma.rn" else ""
        yield f"{op}.ftz.f32 %f0, %f1, %f2{third};"
    yield "add.sat.f32 %f0, %f1, %f2;"
    yield "fma.rn.ftz.sat.f32 %f0, %f1, %f2, %f3;"
    for op in ("sin", "cos", "ex2", "lg2", "rcp", "rsqrt", "sqrt", "tanh"):
        yield f"{op}.approx.f32 %f0, %f1;"
        yield f"{op}.approx.ftz.f32 %f0, %f1;"
    yield "rsqrt.approx.f64 %d0, %d1;"
    yield "div.approx.f32 %f0, %f1, %f2;"
    yield "div.full.f32 %f0, %f1, %f2;"
    for t in ("f16x2", "bf16x2"):
        for op in ("add", "sub", "mul", "min", "max"):
            yield f"{op}.{t} %r0, %r1, %r2;"
        yield f"fma.rn.{t} %r0, %r1, %r2, %r3;"
        yield f"fma.rn.relu.{t} %r0, %r1, %r2, %r3;"
        yield f"neg.{t} %r0, %r1;"
        yield f"abs.{t} %r0, %r1;"
        yield f"setp.lt.{t} %p0|%p1, %r1, %r2; selp.b32 %r0, %r1, %r3, %p0; @%p1 st.global.u32 [%l8], %r1;"
        yield f"set.ge.{t}.{t} %r0, %r1, %r2;"
        yield f"tanh.approx.{t} %r0, %r1;"
    for t in ("f16", "bf16"):
        for op in ("add", "mul", "min"):
            yield f"{op}.{t} %h0, %h1, %h2;"
        yield f"fma.rn.{t} %h0, %h1, %h2, %h3;"
        yield f"ex2.approx.{'ftz.' if t == 'bf16' else ''}{t} %h0, %h1;"
        yield f"cvt.f32.{t} %f0, %h1;"
        yield f"cvt.rn.{t}.f32 %h0, %f1;"
        yield f"cvt.rn.{t}x2.f32 %r0, %f1, %f2;"
        yield f"cvt.rz.relu.{t}x2.f32 %r0, %f1, %f2;"
    ints = {"u8": "h", "s8": "h", "u16": "h", "s16": "h", "u32": "r", "s32": "r", "u64": "l", "s64": "l"}
    for t, r in ints.items():
        for ft, fr in (("f32", "f"), ("f64", "d"), ("f16", "h")):
            yield f"cvt.rn.{ft}.{t} %{fr}0, %{r}1;"
            for rnd in ("rni", "rzi", "rmi", "rpi"):
                yield f"cvt.{rnd}.{t}.{ft} %{r}0, %{fr}1;"
        for u, q in ints.items():
            yield f"cvt.{t}.{u} %{r}0, %{q}1;"
        yield f"cvt.sat.{t}.s32 %{r}0, %r1;"
    for rnd in ROUND:
        yield f"cvt.{rnd}.f32.f64 %f0, %d1;"
        yield f"cvt.{rnd}i.f32.f32 %f0, %f1;"
        yield f"cvt.{rnd}i.f64.f64 %d0, %d1;"
    yield "cvt.f64.f32 %d0, %f1;"
    for t, r in (("u8", "h"), ("s8", "h"), ("u16", "h"), ("u32", "r"), ("u64", "l")):
        for sp, ad in (("global", "%l8"), ("shared", "%r8"), ("local", "%r9"), ("const", "%l9")):
            yield f"ld.{sp}.{t} %{r}0, [{ad}+16];"
            if sp != "const":
                yield f"st.{sp}.{t} [{ad}+24], %{r}1;"
        yield f"ld.{t} %{r}0, [%l8];"
        yield f"st.{t} [%l8], %{r}1;"
    for c in ("ca", "cg", "cs", "lu", "cv"):
        yield f"ld.global.{c}.u32 %r0, [%l8];"
    for c in ("wb", "cg", "cs", "wt"):
        yield f"st.global.{c}.u32 [%l8], %r1;"
    for s in ("cta", "gpu", "sys"):
        yield f"ld.relaxed.{s}.global.u32 %r0, [%l8];"
        yield f"ld.acquire.{s}.global.u32 %r0, [%l8];"
        yield f"st.release.{s}.global.u32 [%l8], %r1;"
        yield f"fence.acq_rel.{s};"
        yield f"fence.sc.{s};"
        yield f"membar.{'gl' if s == 'gpu' else s};"
    yield "ld.global.nc.u32 %r0, [%l8];"
    yield "ld.global.nc.L1::no_allocate.L2::128B.u32 %r0, [%l8];"
    yield "ld.volatile.global.u32 %r0, [%l8];"
    yield "ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%l8]; st.shared.v4.u32 [%r8], {%r0, %r1, %r2, %r3};"
    yield "ld.global.v2.u64 {%l0, %l1}, [%l8]; st.local.v2.u64 [%r9], {%l0, %l1};"
    for op in ("add", "min", "max", "and", "or", "xor", "inc", "dec", "exch"):
        t = "b32" if op in ("and", "or", "xor", "exch") else "u32"
        for sp, ad in (("global", "%l8"), ("shared", "%r8")):
            yield f"atom.{sp}.{op}.{t} %r0, [{ad}], %r1;"
            if op != "exch":
                yield f"red.{sp}.{op}.{t} [{ad}+4], %r1;"
        yield f"atom.{op}.{t} %r0, [%l8], %r1;"
    for t, r in (("u64", "l"), ("f32", "f"), ("f64", "d"), ("s32", "r")):
        yield f"atom.global.add.{t} %{r}0, [%l8], %{r}1;"
        yield f"red.global.add.{t} [%l8], %{r}1;"
        yield f"atom.shared.add.{t} %{r}0, [%r8], %{r}1;"
    yield "atom.global.cas.b32 %r0, [%l8], %r1, %r2;"
    yield "atom.global.cas.b64 %l0, [%l8], %l1, %l2;"
    yield "atom.shared.cas.b32 %r0, [%r8], %r1, %r2;"
    yield "atom.shared.cas.b64 %l0, [%r8], %l1, %l2;"
    yield "atom.global.cas.b16 %h0, [%l8], %h1, %h2;"
    yield "atom.global.add.noftz.f16x2 %r0, [%l8], %r1;"
    for m in ("idx", "up", "down", "bfly"):
        yield f"shfl.sync.{m}.b32 %r0|%p0, %r1, %r2, 31, -1; @%p0 st.global.u32 [%l8], %r1;"
        yield f"shfl.sync.{m}.b32 %r0, %r1, 3, %r2, -1;"
    for m in ("any", "all", "uni"):
        yield f"vote.sync.{m}.pred %p0, %p1, -1; selp.b32 %r0, 1, 2, %p0;"
    yield "vote.sync.ballot.b32 %r0, %p1, -1;"
    yield "match.any.sync.b32 %r0, %r1, -1;"
    yield "match.all.sync.b64 %r0|%p0, %l1, -1;"
    for op in ("add", "min", "max"):
        yield f"redux.sync.{op}.s32 %r0, %r1, -1;"
    yield "redux.sync.xor.b32 %r0, %r1, -1;"
    yield "activemask.b32 %r0;"
    yield "bar.sync 1;"
    yield "bar.sync %r1, 64;"
    yield "bar.arrive 2, 64;"
    yield "bar.warp.sync %r1;"
    yield "barrier.red.popc.aligned.u32 %r0, 1, %p1;"
    yield "bar.red.and.pred %p0, 0, %p1; selp.b32 %r0, 1, 2, %p0;"
    yield "nanosleep.u32 %r1;"
    yield "prefetch.global.L2 [%l8];"
    yield "isspacep.shared %p0, %l8; selp.b32 %r0, 1, 2, %p0;"
    yield "trap;"
    yield "brkpt;"
    yield "pmevent 3;"
    for s in (
        "%tid.x",
        "%ctaid.y",
        "%laneid",
        "%warpid",
        "%smid",
        "%clock",
        "%lanemask_lt",
        "%globaltimer_lo",
        "%gridid",
        "%nsmid",
    ):
        yield f"mov.u32 %r0, {s};"
    yield "mov.u64 %l0, %clock64;"
    yield "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0, %r1, %r2, %r3}, [%r8]; st.global.v4.u32 [%l8], {%r0, %r1, %r2, %r3};"
    yield "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r0}, [%r8];"
    yield "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r8], {%r1, %r2};"
    yield "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r2}, {%f0,%f1,%f2,%f3};"
    yield "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1,%r4,%r5}, {%r2,%r3}, {%f0,%f1,%f2,%f3};"
    yield "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r2}, {%f0,%f1,%f2,%f3};"
    yield "mma.sync.aligned.m8n8k16.row.col.s32.s8.u8.s32 {%r0,%r1}, {%r2}, {%r3}, {%r4,%r5};"
    yield "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 {%r0,%r1,%r2,%r3}, {%r0,%r1,%r2,%r3}, {%r4,%r5}, {%r0,%r1,%r2,%r3};"
    yield "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d0,%d1}, {%d2}, {%d3}, {%d0,%d1};"
    yield "cp.async.ca.shared.global [%r8], [%l8], 8; cp.async.commit_group; cp.async.wait_group 0;"
    yield "cp.async.cg.shared.global.L2::128B [%r8], [%l8], 16, %r1; cp.async.wait_all;"
    yield "mbarrier.init.shared.b64 [%r8], 4;"
    yield "mbarrier.arrive.shared.b64 %l0, [%r8];"
    yield "mbarrier.test_wait.shared.b64 %p0, [%r8], %l1; selp.b32 %r0, 1, 2, %p0;"
    yield "elect.sync %r0|%p0, -1;"
    yield "barrier.cluster.arrive; barrier.cluster.wait;"
    yield "mapa.shared::cluster.u32 %r0, %r8, %r1;"
    yield "call.uni (%r0), helper, (%r1);"
    yield "LOOP: add.u32 %r1, %r1, %r2; setp.lt.u32 %p0, %r1, %r3; @%p0 bra LOOP; mov.u32 %r0, %r1;"
    yield "@%p1 bra L1; st.global.u32 [%l8], %r1; bar.sync 0; L1: mov.u32 %r0, %r2;"


HEAD = """.version {version}
.target {arch}
.address_size 64
.const .align 16 .b8 table[256];
.func (.reg .u32 out) helper(.reg .u32 in) {{
  .reg .pred q; .reg .u32 x; setp.gt.u32 q, in, 5; @q bra DEEP; add.u32 out, in, 1; ret;
  DEEP: sub.u32 x, in, 2; call (out), helper, (x); ret;
}}
"""


def kernel(number: int, body: str, rng: random.Random) -> str:
    used = {r: sorted(set(re.findall(rf"%{r}(\d)\b", body)) - {"8", "9"}) for r in "rlfdh"}
    kinds = {
        "r": ("u32", "b32", 4),
        "l": ("u64", "b64", 8),
        "f": ("f32", "f32", 4),
        "d": ("f64", "f64", 8),
        "h": ("u16", "b16", 2),
    }
    out = [f".visible .entry k{number}(.param .u64 p, .param .u64 q, .param .u32 n) {{"]
    out.append(
        ".reg .b32 %r<10>; .reg .b64 %l<12>; .reg .f32 %f<8>; .reg .f64 %d<8>; .reg .b16 %h<8>; .reg .pred %p<4>;"
    )
    out.append(".shared .align 16 .b8 sh[512]; .local .align 16 .b8 lo[256];")
    out.append(
        "ld.param.u64 %l8, [p]; ld.param.u64 %l10, [q]; ld.param.u32 %r7, [n]; mov.u32 %r8, sh; mov.u64 %l9, table;"
    )
    out.append("mov.u32 %r6, %tid.x; shl.b32 %r6, %r6, 2; add.u32 %r8, %r8, %r6; cvt.u64.u32 %l11, %r6;")
    if rng.random() < 0.7:
        out.append("add.u64 %l8, %l8, %l11; add.u64 %l9, %l9, %l11;")
    out.append("mov.u32 %r9, lo; add.u32 %r9, %r9, %r7;")
    at = 0
    for r, numbers in used.items():
        for i in numbers:
            t, _, size = kinds[r]
            at = (at + size - 1) // size * size
            out.append(f"ld.global.{t} %{r}{i}, [%l10+{at}];")
            at += size
    for i in sorted(set(re.findall(r"%p([123])\b", body))):
        out.append(f"setp.eq.u32 %p{i}, %r7, {i};")
    out.append(body)
    at = 32
    for r, numbers in used.items():
        for i in numbers[:1]:
            t, _, size = kinds[r]
            out.append(f"st.global.{t} [%l10+{at}], %{r}{i};")
            at += 8
    out.append("ret; }")
    return " ".join(out)


def compile_all(arch: str) -> set[int]:
    """Words of all kernels the target knows, optimised and not."""
    ptxas = find("ptxas")
    assert ptxas is not None
    rng = random.Random(1)
    newer = arch in NEWER
    version = "9.0" if newer else "8.5"
    arch += "a" if newer else ""
    kernels = [kernel(i, b, rng) for i, b in enumerate([*bodies(), *(newer_bodies() if newer else ())])]
    first = HEAD.count("\n") + 1
    words: set[int] = set()
    with tempfile.TemporaryDirectory() as tmp:
        source, cubin = Path(tmp) / "a.ptx", Path(tmp) / "a.cubin"
        for options in (["-O3"], ["-O1"]):
            for _ in range(40):
                source.write_text(HEAD.format(arch=arch, version=version) + "\n".join(kernels) + "\n")
                done = subprocess.run(
                    [ptxas, f"-arch={arch}", *options, str(source), "-o", str(cubin)],
                    capture_output=True, text=True, timeout=300, check=False,
                )  # fmt: skip
                if done.returncode == 0:
                    words |= words_of(cubin.read_bytes())
                    break
                bad = {int(n) - first for n in re.findall(r"line (\d+);", done.stderr)}
                if not bad:
                    raise SystemExit(done.stderr[:400])
                kernels = [k for i, k in enumerate(kernels) if i not in bad]
    print(arch, len(kernels), "kernels")
    return words


def main(argv: list[str]) -> None:
    rng = random.Random(2)
    for table in argv or list(TABLES):
        words = compile_all(table)
        with tempfile.TemporaryDirectory() as tmp:
            texts = disassemble_words(sorted(words), TABLES[table], Path(tmp))
        layouts: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for w, t in texts.items():
            body = re.sub(r"^@!?U?P\w+ ", "", t)
            key = re.sub(r"0x[0-9a-f]+", "0x", re.sub(r"\b(U?[RPB]|SB)\d+", r"\1", body))
            key = re.sub(r"(?<![\w.])-?\d+(\.\d+)?(e[+-]\d+)?(?!\w)", "1", key.replace(".reuse", ""))
            layouts[key].append((w, t))
        rows = []
        for options in layouts.values():
            rows.extend(rng.sample(sorted(options), min(PER_LAYOUT, len(options))))
        pc_free = [(w, t) for w, t in rows if not re.search(r"\b(BRA|BSSY|CALL|RET|BRX|WARPSYNC|JMP|LEPC)\b", t)]
        body = "".join(f"{w:032x} {t}\n" for w, t in sorted(pc_free, key=lambda x: (x[1], x[0])))
        (HERE / f"words_{table}.txt").write_text(body, encoding="ascii")
        print(table, len(words), "words", len(pc_free), "kept", len(body), "bytes")


if __name__ == "__main__":
    main(sys.argv[1:])

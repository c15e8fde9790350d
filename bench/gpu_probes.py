"""Latencies and rates of single operations on a GPU, for the numbers of the machine model.

``python -m bench.gpu_probes make FOLDER [ARCH]`` writes the cubins; ``run FOLDER OUT.json`` runs them on GPU 0 and prints cycles an
operation: ``one``: a warp alone, each operation waits for the one before it; ``full``: 32 warps of a block with four chains each, over
the number of warps of a sub-core and chains, so cycles that a sub-core spends on an operation of one warp.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

import orias
from tests.gpu.driver import DriverError, load_driver
from tests.gpu.image import GpuImage

_TURNS: Final = 64


class Probe(NamedTuple):
    """An operation: ``{k}`` is the number of the chain.  ``before``: once at the start; ``many``: for ``full`` too; ``each``: operations a text."""

    text: str
    before: str = ""
    many: bool = True
    unroll: int = 32
    each: int = 1
    declare: str = ""


def _rf(text: str, n: int = 8) -> str:
    """Registers as a list of a vector."""
    return ", ".join(text.format(i) for i in range(n))


def probes() -> dict[str, Probe]:
    """By name."""
    out: dict[str, Probe] = {
        "empty loop": Probe("", unroll=1),
        "fma.f32": Probe("fma.rn.f32 %f{k}, %f{k}, %fa, %fb;"),
        "add.f32": Probe("add.rn.f32 %f{k}, %f{k}, %fa;"),
        "mad.lo": Probe("mad.lo.u32 %r{k}, %r{k}, %ra, %rb;"),
        "mul.hi": Probe("mul.hi.u32 %r{k}, %r{k}, %ra;"),
        "mad.wide": Probe("mov.b64 {{%x{k}, %r{k}}}, %d{k}; mul.wide.u32 %d{k}, %r{k}, %ra;"),
        "xor, add": Probe("xor.b32 %r{k}, %r{k}, %ra; add.u32 %r{k}, %r{k}, %rb;", each=2),
        "shf": Probe("shf.l.wrap.b32 %r{k}, %r{k}, %ra, %rb;"),
        "prmt": Probe("prmt.b32 %r{k}, %r{k}, %ra, %rb;"),
        "min, add": Probe("min.s32 %r{k}, %r{k}, %ra; add.u32 %r{k}, %r{k}, %rb;", each=2),
        "setp, selp": Probe("setp.lt.s32 %p{k}, %r{k}, %ra; selp.b32 %r{k}, %ra, %rb, %p{k};", each=2),
        "dp4a": Probe("dp4a.u32.u32 %r{k}, %r{k}, %ra, %rb;"),
        "fma.f16x2": Probe("fma.rn.f16x2 %r{k}, %r{k}, %ra, %rb;"),
        "fma.bf16x2": Probe("fma.rn.bf16x2 %r{k}, %r{k}, %ra, %rb;"),
        "fma.f64": Probe("fma.rn.f64 %e{k}, %e{k}, %ea, %eb;"),
        "add.f64": Probe("add.rn.f64 %e{k}, %e{k}, %ea;"),
        "mul.f64": Probe("mul.rn.f64 %e{k}, %e{k}, %ea;"),
        "popc": Probe("popc.b32 %r{k}, %r{k};"),
        "bfind": Probe("bfind.u32 %r{k}, %r{k};"),
        "brev": Probe("brev.b32 %r{k}, %r{k};"),
        "cvt.f32.s32, cvt.s32.f32": Probe("cvt.rn.f32.s32 %f{k}, %r{k}; cvt.rzi.s32.f32 %r{k}, %f{k};", each=2),
        "cvt.f64.f32, cvt.f32.f64": Probe("cvt.f64.f32 %e{k}, %f{k}; cvt.rn.f32.f64 %f{k}, %e{k};", each=2),
        "cvt.f16x2": Probe("cvt.rn.f16x2.f32 %r{k}, %f{k}, %fa; mov.b32 %f{k}, %r{k};"),
        **{
            op: Probe(f"{op}.ftz.f32 %f{{k}}, %f{{k}};")
            for op in ("ex2.approx", "lg2.approx", "rcp.approx", "rsqrt.approx", "sqrt.approx", "sin.approx", "cos.approx")
        },
        "tanh.approx": Probe("tanh.approx.f32 %f{k}, %f{k};"),
        "shfl.bfly": Probe("shfl.sync.bfly.b32 %r{k}, %r{k}, 1, 31, -1;"),
        "shfl.idx": Probe("shfl.sync.idx.b32 %r{k}, %r{k}, %r{k}, 31, -1;"),
        "vote.ballot": Probe("setp.ne.u32 %p{k}, %r{k}, %ra; vote.sync.ballot.b32 %r{k}, %p{k}, -1;"),
        "match.any": Probe("match.any.sync.b32 %r{k}, %r{k}, -1;", unroll=8),
        "redux.add": Probe("redux.sync.add.u32 %r{k}, %r{k}, -1;"),
        "redux.min": Probe("redux.sync.min.u32 %r{k}, %r{k}, -1;"),
        "bar.sync": Probe("bar.sync 0;"),
        "membar.cta": Probe("st.shared.u32 [%sa], %ra; membar.cta;", many=False, unroll=8),
        "membar.gl": Probe("st.global.u32 [%da], %ra; membar.gl;", many=False, unroll=8),
        "clock": Probe("mov.u32 %r{k}, %clock;"),
        "call": Probe("call (%r{k}), f, (%r{k});", unroll=8,
            declare=".func (.reg .u32 %o) f(.reg .u32 %i) { mad.lo.u32 %o, %i, %i, 5; ret; }\n"),
        "branch each": Probe("setp.eq.u32 %p{k}, %r{k}, %ra; @!%p{k} bra T{u}; mov.u32 %ra, %clock; T{u}: add.u32 %r{k}, %r{k}, %rb;", unroll=8),
        "two sides": Probe("and.b32 %r9, %me, 1; setp.eq.u32 %p{k}, %r9, 0; @%p{k} bra T{u}; mov.u32 %r{k}, %clock; bra U{u}; T{u}: mov.u32 %r{k}, %clock; U{u}: bar.warp.sync -1;", unroll=8),
    }  # fmt: skip
    shared = "mov.u32 %r{k}, %sa; st.shared.v4.u32 [%sa], {{%r{k}, %r{k}, %r{k}, %r{k}}};"
    words = "mov.u32 %r{k}, s; mad.lo.u32 %r{k}, %me, 4, %r{k}; st.shared.u32 [%r{k}], %r{k};"
    pairs = "mov.u32 %r{k}, s; mad.lo.u32 %r{k}, %me, 8, %r{k}; st.shared.v2.u32 [%r{k}], {{%r{k}, %r{k}}};"
    out |= {
        "ld.shared 32": Probe("ld.shared.u32 %r{k}, [%r{k}];", words),
        "ld.shared 32, 4 conflicts": Probe("ld.shared.u32 %r{k}, [%r{k}];", shared),
        "ld.shared 64": Probe("ld.shared.v2.u32 {{%r{k}, %x{k}}}, [%r{k}]; xor.b32 %y, %y, %x{k};", pairs),
        "ld.shared 128": Probe("ld.shared.v4.u32 {{%r{k}, %x{k}, %z{k}, %w{k}}}, [%r{k}]; xor.b32 %y, %y, %x{k}; xor.b32 %y, %y, %z{k}; xor.b32 %y, %y, %w{k};", shared),
        "st.shared 32, ld": Probe("st.shared.u32 [%r{k}], %r{k}; ld.volatile.shared.u32 %r{k}, [%r{k}];", words),
        "st.shared 32": Probe("st.volatile.shared.u32 [%r{k}+{u}*4096], %r{k};", words.replace("st.shared.u32 [%r{k}], %r{k};", ""), unroll=8),
        "st.shared 128": Probe("st.volatile.shared.v4.u32 [%sa+{u}*16384], {{%ra, %rb, %ra, %rb}};", unroll=2, many=False),
        "ldmatrix.x1": Probe("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r{k}}}, [%r{k}];", shared),
        "ldmatrix.x4": Probe("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r{k}, %x{k}, %z{k}, %w{k}}}, [%r{k}]; xor.b32 %y, %y, %x{k}; xor.b32 %y, %y, %z{k}; xor.b32 %y, %y, %w{k};", shared),
        "atom.shared.add": Probe("atom.shared.add.u32 %r{k}, [%r9+{k}*4096], %r{k};", "mov.u32 %r9, s; mad.lo.u32 %r9, %me, 4, %r9;"),
        "atom.shared.add, one word": Probe("atom.shared.add.u32 %r{k}, [s], %r{k};"),
        "atom.shared.cas": Probe("atom.shared.cas.b32 %r{k}, [%sa+{k}*4], %r{k}, %ra;"),
        "atom.shared.exch": Probe("atom.shared.exch.b32 %r{k}, [%sa+{k}*4], %r{k};"),
    }  # fmt: skip
    here = "add.u64 %d{k}, %da, {k}*16384; mad.wide.u32 %d{k}, %me, 16, %d{k}; st.global.u64 [%d{k}], %d{k}; st.global.u64 [%d{k}+8], %d{k}; membar.gl;"
    out |= {
        "ld.global.ca 64, adjacent": Probe("ld.global.ca.u64 %d{k}, [%d{k}];", here.replace("%me, 16", "%me, 8").replace("st.global.u64 [%d{k}+8], %d{k};", "")),
        "ld.global.cg 64, adjacent": Probe("ld.global.cg.u64 %d{k}, [%d{k}];", here.replace("%me, 16", "%me, 8").replace("st.global.u64 [%d{k}+8], %d{k};", "")),
        "ld.global.ca 64": Probe("ld.global.ca.u64 %d{k}, [%d{k}];", here),
        "ld.global.ca 128": Probe("ld.global.ca.v2.u64 {{%d{k}, %q{k}}}, [%d{k}]; xor.b64 %y64, %y64, %q{k};", here),
        "ld.global.ca 32": Probe("ld.global.ca.u32 %x{k}, [%d{k}]; cvt.u64.u32 %q{k}, %x{k}; sub.u64 %q{k}, %q{k}, %dl{k}; add.u64 %d{k}, %d{k}, %q{k};", here + "and.b64 %dl{k}, %d{k}, 0xffffffff;"),
        "ld.global.cg 64": Probe("ld.global.cg.u64 %d{k}, [%d{k}];", here),
        "atom.global.add": Probe("atom.global.add.u32 %r{k}, [%da+{k}*128], %r{k};", many=False),
        "atom.global.exch": Probe("atom.global.exch.b32 %r{k}, [%d{k}], %r{k};", here),
        "red.global.add": Probe("red.global.add.u32 [%d{k}], %ra;", here),
        "st.global 32": Probe("st.global.u32 [%d{k}], %ra;", here.replace("membar.gl;", "")),
        "ld.const": Probe("ld.const.u32 %r{k}, [%r{k}];", "mov.u32 %r{k}, %zero;", declare=".const .align 8 .b8 c[4096];\n"),
        "ld.local": Probe("ld.local.u32 %r{k}, [%r{k}];", "mov.u32 %r{k}, l; mad.lo.u32 %r{k}, %zero, 4, %r{k}; st.local.u32 [%r{k}], %r{k};"),
        "cp.async 16, wait": Probe("cp.async.ca.shared.global [%sa], [%da], 16; cp.async.commit_group; cp.async.wait_group 0;", unroll=8),
    }  # fmt: skip
    c4, c2 = "{{%f{k}, %g{k}, %h{k}, %i{k}}}", "{{%r{k}, %x{k}}}"
    a4, a2, b2, b1 = "{{%ra, %rb, %ra, %rb}}", "{{%ra, %rb}}", "{{%ra, %rb}}", "{{%ra}}"
    kinds = {
        "m16n8k16 f32.f16": (f"m16n8k16.row.col.f32.f16.f16.f32 {c4}, {a4}, {b2}, {c4}"),
        "m16n8k16 f16.f16": (f"m16n8k16.row.col.f16.f16.f16.f16 {c2}, {a4}, {b2}, {c2}"),
        "m16n8k8 f32.f16": (f"m16n8k8.row.col.f32.f16.f16.f32 {c4}, {a2}, {b1}, {c4}"),
        "m16n8k16 f32.bf16": (f"m16n8k16.row.col.f32.bf16.bf16.f32 {c4}, {a4}, {b2}, {c4}"),
        "m16n8k8 tf32": (f"m16n8k8.row.col.f32.tf32.tf32.f32 {c4}, {a4}, {b2}, {c4}"),
        "m16n8k4 tf32": (f"m16n8k4.row.col.f32.tf32.tf32.f32 {c4}, {a2}, {b1}, {c4}"),
        "m16n8k32 s8": (f"m16n8k32.row.col.s32.s8.s8.s32 {{{{%r{{k}}, %x{{k}}, %z{{k}}, %w{{k}}}}}}, {a4}, {b2}, {{{{%r{{k}}, %x{{k}}, %z{{k}}, %w{{k}}}}}}"),
        "m16n8k32 e4m3": (f"m16n8k32.row.col.f32.e4m3.e4m3.f32 {c4}, {a4}, {b2}, {c4}"),
        "m8n8k4 f64": "m8n8k4.row.col.f64.f64.f64.f64 {{%e{k}, %ee{k}}}, {{%ea}}, {{%eb}}, {{%e{k}, %ee{k}}}",
    }  # fmt: skip
    out |= {f"mma {name}": Probe(f"mma.sync.aligned.{text};", unroll=16) for name, text in kinds.items()}
    for n in (8, 64, 128, 256):
        acc = "{{" + ", ".join(f"%v{i}" for i in range(n // 2)) + "}}"
        for count in (1, 4):
            one = f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16 {acc}, %db, %db, 1, 1, 1, 0, 0; "
            text = (
                "wgmma.fence.sync.aligned; "
                + count * one
                + "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
            )
            out[f"wgmma n{n} x{count}"] = Probe(text, unroll=4, many=False)
    return out


def source(p: Probe, chains: int, arch: str) -> str:
    """A kernel that writes each thread's cycles."""
    unroll = max(1, p.unroll // chains)
    unit = 0
    body = []
    for _ in range(unroll):
        for k in range(chains):
            body.append(p.text.format(k=k, u=unit))
            unit += 1
    before = [p.before.format(k=k) for k in range(chains)]
    registers = "".join(
        f".reg .{t} {','.join(f'%{n}{k}' for k in range(4) for n in names)};\n"
        for t, names in (
            ("b32", "rxzw"),
            ("f32", "fghi"),
            ("b64", ["d", "q", "dl"]),
            ("f64", ["e", "ee"]),
            ("pred", "p"),
        )
    )
    wide = ".reg .f32 %v<128>;\n" if "%v0" in p.text else ""
    clear = "".join(f"mov.f32 %v{i}, 0f00000000;\n" for i in range(128) if f"%v{i}" in p.text)
    start = "".join(
        f"ld.global.v2.u32 {{%r{k}, %x{k}}}, [%da+{64 * k}]; mov.b32 %f{k}, %r{k}; mov.b32 %g{k}, %x{k}; ld.global.f64 %e{k}, [%da+{64 * k + 8}]; "
        f"mov.f64 %ee{k}, %e{k}; mov.u32 %z{k}, %r{k}; mov.u32 %w{k}, %r{k}; mov.f32 %h{k}, %f{k}; mov.f32 %i{k}, %f{k}; cvt.u64.u32 %d{k}, %r{k}; mov.u64 %q{k}, %d{k}; mov.u64 %dl{k}, %d{k};\n"
        for k in range(chains)
    )
    sinks = "".join(
        f"xor.b32 %y, %y, %{n}{k}; " for k in range(chains) for n in "rxzw"
    ) + "".join(
        f"mov.b32 %yy, %{n}{k}; xor.b32 %y, %y, %yy; " for k in range(chains) for n in "fghi"
    ) + "".join(
        f"mov.b64 %d8, %{n}{k}; cvt.u32.u64 %yy, %d8; xor.b32 %y, %y, %yy; " for k in range(chains) for n in ("e", "ee", "d", "q")
    ) + "".join(f"mov.b32 %yy, %v{i}; xor.b32 %y, %y, %yy; " for i in range(128) if f"%v{i}" in p.text)  # fmt: skip
    return f""".version 8.4
.target {arch}
.address_size 64
{p.declare}.visible .entry probe(.param .u64 out, .param .u64 data, .param .u32 turns, .param .u32 nothing)
{{
.shared .align 128 .b8 s[32768];
.local .align 16 .b8 l[64];
{registers}{wide}.reg .b64 %da, %db, %d8, %d9, %t0, %t1, %out, %y64;
.reg .b32 %ra, %rb, %r9, %y, %yy, %sa, %me, %turns, %i, %zero;
.reg .f32 %fa, %fb;
.reg .f64 %ea, %eb;
.reg .pred %loop, %never;
ld.param.u64 %out, [out]; ld.param.u64 %da, [data]; ld.param.u32 %turns, [turns]; ld.param.u32 %zero, [nothing];
mov.u32 %me, %tid.x; mov.u32 %y, 0; mov.u64 %y64, 0;
ld.global.u32 %ra, [%da+512]; ld.global.u32 %rb, [%da+516]; mov.b32 %fa, %ra; mov.b32 %fb, %rb;
ld.global.f64 %ea, [%da+520]; ld.global.f64 %eb, [%da+528];
{start}mov.u32 %sa, s; mad.lo.u32 %sa, %me, 16, %sa; st.shared.v4.u32 [%sa], {{%sa, %sa, %sa, %sa}};
mov.u64 %db, 0x4000004000010000;
{clear}{"".join(before)}
mov.u32 %i, 0;
bar.sync 0;
mov.u64 %t0, %clock64;
LOOP:
{chr(10).join(body)}
add.u32 %i, %i, 1; setp.lt.u32 %loop, %i, %turns; @%loop bra LOOP;
mov.u64 %t1, %clock64;
sub.u64 %t1, %t1, %t0;
mad.wide.u32 %d9, %me, 8, %out; st.global.u64 [%d9], %t1;
{sinks}cvt.u32.u64 %yy, %y64; xor.b32 %y, %y, %yy;
setp.eq.u32 %never, %y, 0x12345677; @%never st.global.u32 [%da], %y;
ret;
}}
"""


def make(folder: Path, arch: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    names = {}
    for n, (name, p) in enumerate(probes().items()):
        for chains in (1, 4) if p.many else (1,):
            try:
                data = orias.compile(source(p, chains, arch), arch=arch).data
            except orias.CompileError as e:
                print(f"{name}, {chains}: {str(e).splitlines()[0]}")
                continue
            (folder / f"{n}.{chains}.cubin").write_bytes(data)
        names[name] = n
    (folder / "names.json").write_text(json.dumps(names))


def run(folder: Path, out: Path) -> None:
    driver = load_driver()
    driver.seconds = 5.0
    names: dict[str, int] = json.loads((folder / "names.json").read_text())
    found: dict[str, dict[str, float]] = {}
    words = np.random.default_rng(1).integers(0, 1 << 30, 1 << 18).astype(np.uint32)
    words[128:130] = 0x3F7FFFF0, 0x00000003
    words[130:134] = np.array([0.9999, 1e-9]).view(np.uint32)
    for k in range(4):
        words[16 * k : 16 * k + 4] = np.array([1.25, 1.5], np.float32).view(np.uint32).tolist() * 2
    for name, n in names.items():
        row: dict[str, float] = {}
        p = probes()[name]
        for chains, shapes in (
            (1, (32, 128, 1024) if name == "bar.sync" else (128,) if "wgmma" in name else (32,)),
            (4, (1024,)),
        ):
            at = folder / f"{n}.{chains}.cubin"
            if not at.exists():
                continue
            for threads in shapes:
                try:
                    image = GpuImage(driver, at.read_bytes())
                    cycles = np.zeros(threads, np.uint64)
                    for turns in (4, _TURNS):
                        image.launch("probe", 1, threads, [cycles, words, turns, 0])
                except DriverError as e:
                    print(f"{name}: {e}")
                    continue
                count = _TURNS * max(1, p.unroll // chains) * chains * p.each
                each = float(cycles.max()) / count
                if chains == 4:
                    row["full"] = each * 4 / (threads // 32)
                else:
                    row["one" if threads in (32, 128) and "one" not in row else f"of {threads}"] = each
        found[name] = row
        print(f"{name:<28}" + "".join(f"{k:>10}{v:>9.2f}" for k, v in row.items()), flush=True)
    out.write_text(json.dumps(found, indent=1))


def main() -> int:
    """The command."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=("make", "run"))
    p.add_argument("folder", type=Path)
    p.add_argument("out", type=Path, nargs="?", default=Path("probes.json"))
    p.add_argument("--arch", default="sm_90a")
    o = p.parse_args()
    if o.what == "make":
        make(o.folder, o.arch)
    else:
        run(o.folder, o.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())

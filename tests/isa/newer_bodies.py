"""PTX instructions that sm_100 and later have beyond those of ``make_samples.bodies``; targets without one drop its kernel."""

from collections.abc import Iterator


def regs(name: str, count: int) -> str:
    """A list of virtual registers in braces."""
    return "{" + ", ".join(f"%{name}{i}" for i in range(count)) + "}"


def newer_bodies() -> Iterator[str]:
    """Instruction texts over the registers of ``make_samples.kernel`` and the ``%t``, ``%w``, ``%q`` files that they declare."""
    yield from _packed()
    yield from _conversions()
    yield from _matrix()
    yield from _bulk()
    yield from _tensor_memory()
    yield from _tensor_mma()
    yield from _rest()


def _packed() -> Iterator[str]:
    for op in ("add", "sub", "mul"):
        for rnd in ("rn", "rz", "rm", "rp"):
            yield f"{op}.{rnd}.f32x2 %l0, %l1, %l2;"
            yield f"{op}.{rnd}.ftz.f32x2 %l0, %l1, %l2;"
    for rnd in ("rn", "rz", "rm", "rp"):
        yield f"fma.{rnd}.f32x2 %l0, %l1, %l2, %l3;"
        yield f"fma.{rnd}.ftz.f32x2 %l0, %l1, %l2, %l3;"
    for t in ("f32", "f16", "f16x2", "bf16", "bf16x2"):
        r = {"f32": "f", "f16": "h", "bf16": "h"}.get(t, "r")
        for op in ("min", "max", "min.NaN", "max.NaN", "min.xorsign.abs", "max.NaN.xorsign.abs"):
            yield f"{op}.{t} %{r}0, %{r}1, %{r}2;"
            if t == "f32":
                yield f"{op}.{t} %f0, %f1, %f2, %f3;"
    for t in ("f16", "bf16"):
        for op in ("add", "sub"):
            yield f"{op}.f32.{t} %f0, %h1, %f2;"
            yield f"{op}.rz.sat.f32.{t} %f0, %h1, %f2;"
        yield f"fma.rn.f32.{t} %f0, %h1, %h2, %f3;"
    for op in ("min", "max"):
        for t in ("s16x2", "u16x2"):
            yield f"{op}.{t} %r0, %r1, %r2;"
        yield f"{op}.relu.s32 %r0, %r1, %r2;"
        yield f"{op}.relu.s16x2 %r0, %r1, %r2;"
        for extra in ("", ".abs", ".NaN", ".abs.NaN"):
            yield f"redux.sync.{op}{extra}.f32 %f0, %f1, -1;"
    yield "add.s16x2 %r0, %r1, %r2;"
    for t in ("u32", "s32", "u64", "s64"):
        r = "l" if "64" in t else "r"
        for op in ("min", "max", "add", "sub", "mul.lo"):
            yield f"{op}.{t} %{r}0, %{r}1, 0x123456789;" if "64" in t else f"{op}.{t} %{r}0, %{r}1, -5;"
    yield "mov.b64 %l0, 0x123456789abcdef;"
    yield "mov.f64 %d0, 0d400921fb54442d18;"
    for op in ("and", "or", "xor"):
        yield f"{op}.b64 %l0, %l1, 0x123456789abcdef;"


_SMALL = ("e4m3", "e5m2")
_TINY = ("e2m3", "e3m2")


def _conversions() -> Iterator[str]:
    for s in ("", ".relu"):
        for t in _SMALL:
            yield f"cvt.rn.satfinite{s}.{t}x2.f32 %h0, %f1, %f2;"
            yield f"cvt.rn.satfinite{s}.{t}x2.f16x2 %h0, %r1;"
            yield f"cvt.rn{s}.f16x2.{t}x2 %r0, %h1;"
            yield f"cvt.rs{s}.satfinite.{t}x4.f32 %r0, {{%f1, %f2, %f3, %f4}}, %r1;"
        for t in _TINY:
            yield f"cvt.rn.satfinite{s}.{t}x2.f32 %h0, %f1, %f2;"
            yield f"cvt.rn{s}.f16x2.{t}x2 %r0, %h1;"
            yield f"cvt.rs{s}.satfinite.{t}x4.f32 %r0, {{%f1, %f2, %f3, %f4}}, %r1;"
        yield f".reg .b8 %b0; cvt.rn.satfinite{s}.e2m1x2.f32 %b0, %f1, %f2; cvt.u16.u8 %h0, %b0;"
        yield f".reg .b8 %b0; cvt.u8.u16 %b0, %h1; cvt.rn{s}.f16x2.e2m1x2 %r0, %b0;"
        yield f"cvt.rs{s}.satfinite.e2m1x4.f32 %h0, {{%f1, %f2, %f3, %f4}}, %r1;"
        yield f"cvt.rs{s}.f16x2.f32 %r0, %f1, %f2, %r1;"
        yield f"cvt.rs{s}.satfinite.bf16x2.f32 %r0, %f1, %f2, %r1;"
        for t in ("f16x2", "bf16x2"):
            yield f"cvt.rn{s}.satfinite.{t}.f32 %r0, %f1, %f2;"
    for rnd in ("rz", "rp"):
        yield f"cvt.{rnd}.ue8m0x2.f32 %h0, %f1, %f2;"
        yield f"cvt.{rnd}.satfinite.ue8m0x2.bf16x2 %h0, %r1;"
    yield "cvt.rn.bf16x2.ue8m0x2 %r0, %h1;"
    yield "cvt.rna.tf32.f32 %r0, %f1;"
    yield "cvt.rn.relu.tf32.f32 %r0, %f1;"
    yield "cvt.rz.satfinite.tf32.f32 %r0, %f1;"


def _matrix() -> Iterator[str]:
    d, a, b = "{%f0,%f1,%f2,%f3}", "{%r0,%r1,%r2,%r3}", "{%r4,%r5}"
    types = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
    for t in types:
        for u in types:
            yield f"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.{t}.{u}.f32 {d}, {a}, {b}, {d};"
            yield f"mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.{t}.{u}.f16 {{%r6,%r7}}, {a}, {b}, {{%r6,%r7}};"
            yield (
                f"mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.{t}.{u}.f32.ue8m0 "
                f"{d}, {a}, {b}, {d}, %r6, {{1, 1}}, %r7, {{2, 1}};"
            )
            yield f"mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.{t}.{u}.f32 {d}, {a}, {a}, {d}, %r6, 0;"
    yield f"mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 {d}, {a}, {b}, {d}, %r6, {{0, 1}}, %r7, {{0, 3}};"
    for s in ("ue4m3", "ue8m0"):
        yield f"mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.{s} {d}, {a}, {b}, {d}, %r6, {{0, 1}}, %r7, {{0, 3}};"
        yield f"mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.{s} {d}, {a}, {a}, {d}, %r6, 0, %r5, {{0, 1}}, %r7, {{0, 3}};"
    for k, n in (("16", 2), ("32", 4)):
        b2 = "{%r4,%r5}" if n == 2 else "{%r4,%r5,%r6,%r7}"
        a2 = "{%r0,%r1}" if n == 2 else a
        yield f"mma.sp::ordered_metadata.sync.aligned.m16n8k{k}.row.col.f32.f16.f16.f32 {d}, {a2}, {b2}, {d}, %r6, 0;"
        yield f"mma.sp::ordered_metadata.sync.aligned.m16n8k{k}.row.col.f16.f16.f16.f16 {{%r6,%r7}}, {a2}, {b2}, {{%r6,%r7}}, %r5, 1;"
    for t in ("s8", "u8"):
        yield f"mma.sync.aligned.m16n8k16.row.col.s32.{t}.{t}.s32 {{%r0,%r1,%r2,%r3}}, {{%r4,%r5}}, {{%r6}}, {{%r0,%r1,%r2,%r3}};"
        yield f"mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.{t}.{t}.s32 {{%r0,%r1,%r2,%r3}}, {a}, {a}, {{%r0,%r1,%r2,%r3}}, %r6, 0;"
    for t in ("s4", "u4"):
        yield f"mma.sync.aligned.m16n8k64.row.col.s32.{t}.{t}.s32 {{%r0,%r1,%r2,%r3}}, {a}, {{%r4,%r5}}, {{%r0,%r1,%r2,%r3}};"
    yield "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%r0,%r1,%r2,%r3}, {%r4,%r5,%r6,%r7}, {%r4,%r5}, {%r0,%r1,%r2,%r3};"
    yield "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%d0,%d1,%d2,%d3}, {%d4,%d5,%d6,%d7}, {%d4,%d5}, {%d0,%d1,%d2,%d3};"
    for shape in ("m16n16.x1.trans", "m16n16.x2.trans"):
        n = 2 if "x1" in shape else 4
        out = regs("r", n)
        yield f"ldmatrix.sync.aligned.{shape}.shared.b8 {out}, [%r8];"
        for f in ("b6x16_p32", "b4x16_p64"):
            yield f"ldmatrix.sync.aligned.{shape}.shared.b8x16.{f} {out}, [%r8];"
    for n in (1, 2, 4):
        for f in ("b6x16_p32", "b4x16_p64"):
            yield f"ldmatrix.sync.aligned.m8n16.x{n}.shared.b8x16.{f} {regs('r', n)}, [%r8];"
        yield f"stmatrix.sync.aligned.m16n8.x{n}.trans.shared.b8 [%r8], {regs('r', n)};"


def _bulk() -> Iterator[str]:
    tail = "[%r8]"
    for d in range(1, 6):
        place = "{" + ", ".join(f"%r{i % 4}" for i in range(d)) + "}"
        for mode in ("", ".tile"):
            yield f"cp.async.bulk.tensor.{d}d.shared::cluster.global{mode}.mbarrier::complete_tx::bytes {tail}, [%l1, {place}], [%r7];"
            yield f"cp.async.bulk.tensor.{d}d.shared::cta.global{mode}.mbarrier::complete_tx::bytes {tail}, [%l1, {place}], [%r7];"
            yield f"cp.async.bulk.tensor.{d}d.shared::cluster.global{mode}.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint {tail}, [%l1, {place}], [%r7], %h1, %l2;"
            yield f"cp.async.bulk.tensor.{d}d.global.shared::cta{mode}.bulk_group [%l1, {place}], {tail};"
            yield f"cp.async.bulk.prefetch.tensor.{d}d.L2.global{mode} [%l1, {place}];"
        for g in (1, 2):
            yield f"cp.async.bulk.tensor.{d}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.cta_group::{g} {tail}, [%l1, {place}], [%r7];"
        if d >= 3:
            offs = "{" + ", ".join(["%h1", "%h2", "%h3"][: d - 2]) + "}"
            yield f"cp.async.bulk.tensor.{d}d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes {tail}, [%l1, {place}], [%r7], {offs};"
            for m in ("im2col::w", "im2col::w::128"):
                yield f"cp.async.bulk.tensor.{d}d.shared::cluster.global.{m}.mbarrier::complete_tx::bytes {tail}, [%l1, {place}], [%r7], {{%h1, %h2}};"
            yield f"cp.async.bulk.tensor.{d}d.global.shared::cta.im2col_no_offs.bulk_group [%l1, {place}], {tail};"
        for op in ("add", "min", "max", "inc", "dec", "and", "or", "xor"):
            yield f"cp.reduce.async.bulk.tensor.{d}d.global.shared::cta.{op}.tile.bulk_group [%l1, {place}], {tail};"
    five = "{%r0, %r1, %r2, %r3, %r4}"
    yield f"cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes {tail}, [%l1, {five}], [%r7];"
    yield f"cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%l1, {five}], {tail};"
    yield f"cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [%l1, {five}];"
    yield "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r8], [%l1], %r1, [%r7];"
    yield "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [%r8], [%l1], %r1, [%r7], %l2;"
    yield "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r1], [%r8], %r2, [%r7];"
    yield "cp.async.bulk.global.shared::cta.bulk_group [%l1], [%r8], %r1;"
    yield "cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint.cp_mask [%l1], [%r8], %r1, %l2, %h1;"
    yield "cp.async.bulk.prefetch.L2.global [%l1], %r1;"
    yield "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; cp.async.bulk.wait_group.read 2;"
    for op in ("add", "min", "max", "and", "or", "xor", "inc", "dec"):
        t = "b32" if op in ("and", "or", "xor") else "u32"
        yield f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{op}.{t} [%l1], [%r8], %r1;"
        yield f"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{op}.{t} [%r2], [%r8], %r1, [%r7];"
    for t in ("f16", "bf16"):
        yield f"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.{t} [%l1], [%r8], %r1;"
    yield "tensormap.replace.tile.global_address.global.b1024.b64 [%l1], %l2;"
    yield "fence.proxy.tensormap::generic.acquire.gpu [%l1], 128; fence.proxy.tensormap::generic.release.cta;"
    yield "fence.proxy.async; fence.proxy.async.shared::cta; fence.proxy.alias;"
    yield "prefetch.tensormap [%l1];"
    yield "applypriority.global.L2::evict_normal [%l1], 128; discard.global.L2 [%l1], 128;"


_LD = {"16x64b": 1, "16x128b": 2, "16x256b": 4, "32x32b": 1}


def _tensor_memory() -> Iterator[str]:
    for g in (1, 2):
        yield f"tcgen05.alloc.cta_group::{g}.sync.aligned.shared::cta.b32 [%r8], 64;"
        yield f"tcgen05.alloc.cta_group::{g}.sync.aligned.b32 [%l1], %r1;"
        yield f"tcgen05.dealloc.cta_group::{g}.sync.aligned.b32 %r1, %r2;"
        yield f"tcgen05.relinquish_alloc_permit.cta_group::{g}.sync.aligned;"
        yield f"tcgen05.shift.cta_group::{g}.down [%r1];"
        for shape in (
            "128x256b",
            "4x256b",
            "128x128b",
            "64x128b.warpx2::02_13",
            "64x128b.warpx2::01_23",
            "32x128b.warpx4",
        ):
            yield f"tcgen05.cp.cta_group::{g}.{shape} [%r1], %l1;"
            for f in ("b6x16_p32", "b4x16_p64"):
                yield f"tcgen05.cp.cta_group::{g}.{shape}.b8x16.{f} [%r1], %l1;"
        yield f"tcgen05.commit.cta_group::{g}.mbarrier::arrive::one.b64 [%l1];"
        yield f"tcgen05.commit.cta_group::{g}.mbarrier::arrive::one.shared::cluster.b64 [%r7];"
        yield f"tcgen05.commit.cta_group::{g}.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r7], %h1;"
    yield "tcgen05.wait::ld.sync.aligned; tcgen05.wait::st.sync.aligned;"
    yield "tcgen05.fence::before_thread_sync; tcgen05.fence::after_thread_sync;"
    for shape, per in (*_LD.items(), ("16x32bx2", 1)):
        n = 1
        while n * per <= 32:
            imm = ", 4" if shape == "16x32bx2" else ""
            store = f" st.global.u32 [%l8], %t{n * per - 1};"
            for pack in ("", ".pack::16b"):
                yield f".reg .b32 %t<130>; tcgen05.ld.sync.aligned.{shape}.x{n}{pack}.b32 {regs('t', n * per)}, [%r1]{imm};{store}"
            for pack in ("", ".unpack::16b"):
                init = "".join(f"add.u32 %t{i}, %r2, {i};" for i in range(n * per))
                yield f".reg .b32 %t<130>; {init} tcgen05.st.sync.aligned.{shape}.x{n}{pack}.b32 [%r1]{imm}, {regs('t', n * per)};"
            n *= 2
    for op in ("min", "max"):
        for t in ("u32", "s32", "f32", "f32.abs.NaN"):
            kind, _, extra = t.partition(".")
            extra = "." + extra if extra else ""
            yield (
                f".reg .{'f32' if kind == 'f32' else 'b32'} %t<20>; tcgen05.ld.red.sync.aligned.32x32b.x4.{op}{extra}.{kind} "
                f"{regs('t', 4)}, %t5, [%r1]; st.global.{'f32' if kind == 'f32' else 'u32'} [%l8], %t5;"
            )


def _tensor_mma() -> Iterator[str]:
    for g in (1, 2):
        none = "{" + ", ".join(["%r2"] * (4 * g)) + "}"
        for k in ("f16", "tf32", "f8f6f4", "i8"):
            for sp in ("", ".sp"):
                meta = ", [%r3]" if sp else ""
                for a in ("%l1", "[%r1]"):
                    yield f"tcgen05.mma{sp}.cta_group::{g}.kind::{k} [%r0], {a}, %l2{meta}, %r4, %p1;"
                    yield f"tcgen05.mma{sp}.cta_group::{g}.kind::{k} [%r0], {a}, %l2{meta}, %r4, {none}, %p1;"
                    yield f"tcgen05.mma{sp}.cta_group::{g}.kind::{k}.collector::a::fill [%r0], {a}, %l2{meta}, %r4, %p1;"
                    yield f"tcgen05.mma{sp}.cta_group::{g}.kind::{k}.collector::a::use [%r0], {a}, %l2{meta}, %r4, %p1;"
                    yield f"tcgen05.mma{sp}.cta_group::{g}.kind::{k} [%r0], {a}, %l2{meta}, %r4, %p1, 3;"
                if g == 1:
                    yield f"tcgen05.mma.ws{sp}.cta_group::1.kind::{k}.collector::b0::fill [%r0], %l1, %l2{meta}, %r4, %p1;"
                    yield f"tcgen05.mma.ws{sp}.cta_group::1.kind::{k}.collector::b2::use [%r0], [%r1], %l2{meta}, %r4, %p1, %l3;"
                    yield f"tcgen05.mma.ws{sp}.cta_group::1.kind::{k} [%r0], [%r1], %l2{meta}, %r4, %p1;"
        for k, sizes in (
            ("mxf8f6f4", ("1X", "block32")),
            ("mxf4", ("2X", "block32")),
            ("mxf4nvf4", ("4X", "2X", "block16")),
        ):
            for size in sizes:
                vec = f".scale_vec::{size}" if size.endswith("X") else f".{size}"
                for sp in ("", ".sp"):
                    meta = ", [%r3]" if sp else ""
                    for a in ("%l1", "[%r1]"):
                        yield f"tcgen05.mma{sp}.cta_group::{g}.kind::{k}.block_scale{vec} [%r0], {a}, %l2{meta}, %r4, [%r5], [%r6], %p1;"
                        yield f"tcgen05.mma{sp}.cta_group::{g}.kind::{k}.block_scale{vec}.collector::a::lastuse [%r0], {a}, %l2{meta}, %r4, [%r5], [%r6], %p1;"


def _rest() -> Iterator[str]:
    yield "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r8], [%r7];"
    yield "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [%r8], [%r7];"
    yield ".reg .b128 %q0; mov.b128 %q0, {%l1, %l2}; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p0, %q0; selp.b32 %r0, 1, 2, %p0;"
    yield ".reg .b128 %q0; mov.b128 %q0, {%l1, %l2}; clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r0, %q0;"
    for c in ("", ".L2::cache_hint"):
        pol = ", %l3" if c else ""
        yield f"ld.global{c}.v8.b32 {regs('r', 7)[:-1]}, %r7}}, [%l1]{pol}; st.global.v4.u32 [%l8], {{%r0, %r1, %r2, %r3}};"
        yield f"ld.global{c}.v4.b64 {{%l0, %l1, %l2, %l3}}, [%l1]{pol}; st.global.v2.u64 [%l8], {{%l0, %l3}};"
        yield f"st.global{c}.v8.b32 [%l1], {{%r0, %r1, %r2, %r3, %r0, %r1, %r2, %r3}}{pol};"
        yield f"st.global{c}.v4.b64 [%l1], {{%l0, %l1, %l2, %l3}}{pol};"
        yield f"ld.global.L1::evict_last{c}.u32 %r0, [%l1]{pol};"
        yield f"ld.global.L1::no_allocate.L2::256B{c}.u32 %r0, [%l1]{pol};"
    for e in ("L2::evict_last", "L2::evict_first", "L2::evict_normal"):
        yield f"ld.global.{e}.v8.b32 {{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}}, [%l1]; st.global.v4.u32 [%l8], {{%r0, %r1, %r2, %r3}};"
        yield f"st.global.{e}.v8.b32 [%l1], {{%r0, %r1, %r2, %r3, %r0, %r1, %r2, %r3}};"
    for op in ("add", "min", "max"):
        for t, n in (("f16x2", 4), ("bf16x2", 2), ("f32", 4)):
            r = "f" if t == "f32" else "r"
            if t != "f32" or op == "add":
                ftz = ".noftz" if t != "f32" else ""
                yield f"atom.global.{op}{ftz}.v{n}.{t} {regs(r, n)}, [%l1], {regs(r, n)};"
                yield f"red.relaxed.gpu.global.{op}{ftz}.v{n}.{t} [%l1], {regs(r, n)};"
    yield ".reg .b128 %q<4>; mov.b128 %q1, {%l1, %l2}; atom.global.exch.b128 %q0, [%l3], %q1; mov.b128 {%l0, %l1}, %q0;"
    yield ".reg .b128 %q<4>; mov.b128 %q1, {%l1, %l2}; atom.global.cas.b128 %q0, [%l3], %q1, %q1; mov.b128 {%l0, %l1}, %q0;"
    for s in ("cta", "cluster"):
        for sem in ("relaxed", "release"):
            yield f"mbarrier.arrive.{sem}.{s}.shared::cta.b64 %l0, [%r8], %r1;"
            yield f"mbarrier.arrive.expect_tx.{sem}.{s}.shared::cta.b64 %l0, [%r8], %r1;"
        for sem in ("relaxed", "acquire"):
            yield f"mbarrier.try_wait.{sem}.{s}.shared::cta.b64 %p0, [%r8], %l1; selp.b32 %r0, 1, 2, %p0;"
            yield f"mbarrier.try_wait.parity.{sem}.{s}.shared::cta.b64 %p0, [%r8], %r1, %r2; selp.b32 %r0, 1, 2, %p0;"
    yield "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r8], %r1;"
    yield "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r8], %r1;"
    yield "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r8], %r1, [%r7];"
    yield "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r8], {%r0, %r1, %r2, %r3}, [%r7];"
    yield "st.async.mmio.release.sys.global.u32 [%l1], %r1;"
    yield "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r8], %r1, [%r7];"
    yield "griddepcontrol.wait; griddepcontrol.launch_dependents;"
    yield "setmaxnreg.inc.sync.aligned.u32 128; setmaxnreg.dec.sync.aligned.u32 64;"
    yield "fence.mbarrier_init.release.cluster;"
    yield "fence.acquire.sync_restrict::shared::cluster.cluster; fence.release.sync_restrict::shared::cta.cluster;"
    yield "multimem.ld_reduce.relaxed.sys.global.add.f32 %f0, [%l1];"
    yield "multimem.ld_reduce.relaxed.gpu.global.add.v4.f16x2 {%r0, %r1, %r2, %r3}, [%l1];"
    yield "multimem.red.relaxed.sys.global.add.u32 [%l1], %r1; multimem.st.relaxed.sys.global.u32 [%l1], %r1;"
    yield "bfind.u32 %r0, %r1; szext.clamp.u32 %r0, %r1, %r2; bmsk.wrap.b32 %r0, %r1, %r2; fns.b32 %r0, %r1, %r2, 3;"
    for t in ("u32", "s32"):
        for v in ("vadd", "vsub", "vmin", "vmax", "vabsdiff"):
            yield f"{v}2.{t}.{t}.{t} %r0, %r1, %r2, %r3;"
            yield f"{v}4.{t}.{t}.{t} %r0, %r1, %r2, %r3;"
            yield f"{v}.{t}.{t}.{t}.sat %r0, %r1.b1, %r2.h0;"
    for m in ("1d", "2d", "3d", "a1d", "a2d"):
        at = {
            "1d": "{%r1}",
            "2d": "{%r1, %r2}",
            "3d": "{%r1, %r2, %r3, %r3}",
            "a1d": "{%r0, %r1}",
            "a2d": "{%r0, %r1, %r2, %r2}",
        }[m]
        yield f"tex.{m}.v4.f32.s32 {{%f0, %f1, %f2, %f3}}, [%l1, {at}];"
        yield f"tex.{m}.v4.u32.f32 {{%r4, %r5, %r6, %r7}}, [%l1, {at.replace('%r', '%f') if m[0] != 'a' else at.replace('%r', '%f').replace('%f0', '%r0')}];"
        for c in ("trap", "clamp", "zero"):
            yield f"suld.b.{m}.v2.b32.{c} {{%r4, %r5}}, [%l1, {at}];"
            yield f"sust.b.{m}.b32.{c} [%l1, {at}], %r4;"
            yield f"sured.b.{m}.add.u32.{c} [%l1, {at}], %r4;"
    for comp in "rgba":
        yield f"tld4.{comp}.2d.v4.f32.f32 {{%f0, %f1, %f2, %f3}}, [%l1, {{%f4, %f5}}];"
    yield "tex.level.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%l1, {%f4, %f5}], %f6;"
    yield "tex.grad.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%l1, {%f4, %f5}], {%f6, %f7}, {%f6, %f4};"
    yield "tex.cube.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%l1, {%f4, %f5, %f6, %f6}];"
    yield "txq.width.b32 %r0, [%l1]; suq.height.b32 %r1, [%l1];"
    yield "istypep.texref %p0, %l1; selp.b32 %r0, 1, 2, %p0;"
    yield "alloca.u64 %l0, %l1, 16; stacksave.u64 %l2; stackrestore.u64 %l2;"

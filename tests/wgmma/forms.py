"""One wgmma instruction in a kernel of one warpgroup, and what it must give."""

import zlib

import numpy as np

from tests.wgmma.matrices import (
    SWIZZLES,
    Placed,
    accumulator_index,
    fragment_a,
    metadata,
    product,
    random_patterns,
    round_to,
    sparse_choice,
    values,
)

DENSE_K = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32, "b1": 256}
ALL_N = tuple(range(8, 257, 8))
INTEGER_N = (8, 16, 24, 32, *range(48, 257, 16))
HEAD = ".version 8.7\n.target sm_90a\n.address_size 64\n"


class Form:
    """A shape, its types, where A is, sparse or not; the rest (layouts, signs, predicate, values) follows from the name."""

    def __init__(self, n: int, d: str, a: str, b: str, registers: bool, sparse: bool, variant: int = 0) -> None:
        self.n, self.d, self.a, self.b, self.registers, self.sparse = n, d, a, b, registers, sparse
        self.k = DENSE_K[a] * (2 if sparse else 1)
        self.name = f"{'sp.' if sparse else ''}m64n{n}k{self.k}.{d}.{a}.{b}.{'rs' if registers else 'ss'}.{variant}"
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        self.rng = rng
        signs = a not in ("s8", "u8", "b1")
        turns = a in ("f16", "bf16")
        self.negative = (bool(rng.integers(0, 2)) and signs, bool(rng.integers(0, 2)) and signs)
        self.turned = (bool(rng.integers(0, 2)) and turns and not registers, bool(rng.integers(0, 2)) and turns)
        self.signs, self.turns = signs, turns
        self.saturate = d == "s32" and a != "b1" and bool(rng.integers(0, 2))
        self.scale = int(rng.integers(0, 4))
        """0: constant 0, 1: constant 1, 2: predicate false, 3: predicate true."""
        self.selector = int(rng.integers(0, 2)) if sparse and signs and a not in ("e4m3", "e5m2") else 0
        stored = self.k // 2 if sparse else self.k
        swizzles = [int(x) for x in rng.choice(SWIZZLES, 2)]
        pads = [int(x) for x in rng.integers(0, 3, 2)]
        if n > 128:
            pads[1] = 0
        self.where_a = Placed(64, stored, a, self.turned[0], swizzles[0], pads[0])
        self.where_b = Placed(n, self.k, b, self.turned[1], swizzles[1], pads[1])
        if self.where_a.bytes + self.where_b.bytes > 48 * 1024:
            self.where_a = Placed(64, stored, a, self.turned[0], swizzles[0])
            self.where_b = Placed(n, self.k, b, self.turned[1], 0)
        self.at_b = 0 if registers else self.where_a.bytes
        self.bytes = self.at_b + self.where_b.bytes
        self.words = n // 4 if d == "f16" else n // 2

    def instruction(self) -> str:
        """The PTX of the instruction."""
        prefix = "%f" if self.d == "f32" else "%c"
        acc = ", ".join(f"{prefix}{k}" for k in range(self.words))
        a = "{%a0, %a1, %a2, %a3}" if self.registers else "%da"
        kind = ".and.popc" if self.a == "b1" else ".satfinite" if self.saturate else ""
        text = f"wgmma.mma_async{'.sp' if self.sparse else ''}.sync.aligned.m64n{self.n}k{self.k}.{self.d}.{self.a}.{self.b}{kind}"
        tail = [f"%meta, {self.selector}"] if self.sparse else []
        tail.append(("0", "1", "%keep", "%keep")[self.scale])
        if self.signs:
            tail += ["-1" if x else "1" for x in self.negative]
        if self.turns:
            tail += [str(int(x)) for x in (self.turned[1:] if self.registers else self.turned)]
        return f"{text} {{{acc}}}, {a}, %db, {', '.join(tail)};"

    def kernel(self, name: str) -> str:
        """The kernel: shared memory filled from an image, registers from memory, one group."""
        type_ = "f32" if self.d == "f32" else "b32"
        prefix = "%f" if self.d == "f32" else "%c"
        loads = "".join(f"ld.global.{type_} {prefix}{k}, [%pc+{4 * k}];\n" for k in range(self.words))
        stores = "".join(f"st.global.{type_} [%po+{4 * k}], {prefix}{k};\n" for k in range(self.words))
        return f""".visible .entry {name}(.param .u64 image, .param .u64 frag, .param .u64 acc, .param .u64 out,
    .param .u64 desca, .param .u64 descb, .param .u32 keep) {{
.shared .align 1024 .b8 smem[{self.bytes}];
.reg .f32 %f<128>; .reg .b32 %c<128>, %a<4>, %meta, %t, %i, %s, %v<4>; .reg .b64 %p, %pc, %po, %q, %da, %db, %w; .reg .pred %keep, %more;
mov.u32 %t, %tid.x; mov.u32 %s, smem; ld.param.u64 %p, [image];
shl.b32 %i, %t, 4;
FILL:
cvt.u64.u32 %q, %i; add.u64 %q, %q, %p; ld.global.v4.b32 {{%v0, %v1, %v2, %v3}}, [%q];
add.u32 %v3, %v3, 0; add.u32 %a0, %s, %i; st.shared.v4.b32 [%a0], {{%v0, %v1, %v2, %v3}};
add.u32 %i, %i, 2048; setp.lt.u32 %more, %i, {self.bytes}; @%more bra FILL;
fence.proxy.async; bar.sync 0;
ld.param.u64 %q, [frag]; mad.wide.u32 %q, %t, 32, %q;
ld.global.v4.b32 {{%a0, %a1, %a2, %a3}}, [%q]; ld.global.b32 %meta, [%q+16];
ld.param.u64 %pc, [acc]; mad.wide.u32 %pc, %t, {4 * self.words}, %pc;
ld.param.u64 %po, [out]; mad.wide.u32 %po, %t, {4 * self.words}, %po;
{loads}ld.param.u64 %da, [desca]; ld.param.u64 %db, [descb];
shr.u32 %i, %s, 4; cvt.u64.u32 %w, %i; add.u64 %da, %da, %w;
add.u32 %i, %s, {self.at_b}; shr.u32 %i, %i, 4; cvt.u64.u32 %w, %i; add.u64 %db, %db, %w;
ld.param.u32 %i, [keep]; setp.ne.u32 %keep, %i, 0;
wgmma.fence.sync.aligned;
{self.instruction()}
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
{stores}ret; }}
"""

    def run(self, image: object, name: str, special: bool = False) -> str:
        """Launch the kernel of a loaded image on random (or special) values; what is wrong, empty if nothing is."""
        rng = np.random.default_rng(zlib.crc32(self.name.encode()) + 1 + special)
        stored = self.k // 2 if self.sparse else self.k
        pa = random_patterns(rng, (64, stored), self.a)
        pb = random_patterns(rng, (self.n, self.k), self.b)
        if special and self.signs:
            for p, t in ((pa, self.a), (pb, self.b)):
                few = rng.integers(0, p.size, 3)
                bits = {"f16": (0x7C00, 0xFC00, 0x0001), "bf16": (0x7F80, 0x8001, 0x7FC0), "tf32": (0x7F800000, 0x80002000, 0),
                        "e4m3": (0x7F, 0x01, 0x80), "e5m2": (0x7C, 0x81, 0x7F)}[t]  # fmt: skip
                p.reshape(-1)[few] = bits
        va, vb = values(pa, self.a), values(pb, self.b)
        if self.sparse:
            choice = sparse_choice(rng, 64, self.k, self.a)
            full = np.zeros((64, self.k), va.dtype)
            np.put_along_axis(full, choice, va, 1)
            va = full
        frag = np.zeros((128, 8), np.uint32)
        smem = np.zeros(self.bytes, np.uint8)
        if self.registers:
            frag[:, :4] = fragment_a(pa, self.a)
        else:
            self.where_a.store(smem, 0, pa)
        self.where_b.store(smem, self.at_b, pb)
        if self.sparse:
            frag[:, 4] = metadata(choice, self.a, self.selector, rng)
        row, column = accumulator_index(self.n)
        if self.d == "s32":
            old = rng.integers(-(1 << 31), 1 << 31, (64, self.n))
        else:
            old = np.round(rng.normal(size=(64, self.n)) * 64) / 16
        acc = round_to(old, self.d)[row, column]
        c = old if self.scale in (1, 3) else np.zeros_like(old)
        if self.negative[0]:
            va = -va
        if self.negative[1]:
            vb = -vb
        d = product(va, vb) + c
        if self.saturate:
            d = np.clip(d, -(1 << 31), (1 << 31) - 1)
        want = round_to(d, self.d)[row, column]
        if self.d == "f16":
            acc = acc[:, 0::2] | acc[:, 1::2].astype(np.uint32) << 16
            want = want[:, 0::2] | want[:, 1::2].astype(np.uint32) << 16
        acc = np.ascontiguousarray(acc.astype(np.uint32))
        out = np.zeros((128, self.words), np.uint32)
        image.launch(  # type: ignore[attr-defined]
            name, 1, 128,
            [smem, frag, acc, out, self.where_a.descriptor(), self.where_b.descriptor(), int(self.scale == 3)],
            max_steps=200_000,
        )  # fmt: skip
        bad = np.argwhere(out != want.astype(np.uint32))
        if len(bad):
            t, k = bad[0]
            return f"{self.name}: {len(bad)} wrong, thread {t} word {k}: {out[t, k]:#x}, expected {int(want[t, k]):#x}"
        return ""


def all_forms() -> list[Form]:
    """Every shape and pair of types, dense and sparse, A in registers and in shared memory."""
    out = []
    for sparse in (False, True):
        for registers in (False, True):
            for n in ALL_N:
                for d in ("f16", "f32"):
                    out.append(Form(n, d, "f16", "f16", registers, sparse))
                    out += [Form(n, d, a, b, registers, sparse) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]
                out += [Form(n, "f32", t, t, registers, sparse) for t in ("bf16", "tf32")]
            for n in INTEGER_N:
                out += [Form(n, "s32", a, b, registers, sparse) for a in ("s8", "u8") for b in ("s8", "u8")]
                if not sparse:
                    out.append(Form(n, "s32", "b1", "b1", registers, sparse))
    return out


def module_text(forms: list[Form]) -> str:
    """A module with a kernel for each form, named k0, k1, ..."""
    return HEAD + "".join(f.kernel(f"k{i}") for i, f in enumerate(forms))

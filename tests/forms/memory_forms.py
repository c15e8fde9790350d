"""Forms of loads, stores, atomics and reductions in every space."""

from collections.abc import Callable

from tests.forms.exact import BF16, F16, F32, F64, Expected, Op, to_signed
from tests.forms.float_forms import join
from tests.forms.form import Form, Outputs
from tests.forms.values import float_rows, ints, pairs, rng

BITS = {"b8": 8, "u8": 8, "s8": 8, "b16": 16, "u16": 16, "s16": 16, "b32": 32, "u32": 32, "s32": 32, "f32": 32, "b64": 64, "u64": 64,
        "s64": 64, "f64": 64}  # fmt: skip
SHARED = ".shared .align 16 .b8 sbuf[8192];\n"
LOCAL = ".local .align 16 .b8 lbuf[64];"
CONST = (
    ".const .align 8 .b32 cbuf[16] = {" + ", ".join(str(0x01020304 * (k + 1) & 0xFFFFFFFF) for k in range(16)) + "};\n"
)
GLOBAL = (
    ".global .align 8 .b32 gbuf[16] = {" + ", ".join(str(0x11223344 * (k + 1) & 0xFFFFFFFF) for k in range(16)) + "};\n"
)


def holder(type_: str) -> str:
    """Register type for a memory type."""
    return "b16" if BITS[type_] <= 16 else f"b{BITS[type_]}"


def extended(x: int, type_: str, register: str) -> int:
    """A value as a load leaves it in a register."""
    n = int(register[1:])
    v = to_signed(x, BITS[type_]) if type_[0] == "s" else x & (1 << BITS[type_]) - 1
    return v & (1 << n) - 1


def place(space: str) -> tuple[str, str, str, str]:
    """(code that makes the thread's address, the address, declarations, module declarations) of 32 bytes in a space."""
    if space == "global":
        return "", "%mem", "", ""
    if space == "generic":
        return "cvta.global.u64 %g0, %mem;", "%g0", ".reg .b64 %g0;", ""
    if space == "shared":
        return "mov.u32 %s0, sbuf; mad.lo.u32 %s0, %idx, 32, %s0;", "%s0", ".reg .b32 %s0;", SHARED
    if space == "generic-shared":
        code = "mov.u64 %g0, sbuf; cvta.shared.u64 %g0, %g0; mad.wide.u32 %g0, %idx, 32, %g0;"
        return code, "%g0", ".reg .b64 %g0;", SHARED
    if space == "generic-local":
        return "mov.u64 %g0, lbuf; cvta.local.u64 %g0, %g0;", "%g0", f".reg .b64 %g0; {LOCAL}", ""
    assert space == "local"
    return "mov.u64 %g0, lbuf;", "%g0", f".reg .b64 %g0; {LOCAL}", ""


SPACES = ("global", "generic", "shared", "generic-shared", "local", "generic-local")


def suffix(space: str) -> str:
    """The opcode's space."""
    return "" if space.startswith("generic") else "." + space


def scalar() -> list[Form]:
    """Store and load back, each type in each space, into registers of the type's size and wider."""
    out = []
    for space in SPACES:
        code, base, decl, module = place(space)
        sp = suffix(space)
        for k, t in enumerate(BITS):
            for register in {
                holder(t),
                "b32" if BITS[t] < 32 else "b64" if BITS[t] == 32 and t[0] in "us" else holder(t),
            }:
                offset = (0, 8, 16)[k % 3]
                st = "b" + t[1:] if k % 2 else t
                body = f"{code} st{sp}.{st} [{base}+{offset}], %a0; ld{sp}.{t} %o0, [{base}+{offset}];"
                name = f"ldst.{space}.{t}.{register}"
                rows = pairs(ints(BITS[t]), BITS[t], name, 32, 1)
                out.append(
                    Form(
                        name,
                        body,
                        [holder(t)],
                        [register],
                        rows,
                        lambda x, t=t, reg=register: extended(x, t, reg),
                        decl=decl,
                        module=module,
                    )
                )
    return out


def vectors() -> list[Form]:
    """v2 and v4 in each space."""
    out = []
    for space in SPACES:
        code, base, decl, module = place(space)
        sp = suffix(space)
        for t, n in (
            ("u8", 4),
            ("s8", 2),
            ("b16", 4),
            ("u16", 2),
            ("b32", 2),
            ("f32", 4),
            ("u32", 4),
            ("b64", 2),
            ("f64", 2),
        ):
            r = rng(space + t)
            rows = [tuple(r.getrandbits(BITS[t]) for _ in range(n)) for _ in range(32)]
            src = ", ".join(f"%a{k}" for k in range(n))
            dst = ", ".join(f"%o{k}" for k in range(n))
            body = f"{code} st{sp}.v{n}.{t} [{base}+16], {{{src}}}; ld{sp}.v{n}.{t} {{{dst}}}, [{base}+16];"
            if BITS[t] * n > 128:
                continue
            out.append(
                Form(f"ldst.{space}.v{n}.{t}", body, [holder(t)] * n, [holder(t)] * n, rows,
                     lambda *v, t=t: tuple(extended(x, t, holder(t)) for x in v), decl=decl, module=module)
            )  # fmt: skip
    return out


def variants() -> list[Form]:
    """Cache operators, ordering, constant and module variables, parameters, parts of what was stored."""
    out = []
    rows = pairs(ints(32), 32, "variants", 32, 1)
    for mods in (
        ".ca",
        ".cg",
        ".cs",
        ".lu",
        ".cv",
        ".volatile",
        ".relaxed.gpu",
        ".acquire.sys",
        ".relaxed.cta",
        ".L1::no_allocate",
        ".L2::128B",
    ):
        if mods == ".volatile":
            opcode = "ld.volatile.global.b32"
        elif "relaxed" in mods or "acquire" in mods:
            opcode = f"ld{mods}.global.b32"
        else:
            opcode = f"ld.global{mods}.b32"
        out.append(
            Form(opcode, f"st.global.b32 [%mem], %a0; {opcode} %o0, [%mem];", ["b32"], ["b32"], rows, lambda x: x)
        )
    for mods in (".wb", ".cg", ".cs", ".wt", ".volatile", ".relaxed.sys", ".release.gpu"):
        opcode = f"st{mods}.global.b32" if mods[1] in "vr" else f"st.global{mods}.b32"
        out.append(
            Form(opcode, f"{opcode} [%mem+4], %a0; ld.global.b32 %o0, [%mem+4];", ["b32"], ["b32"], rows, lambda x: x)
        )
    index = [(k,) for k in range(16)]
    out.append(
        Form("ld.const", "mul.wide.u32 %g0, %a0, 4; mov.u64 %g1, cbuf; add.u64 %g0, %g0, %g1; ld.const.u32 %o0, [%g0];", ["b32"], ["b32"], index,
             lambda k: 0x01020304 * (k + 1) & 0xFFFFFFFF, decl=".reg .b64 %g<2>;", module=CONST)
    )  # fmt: skip
    out.append(Form("ld.const.direct", "ld.const.u32 %o0, [cbuf+12]; ld.const.u8 %o1, [cbuf+5]; ld.const.v2.u32 {%o2, %o3}, [cbuf+8];", [],
                    ["b32", "b16", "b32", "b32"], [()] * 4, lambda: (0x04080C10, 6, 0x03060C0C - 0xC00 + 0x300, 0x04080C10), module=CONST))  # fmt: skip
    out[-1]._want = lambda: (0x01020304 * 4, (0x01020304 * 2 >> 8) & 0xFF, 0x01020304 * 3, 0x01020304 * 4)
    out.append(
        Form("ld.gbuf", "mul.wide.u32 %g0, %a0, 4; mov.u64 %g1, gbuf; add.u64 %g0, %g0, %g1; ld.global.nc.u32 %o0, [%g0];", ["b32"], ["b32"], index,
             lambda k: 0x11223344 * (k + 1) & 0xFFFFFFFF, decl=".reg .b64 %g<2>;", module=GLOBAL)
    )  # fmt: skip
    out.append(
        Form(
            "ld.gbuf.direct", "ld.global.u16 %o0, [gbuf+6];", [], ["b16"], [()], lambda: 0x22446688 >> 16, module=GLOBAL
        )
    )
    out.append(
        Form("st.bytes", "st.global.b32 [%mem], %a0; ld.global.u8 %o0, [%mem+1]; ld.global.s8 %o1, [%mem+3]; ld.global.u16 %o2, [%mem+2];", ["b32"],
             ["b16", "b32", "b16"], rows, lambda x: (x >> 8 & 0xFF, to_signed(x >> 24, 8) & 0xFFFFFFFF, x >> 16))
    )  # fmt: skip
    out.append(
        Form("st.narrow", "st.global.b32 [%mem], %a0; st.global.b8 [%mem+2], %a1; ld.global.b32 %o0, [%mem];", ["b32", "b32"], ["b32"],
             [(x, y) for (x,), (y,) in zip(rows, rows[::-1], strict=True)], lambda x, y: x & 0xFF00FFFF | (y & 0xFF) << 16)
    )  # fmt: skip
    out.append(
        Form("st.guarded", "st.global.b32 [%mem], %a0; @%a2 st.global.b32 [%mem], %a1; mov.b32 %o0, 7; @!%a2 ld.global.b32 %o0, [%mem];"
             " ld.global.b32 %o1, [%mem];", ["b32", "b32", "pred"], ["b32", "b32"],
             [(x, x ^ 0x5555, k & 1) for k, (x,) in enumerate(rows)], lambda x, y, p: (7 if p else x, y if p else x))
    )  # fmt: skip
    out.append(
        Form("ld.param", "ld.param.u32 %o0, [pm+4]; ld.param.u8 %o1, [pm+5];", [], ["b32", "b16"], [()], lambda: (0, 0))
    )
    del out[-1]
    out.append(neighbours())
    return out


def neighbours() -> Form:
    """Shared memory across a barrier: each thread reads what another wrote."""
    n = 64
    body = (
        "mov.u32 %s0, sbuf; mad.lo.u32 %s1, %idx, 4, %s0; st.shared.u32 [%s1], %a0; bar.sync 0; add.u32 %s1, %idx, 5; and.b32 %s1, %s1, 63;"
        " mad.lo.u32 %s1, %s1, 4, %s0; ld.shared.u32 %o0, [%s1];"
    )

    def all_rows(rows: object) -> list[Outputs]:
        v = [x for (x,) in pairs(ints(32), 32, "bar", n, 1)]
        return [v[(k + 5) % n] for k in range(n)]

    return Form(
        "shared.exchange",
        body,
        ["b32"],
        ["b32"],
        pairs(ints(32), 32, "bar", n, 1),
        want_all=all_rows,
        decl=".reg .b32 %s<2>;",
        module=SHARED,
    )


INT_OPS: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda a, b, n: a + b,
    "and": lambda a, b, n: a & b,
    "or": lambda a, b, n: a | b,
    "xor": lambda a, b, n: a ^ b,
    "exch": lambda a, b, n: b,
    "inc": lambda a, b, n: 0 if a >= b else a + 1,
    "dec": lambda a, b, n: b if a == 0 or a > b else a - 1,
}


def atomics() -> list[Form]:
    """atom and red: each thread on its own cell, so that the old value is known."""
    out = []
    table = [
        ("add", ("u32", "s32", "u64")), ("min", ("u32", "s32", "u64", "s64")), ("max", ("u32", "s32", "u64", "s64")), ("inc", ("u32",)),
        ("dec", ("u32",)), ("and", ("b32", "b64")), ("or", ("b32", "b64")), ("xor", ("b32", "b64")), ("exch", ("b32", "b64")),
    ]  # fmt: skip
    for space in ("global", "shared", "generic"):
        code, base, decl, module = place(space)
        sp = suffix(space)
        for op, types in table:
            for t in types:
                n = BITS[t]
                rows = pairs(ints(n), n, op + t + space, 64, 2)

                def result(a: int, b: int, op: str = op, t: str = t, n: int = n) -> int:
                    if op in ("min", "max"):
                        key = (lambda v: to_signed(v, n)) if t[0] == "s" else (lambda v: v)
                        return (min if op == "min" else max)((a, b), key=key)
                    return INT_OPS[op](a, b, n) & (1 << n) - 1

                store, load = f"st{sp}.b{n} [{base}], %a0;", f"ld{sp}.b{n} %o1, [{base}];"
                order = (
                    {"add": ".relaxed.gpu", "min": ".acq_rel.cta", "or": ".relaxed.sys"}.get(op, "")
                    if sp and n == 32
                    else ""
                )
                out.append(
                    Form(f"atom.{space}.{op}.{t}", f"{code} {store} atom{order}{sp}.{op}.{t} %o0, [{base}], %a1; {load}", [f"b{n}"] * 2,
                         [f"b{n}"] * 2, rows, lambda a, b, f=result: (a, f(a, b)), decl=decl, module=module)
                )  # fmt: skip
                if op != "exch":
                    out.append(
                        Form(f"red.{space}.{op}.{t}", f"{code} {store} red{sp}.{op}.{t} [{base}], %a1; {load.replace('%o1', '%o0')}", [f"b{n}"] * 2,
                             [f"b{n}"], rows, lambda a, b, f=result: f(a, b), decl=decl, module=module)
                    )  # fmt: skip
        for n in (16, 32, 64):
            r = rng(f"cas{n}{space}")
            rows3 = [
                (x, x if k & 1 else r.getrandbits(n), r.getrandbits(n))
                for k, (x,) in enumerate(pairs(ints(n), n, "cas", 48, 1))
            ]
            out.append(
                Form(f"atom.{space}.cas.b{n}", f"{code} st{sp}.b{n} [{base}], %a0; atom{sp}.cas.b{n} %o0, [{base}], %a1, %a2; ld{sp}.b{n} %o1, [{base}];",
                     [f"b{n}"] * 3, [f"b{n}"] * 2, rows3, lambda a, b, c: (a, c if a == b else a), decl=decl, module=module)
            )  # fmt: skip
        out += float_atomics(space, code, base, decl, module, sp)
        out += wide_atomics(space, code, base, decl, module, sp)
    out.append(contended())
    return out


def wide_atomics(space: str, code: str, base: str, decl: str, module: str, sp: str) -> list[Form]:
    """128-bit exchange and compare-and-swap (sm_90)."""
    r = rng(f"wide{space}")
    rows = []
    for k in range(32):
        old = [r.getrandbits(64), r.getrandbits(64)]
        asked = [old[0] ^ (k % 4 == 1) << r.randrange(64), old[1] ^ (k % 4 == 2) << r.randrange(64)]
        rows.append((*old, *asked, r.getrandbits(64), r.getrandbits(64)))
    decl = decl + ".reg .b128 %w<4>;"
    store = f"{code} st{sp}.v2.b64 [{base}], {{%a0, %a1}}; mov.b128 %w1, {{%a2, %a3}}; mov.b128 %w2, {{%a4, %a5}};"
    load = f"mov.b128 {{%o0, %o1}}, %w0; ld{sp}.v2.b64 {{%o2, %o3}}, [{base}];"

    def cas(*v: int) -> Outputs:
        return (v[0], v[1], *(v[4:6] if v[0:2] == v[2:4] else v[0:2]))

    return [
        Form(f"atom.{space}.cas.b128", f"{store} atom{sp}.cas.b128 %w0, [{base}], %w1, %w2; {load}", ["b64"] * 6, ["b64"] * 4, rows,
             cas, sm=90, decl=decl, module=module),
        Form(f"atom.{space}.exch.b128", f"{store} atom{sp}.exch.b128 %w0, [{base}], %w2; {load}", ["b64"] * 6, ["b64"] * 4, rows,
             lambda *v: (v[0], v[1], v[4], v[5]), sm=90, decl=decl, module=module),
    ]  # fmt: skip


def float_atomics(space: str, code: str, base: str, decl: str, module: str, sp: str) -> list[Form]:
    """add of f32, f64, and of packed halves."""
    out = []
    normal = {"f32": F32, "f64": F64, "f16x2": F16, "bf16x2": BF16}
    for t, reg, sm in (("f32", "b32", 75), ("f64", "b64", 75), ("f16x2", "b32", 75), ("bf16x2", "b32", 90)):
        f = normal[t]
        noftz = ".noftz" if "x2" in t else ""
        if "x2" in t:
            lo, hi = float_rows(f.name, 2, space + t, 48), float_rows(f.name, 2, space + t + "h", 48)
            rows = [(a[0] | b[0] << 16, a[1] | b[1] << 16) for a, b in zip(lo, hi, strict=True)]
            op = Op(f)

            def add(a: int, b: int, op: Op = op) -> Expected:
                return join(op.add(a & 0xFFFF, b & 0xFFFF), op.add(a >> 16, b >> 16))
        else:
            # f32 atomics in global memory flush subnormals, in shared memory they do not: leave those out.
            rows = [r for r in float_rows(f.name, 2, space + t, 64) if all(x & ~f.sign >= f.min_normal * 64 for x in r)]
            add = Op(f).add
        n = reg[1:]
        out.append(
            Form(f"atom.{space}.add.{t}", f"{code} st{sp}.b{n} [{base}], %a0; atom{sp}.add{noftz}.{t} %o0, [{base}], %a1; ld{sp}.b{n} %o1, [{base}];",
                 [reg] * 2, [reg] * 2, rows, lambda a, b, g=add: (a, g(a, b)), decl=decl, module=module, sm=sm)
        )  # fmt: skip
        out.append(
            Form(f"red.{space}.add.{t}", f"{code} st{sp}.b{n} [{base}], %a0; red{sp}.add{noftz}.{t} [{base}], %a1; ld{sp}.b{n} %o0, [{base}];",
                 [reg] * 2, [reg], rows, lambda a, b, g=add: g(a, b), decl=decl, module=module, sm=sm)
        )  # fmt: skip
    return out


def contended() -> Form:
    """All threads add to one cell."""
    body = (
        "mov.u32 %s0, sbuf; setp.eq.u32 %q0, %idx, 0; @%q0 st.shared.u32 [%s0], 0; bar.sync 0; atom.shared.add.u32 %s1, [%s0], %a0; bar.sync 0;"
        " ld.shared.u32 %o0, [%s0];"
    )
    rows = [(k * 3 + 1,) for k in range(96)]
    total = sum(k * 3 + 1 for k in range(96))
    return Form(
        "atom.contended",
        body,
        ["b32"],
        ["b32"],
        rows,
        lambda x: total,
        decl=".reg .b32 %s<2>; .reg .pred %q0;",
        module=SHARED,
    )


def generic_names() -> Form:
    """Variables named in generic accesses."""
    body = (
        "st.u64 [gv_local+8], %a0; ld.u64 %o0, [gv_local+8]; st.u32 [gv_shared+4], %a1; ld.u32 %o1, [gv_shared+4];"
        " ld.u32 %o2, [gv_global+4];"
    )
    decl = ".local .align 8 .b64 gv_local[2]; .shared .align 4 .b32 gv_shared[2];"
    module = ".global .align 4 .u32 gv_global[2] = {7, 8};\n"
    return Form(
        "generic.named", body, ["b64", "b32"], ["b64", "b32", "b32"], [(0x123456789ABCDEF0, 77)], lambda x, y: (x, y, 8), decl=decl,
        module=module,
    )  # fmt: skip


def cluster_names() -> Form:
    """A shared variable named in accesses to shared memory of the cluster: the block's own."""
    body = (
        "st.shared::cluster.u64 [cv_shared+8], %a0; ld.shared.u64 %o0, [cv_shared+8];"
        " st.shared.u32 [cv_shared+4], %a1; ld.shared::cluster.u32 %o1, [cv_shared+4];"
        " atom.shared::cluster.add.u32 %o2, [cv_shared+4], 3; st.shared::cluster.u8 [cv_shared], 5; ld.shared.u8 %o3, [cv_shared];"
    )
    return Form(
        "cluster.named", body, ["b64", "b32"], ["b64", "b32", "b32", "b32"], [(0x123456789ABCDEF0, 77)], lambda x, y: (x, y, y, 5),
        decl=".shared .align 8 .b64 cv_shared[2];", sm=90,
    )  # fmt: skip


def forms() -> list[Form]:
    """Every form of this file."""
    return [*scalar(), *vectors(), *variants(), *atomics(), generic_names(), cluster_names()]

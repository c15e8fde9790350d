"""Forms of warp operations, barriers, special registers and control flow."""

from collections.abc import Callable, Sequence

from tests.forms.exact import to_signed
from tests.forms.form import Form, Outputs
from tests.forms.values import ints, pairs, rng

Rows = Sequence[tuple[int, ...]]
FULL = 0xFFFFFFFF


def by_warp(f: Callable[[list[tuple[int, ...]]], list[Outputs]]) -> Callable[[Rows], list[Outputs]]:
    """Expected outputs from a function on the rows of one warp."""

    def all_rows(rows: Rows) -> list[Outputs]:
        out: list[Outputs] = []
        for k in range(0, len(rows), 32):
            out += f(list(rows[k : k + 32]))
        return out

    return all_rows


def shuffle(mode: str, lane: int, b: int, c: int) -> tuple[int, int]:
    """Source lane and validity."""
    segment, clamp = c >> 8 & 31, c & 31
    top = (lane & segment) | (clamp & ~segment & 31)
    b &= 31
    low = lane & segment
    if mode == "up":
        j = lane - b
        ok = j >= top
    elif mode == "down":
        j = lane + b
        ok = j <= top
    elif mode == "bfly":
        j = lane ^ b
        ok = j <= top
    else:
        j = low | (b & ~segment & 31)
        ok = j <= top
    return (j if ok else lane), int(ok)


def shuffles() -> list[Form]:
    """shfl.sync in its modes, with lane amounts in registers and as constants, with and without predicate."""
    out = []
    for mode in ("up", "down", "bfly", "idx"):
        for c in (0x1F, 0x1C1F, 0x181F, 0x1F1F) if mode != "up" else (0, 0x1C00, 0x1800):
            r = rng(mode + str(c))
            rows = [(r.getrandbits(32), r.randrange(32)) for _ in range(64)]

            def expect(warp: list[tuple[int, ...]], mode: str = mode, c: int = c) -> list[Outputs]:
                res: list[Outputs] = []
                for lane, (_, b) in enumerate(warp):
                    j, ok = shuffle(mode, lane, b, c)
                    res.append((warp[j][0], ok))
                return res

            out.append(
                Form(f"shfl.{mode}.{c:x}", f"shfl.sync.{mode}.b32 %o0|%o1, %a0, %a1, {c:#x}, -1;", ["b32"] * 2, ["b32", "pred"], rows,
                     want_all=by_warp(expect))
            )  # fmt: skip
            for b in (0, 1, 5, 16):

                def fixed(warp: list[tuple[int, ...]], mode: str = mode, c: int = c, b: int = b) -> list[Outputs]:
                    return [warp[shuffle(mode, lane, b, c)[0]][0] for lane in range(len(warp))]

                if b in (1, 16):
                    out.append(
                        Form(f"shfl.{mode}.{c:x}.{b}", f"shfl.sync.{mode}.b32 %o0, %a0, {b}, {c:#x}, -1;", ["b32"] * 2, ["b32"], rows,
                             want_all=by_warp(fixed))
                    )  # fmt: skip
    return out


def votes() -> list[Form]:
    """vote.sync, match, redux, activemask."""
    out: list[Form] = []
    r = rng("vote")
    kinds: list[list[int]] = [[r.getrandbits(1) for _ in range(32)], [1] * 32, [0] * 32, [0] * 31 + [1]]
    rows = [(p,) for k in kinds for p in k]
    ops: dict[str, Callable[[list[int]], int]] = {
        "any": lambda v: int(any(v)),
        "all": lambda v: int(all(v)),
        "uni": lambda v: int(all(x == v[0] for x in v)),
    }
    for name, f in ops.items():
        for neg in ("", "!"):

            def expect(warp: list[tuple[int, ...]], f: Callable[[list[int]], int] = f, neg: str = neg) -> list[Outputs]:
                return [f([x ^ (neg != "") for (x,) in warp])] * len(warp)

            out.append(
                Form(
                    f"vote.{name}{neg}",
                    f"vote.sync.{name}.pred %o0, {neg}%a0, -1;",
                    ["pred"],
                    ["pred"],
                    rows,
                    want_all=by_warp(expect),
                )
            )
    out.append(
        Form("vote.ballot", "vote.sync.ballot.b32 %o0, %a0, -1;", ["pred"], ["b32"], rows,
             want_all=by_warp(lambda w: [sum(x << k for k, (x,) in enumerate(w))] * len(w)))
    )  # fmt: skip
    out.append(Form("activemask", "activemask.b32 %o0;", [], ["b32"], [()] * 64, lambda: FULL))
    for bits in (32, 64):
        values = [(r.randrange(5) * ((1 << bits - 3) + 1),) for _ in range(64)] + [(77,)] * 32

        def match_any(warp: list[tuple[int, ...]]) -> list[Outputs]:
            return [sum(1 << k for k, (y,) in enumerate(warp) if y == x) for (x,) in warp]

        def match_all(warp: list[tuple[int, ...]]) -> list[Outputs]:
            same = all(x == warp[0] for x in warp)
            return [(FULL if same else 0, int(same))] * len(warp)

        t = f"b{bits}"
        out.append(
            Form(
                f"match.any.{t}", f"match.any.sync.{t} %o0, %a0, -1;", [t], ["b32"], values, want_all=by_warp(match_any)
            )
        )
        out.append(
            Form(
                f"match.all.{t}",
                f"match.all.sync.{t} %o0|%o1, %a0, -1;",
                [t],
                ["b32", "pred"],
                values,
                want_all=by_warp(match_all),
            )
        )
    for op in ("add", "min", "max", "and", "or", "xor"):
        for t in ("u32", "s32") if op in ("add", "min", "max") else ("b32",):

            def redux(warp: list[tuple[int, ...]], op: str = op, t: str = t) -> list[Outputs]:
                v = [to_signed(x, 32) if t == "s32" else x for (x,) in warp]
                total = v[0]
                for x in v[1:]:
                    total = {
                        "add": total + x,
                        "min": min(total, x),
                        "max": max(total, x),
                        "and": total & x,
                        "or": total | x,
                        "xor": total ^ x,
                    }[op]
                return [total & FULL] * len(warp)

            out.append(
                Form(f"redux.{op}.{t}", f"redux.sync.{op}.{t} %o0, %a0, -1;", ["b32"], ["b32"], pairs(ints(32), 32, op + t, 64, 1),
                     want_all=by_warp(redux), sm=80)
            )  # fmt: skip
    return out


def special() -> list[Form]:
    """Special registers that a launch determines."""
    shape = (8, 4, 3)
    n = 96
    place = [(k % 8, k // 8 % 4, k // 32) for k in range(n)]
    registers: dict[str, Callable[[int], int]] = {
        "tid.x": lambda k: place[k][0], "tid.y": lambda k: place[k][1], "tid.z": lambda k: place[k][2],
        "ntid.x": lambda k: 8, "ntid.y": lambda k: 4, "ntid.z": lambda k: 3, "ctaid.x": lambda k: 0, "ctaid.y": lambda k: 0,
        "nctaid.x": lambda k: 1, "nctaid.z": lambda k: 1, "laneid": lambda k: k % 32,
        "lanemask_eq": lambda k: 1 << k % 32, "lanemask_lt": lambda k: (1 << k % 32) - 1, "lanemask_le": lambda k: (2 << k % 32) - 1,
        "lanemask_gt": lambda k: FULL & ~((2 << k % 32) - 1), "lanemask_ge": lambda k: FULL & ~((1 << k % 32) - 1),
    }  # fmt: skip
    out = []
    for name, f in registers.items():
        out.append(
            Form(
                f"%{name}",
                f"mov.u32 %o0, %{name};",
                [],
                ["b32"],
                [()] * n,
                want_all=lambda rows, f=f: [f(k) for k in range(len(rows))],
                block=shape,
            )
        )
    out.append(
        Form("%tid.u16", "mov.u16 %o0, %tid.x; cvt.u16.u32 %o1, %ctaid.x;", [], ["b16", "b16"], [()] * 32,
             want_all=lambda rows: [(k, 0) for k in range(len(rows))])
    )  # fmt: skip
    out.append(
        Form("%clock", "mov.u32 %s0, %clock; mov.u64 %g0, %clock64; mov.u64 %g1, %globaltimer; mov.u32 %o0, 1;", [], ["b32"], [()], lambda: 1,
             decl=".reg .b32 %s0; .reg .b64 %g<2>;")
    )  # fmt: skip
    return out


def control() -> list[Form]:
    """Branches, loops, divergence with reconvergence, calls, indexed branches."""
    out = []
    rows = pairs(ints(32), 32, "control", 64, 1)
    out.append(
        Form("branch.diamond", "setp.gt.s32 %q0, %a0, 10; @%q0 bra L1; mul.lo.u32 %o0, %a0, 3; bra L2;\nL1: add.u32 %o0, %a0, 1;\nL2:", ["b32"], ["b32"],
             rows, lambda x: (x + 1 if to_signed(x, 32) > 10 else x * 3) & FULL, decl=".reg .pred %q0;")
    )  # fmt: skip

    def collatz(x: int) -> int:
        n = 0
        x = (x & 63) + 1
        while x != 1:
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            n += 1
        return n

    loop = (
        "and.b32 %s0, %a0, 63; add.u32 %s0, %s0, 1; mov.u32 %o0, 0;\nLOOP: setp.eq.u32 %q0, %s0, 1; @%q0 bra DONE; and.b32 %s1, %s0, 1;"
        " setp.eq.u32 %q0, %s1, 0; @%q0 bra EVEN; mad.lo.u32 %s0, %s0, 3, 1; bra NEXT;\nEVEN: shr.u32 %s0, %s0, 1;\nNEXT: add.u32 %o0, %o0, 1;"
        " bra LOOP;\nDONE:"
    )
    out.append(Form("branch.loop", loop, ["b32"], ["b32"], rows, collatz, decl=".reg .pred %q0; .reg .b32 %s<2>;"))
    after = loop + " bar.warp.sync -1; shfl.sync.bfly.b32 %o1, %o0, 1, 0x1f, -1;"

    def exchanged(warp: list[tuple[int, ...]]) -> list[Outputs]:
        c = [collatz(x) for (x,) in warp]
        return [(c[k], c[k ^ 1]) for k in range(len(c))]

    out.append(
        Form(
            "branch.reconverge",
            after,
            ["b32"],
            ["b32"] * 2,
            rows,
            want_all=by_warp(exchanged),
            decl=".reg .pred %q0; .reg .b32 %s<2>;",
        )
    )
    table = "ts: .branchtargets C0, C1, C2, C3;"
    switch = (
        f"and.b32 %s0, %a0, 3;\n{table}\nbrx.idx %s0, ts;\nC0: mov.u32 %o0, 10; bra E;\nC1: add.u32 %o0, %a0, 20; bra E;\nC2: mov.u32 %o0, 30; bra E;\n"
        "C3: mul.lo.u32 %o0, %a0, %a0;\nE:"
    )
    out.append(
        Form(
            "brx.idx",
            switch,
            ["b32"],
            ["b32"],
            rows,
            lambda x: (10, x + 20, 30, x * x)[x & 3] & FULL,
            decl=".reg .b32 %s0;",
        )
    )
    function = (
        ".func (.param .b32 r) sq(.param .b32 x, .param .b32 y) { .reg .b32 %t<3>; ld.param.b32 %t0, [x]; ld.param.b32 %t1, [y];"
        " mad.lo.u32 %t2, %t0, %t0, %t1; st.param.b32 [r], %t2; ret; }\n"
    )
    call = "{ .param .b32 p0; .param .b32 p1; .param .b32 pr; st.param.b32 [p0], %a0; st.param.b32 [p1], %a1; call (pr), sq, (p0, p1); ld.param.b32 %o0, [pr]; }"
    pairs2 = pairs(ints(32), 32, "call", 64, 2)
    out.append(Form("call", call, ["b32"] * 2, ["b32"], pairs2, lambda x, y: (x * x + y) & FULL, module=function))
    twice = call + " " + call.replace("%a0", "%o0")
    out.append(
        Form(
            "call.twice",
            twice,
            ["b32"] * 2,
            ["b32"],
            pairs2,
            lambda x, y: ((x * x + y) ** 2 + y) & FULL,
            module=function,
        )
    )
    recursive = (
        ".func (.param .b32 r) fact(.param .b32 x) { .reg .b32 %t<4>; .reg .pred %p; ld.param.b32 %t0, [x]; setp.le.u32 %p, %t0, 1; mov.u32 %t1, 1;"
        " @%p bra D; sub.u32 %t2, %t0, 1; { .param .b32 a; .param .b32 b; st.param.b32 [a], %t2; call (b), fact, (a); ld.param.b32 %t3, [b]; }"
        " mul.lo.u32 %t1, %t0, %t3; D: st.param.b32 [r], %t1; ret; }\n"
    )

    def fact(x: int) -> int:
        v = 1
        for k in range(2, x + 1):
            v *= k
        return v & FULL

    call1 = "{ .param .b32 p0; .param .b32 pr; st.param.b32 [p0], %a0; call (pr), fact, (p0); ld.param.b32 %o0, [pr]; }"
    out.append(
        Form(
            "call.recursive",
            call1,
            ["b32"],
            ["b32"],
            [(k,) for k in range(12)],
            fact,
            module=".func (.param .b32 r) fact(.param .b32 x);\n" + recursive,
        )
    )
    out.append(
        Form("exit.early", "st.global.b32 [%fo], 5; setp.lt.u32 %q0, %idx, 16; @%q0 exit; mov.u32 %o0, 6;", [], ["b32"], [()] * 32,
             want_all=lambda rows: [5 if k < 16 else 6 for k in range(len(rows))], decl=".reg .pred %q0;")
    )  # fmt: skip
    return out


def forms() -> list[Form]:
    """Every form of this file."""
    return shuffles() + votes() + special() + control()

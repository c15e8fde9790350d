"""Loops of many shapes against ptxas: a small kernel for each shape.

``python -m bench.loop_probes [--arch sm_80] [NAME ...]`` compiles each kernel with both compilers at -O3, runs both cubins in the
simulator on the same data, compares the memory, and prints what :mod:`bench.phase_probes` prints, whose launch these kernels have.
Results are in docs/log/loops.md.
"""

import argparse
from typing import Final

from bench.phase_probes import HEAD, report

_LOAD: Final = "mul.wide.u32 %d10, %r21, 4; add.u64 %d11, %d3, %d10; ld.global.u32 %r22, [%d11];"
_SUM: Final = f"{_LOAD} add.u32 %r20, %r20, %r22;"
_MIX: Final = f"{_LOAD} mad.lo.u32 %r20, %r20, 3, %r22;"
_NEXT: Final = "add.u32 %r21, %r21, 1; setp.lt.u32 %p1, %r21, %r1; @%p1 bra L;"
_START: Final = "mov.u32 %r20, 0; mov.u32 %r21, 0;"
_END: Final = "st.global.u32 [%d4], %r20;"
_SHARED: Final = ".shared .align 16 .b8 s[4096];\n"


def _bottom(body: str) -> str:
    return f"{_START}\nL: {body}\n{_NEXT}\n{_END}"


LOOPS: Final[dict[str, tuple[str, str]]] = {
    "sum": (_bottom(_SUM), ""),
    "top": (f"{_START}\nL: setp.ge.u32 %p1, %r21, %r1; @%p1 bra E; {_SUM} add.u32 %r21, %r21, 1; bra L;\nE: {_END}", ""),
    "down": (f"mov.u32 %r20, 0; mov.u32 %r21, %r1;\nL: {_SUM} add.s32 %r21, %r21, -1; setp.gt.s32 %p1, %r21, 0; @%p1 bra L;\n{_END}", ""),
    "old_counter": (f"{_START}\nL: {_SUM} mov.u32 %r23, %r21; add.u32 %r21, %r21, 1; add.u32 %r24, %r1, -1; setp.lt.s32 %p1, %r23, %r24; @%p1 bra L;\n{_END}", ""),
    "wide_counter": (
        f"mov.u32 %r20, 0; mov.u64 %d20, 0; cvt.u64.u32 %d21, %r1;\nL: shl.b64 %d10, %d20, 2; add.u64 %d11, %d3, %d10; ld.global.u32 %r22, [%d11]; mad.lo.u32 %r20, %r20, 3, %r22;"
        f" add.u64 %d20, %d20, 1; setp.lt.u64 %p1, %d20, %d21; @%p1 bra L;\n{_END}", ""),
    "pointer": (
        f"mov.u32 %r20, 0; mul.wide.u32 %d20, %r1, 4; add.u64 %d21, %d3, %d20; mov.u64 %d11, %d3;\nL: ld.global.u32 %r22, [%d11]; mad.lo.u32 %r20, %r20, 3, %r22;"
        f" add.u64 %d11, %d11, 4; setp.ne.u64 %p1, %d11, %d21; @%p1 bra L;\n{_END}", ""),
    "threads": (f"mov.u32 %r20, 0; shr.u32 %r21, %r2, 4; shl.b32 %r24, %r1, 5;\nL: {_MIX} add.u32 %r21, %r21, 8; setp.lt.u32 %p1, %r21, %r24; @%p1 bra L;\n{_END}", ""),
    "stride": (f"{_START} shr.u32 %r24, %r4, 6;\nL: {_MIX} add.u32 %r21, %r21, %r24; setp.lt.u32 %p1, %r21, %r1; @%p1 bra L;\n{_END}", ""),
    "grid_stride": (f"mov.u32 %r20, 0; mov.u32 %r21, %r5; mov.u32 %r25, %nctaid.x; mul.lo.u32 %r24, %r25, %r4; shl.b32 %r26, %r1, 9;\nL: {_MIX} add.u32 %r21, %r21, %r24; setp.lt.u32 %p1, %r21, %r26; @%p1 bra L;\n{_END}", ""),
    "copied": (_bottom("mul.wide.u32 %d10, %r21, 512; add.u64 %d11, %d3, %d10; add.u64 %d12, %d4, %d10; ld.global.u32 %r22, [%d11]; st.global.u32 [%d12+65536], %r22; add.u32 %r20, %r20, %r22;"), ""),
    "copied_apart": (
        "mov.u32 %r20, 0; shr.u32 %r21, %r2, 4; shl.b32 %r24, %r1, 2;\nL: mul.wide.u32 %d10, %r21, 512; add.u64 %d11, %d3, %d10; add.u64 %d12, %d4, %d10; ld.global.u32 %r22, [%d11];"
        f" st.global.u32 [%d12+65536], %r22; add.u32 %r20, %r20, %r22; add.u32 %r21, %r21, 8; setp.lt.u32 %p1, %r21, %r24; @%p1 bra L;\n{_END}", ""),
    "computed_apart": ("mov.u32 %r20, %r10; shr.u32 %r21, %r2, 4; shl.b32 %r24, %r1, 5;\nL: mad.lo.u32 %r20, %r20, 3, %r11; xor.b32 %r20, %r20, %r10; add.u32 %r21, %r21, 8; setp.lt.u32 %p1, %r21, %r24; @%p1 bra L;\n" + _END, ""),
    "pointers": (
        f"{_START} mov.u64 %d11, %d3; add.u64 %d12, %d3, 8192; mov.u64 %d13, %d4;\nL: ld.global.u32 %r22, [%d11]; ld.global.u32 %r23, [%d12]; mad.lo.u32 %r20, %r22, %r23, %r20; st.global.u32 [%d13], %r20;"
        f" add.u64 %d11, %d11, 4; add.u64 %d12, %d12, 4; add.u64 %d13, %d13, 4096; {_NEXT}\n{_END}", ""),
    "barrier": (_bottom(f"{_MIX} bar.sync 0;"), ""),
    "shuffle": (_bottom(f"{_LOAD} shfl.sync.bfly.b32 %r23, %r22, 1, 0x1f, 0xffffffff; mad.lo.u32 %r20, %r20, 3, %r23;"), ""),
    "arm": (_bottom(f"{_LOAD} and.b32 %r23, %r22, 1; setp.eq.u32 %p2, %r23, 0; @%p2 bra H; mad.lo.u32 %r20, %r20, 3, %r22; bra J;\nH: xor.b32 %r20, %r20, %r22;\nJ:"), ""),
    "long_arm": (_bottom(f"{_LOAD} setp.lt.u32 %p2, %r22, 200; @%p2 bra J; " + "mad.lo.u32 %r20, %r20, %r22, 3; xor.b32 %r20, %r20, %r22; " * 6 + "\nJ: add.u32 %r20, %r20, %r22;"), ""),
    "way_out": (_bottom(f"{_LOAD} setp.eq.u32 %p2, %r22, 999; @%p2 bra E; mad.lo.u32 %r20, %r20, 3, %r22;").replace(_END, f"E: {_END}"), ""),
    "known_1000": (f"{_START}\nL: mad.lo.u32 %r20, %r20, 3, %r21; xor.b32 %r20, %r20, %r10; add.u32 %r21, %r21, 1; setp.lt.u32 %p1, %r21, 1000; @%p1 bra L;\n{_END}", ""),
    "known_loads": (f"{_START}\nL: {_MIX} add.u32 %r21, %r21, 1; setp.lt.u32 %p1, %r21, 200; @%p1 bra L;\n{_END}", ""),
    "nested": (
        f"{_START} shr.u32 %r30, %r1, 1;\nO: mov.u32 %r31, 0;\nL: add.u32 %r32, %r31, %r21; mul.wide.u32 %d10, %r32, 4; add.u64 %d11, %d3, %d10; ld.global.u32 %r22, [%d11]; mad.lo.u32 %r20, %r20, 3, %r22;"
        f" add.u32 %r31, %r31, 1; setp.lt.u32 %p1, %r31, %r30; @%p1 bra L; add.u32 %r21, %r21, 1; setp.lt.u32 %p2, %r21, %r30; @%p2 bra O;\n{_END}", ""),
    "tiles": (
        f"{_START} mul.wide.u32 %d20, %r2, 4; cvt.u32.u64 %r33, %d20; mov.u32 %r34, s; add.u32 %r33, %r34, %r33;\n"
        "O: mul.wide.u32 %d10, %r21, 4; add.u64 %d11, %d3, %d10; ld.global.u32 %r22, [%d11]; st.shared.u32 [%r33], %r22; bar.sync 0; mov.u32 %r31, 0; mov.u32 %r35, %r34;\n"
        "L: ld.shared.u32 %r36, [%r35]; ld.shared.u32 %r37, [%r35+64]; mad.lo.u32 %r20, %r36, %r37, %r20; add.u32 %r35, %r35, 4; add.u32 %r31, %r31, 1; setp.lt.u32 %p1, %r31, 16; @%p1 bra L;\n"
        f"bar.sync 0; add.u32 %r21, %r21, 1; setp.lt.u32 %p2, %r21, %r1; @%p2 bra O;\n{_END}", _SHARED),
    "multiplied": (_bottom("mul.lo.u32 %r22, %r21, %r4; mul.wide.u32 %d10, %r22, 4; add.u64 %d11, %d3, %d10; ld.global.u32 %r23, [%d11]; add.u32 %r24, %r21, %r10; mul.lo.u32 %r25, %r24, %r11; mad.lo.u32 %r20, %r20, 3, %r25; add.u32 %r20, %r20, %r23;"), ""),
    "local_filled": (
        "mov.u64 %d20, l;\nmov.u32 %r21, 0;\nW: mul.wide.u32 %d21, %r21, 4; add.u64 %d22, %d20, %d21; add.u32 %r22, %r10, %r21; st.local.u32 [%d22], %r22; add.u32 %r21, %r21, 1; setp.lt.u32 %p1, %r21, 8; @%p1 bra W;\n"
        f"{_START}\nL: mul.wide.u32 %d21, %r21, 4; add.u64 %d22, %d20, %d21; ld.local.u32 %r22, [%d22]; mad.lo.u32 %r20, %r20, 5, %r22; add.u32 %r21, %r21, 1; setp.lt.u32 %p1, %r21, 8; @%p1 bra L;\n{_END}",
        ".local .align 16 .b8 l[32];\n"),
    "local_top": (
        "mov.u64 %d20, l; cvta.local.u64 %d20, %d20;\nmov.u32 %r21, 0;\nW: setp.ge.s32 %p1, %r21, 16; @%p1 bra S; mul.wide.s32 %d21, %r21, 4; add.u64 %d22, %d20, %d21; add.u32 %r22, %r10, %r21; st.u32 [%d22], %r22; add.u32 %r21, %r21, 1; bra W;\n"
        f"S: {_START}\nL: setp.ge.s32 %p1, %r21, 16; @%p1 bra E; mul.wide.s32 %d21, %r21, 4; add.u64 %d22, %d20, %d21; ld.u32 %r22, [%d22]; mad.lo.u32 %r20, %r20, 5, %r22; add.u32 %r21, %r21, 1; bra L;\nE: {_END}",
        ".local .align 16 .b8 l[64];\n"),
}  # fmt: skip
"""Name -> body at the end of HEAD, declarations before it."""


def text(name: str, arch: str) -> str:
    """The PTX of a loop."""
    body, declarations = LOOPS[name]
    return HEAD.format(arch=arch, body=body, declarations=declarations, module="")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("names", nargs="*", default=list(LOOPS))
    given = parser.parse_args()
    report("loop", given.arch, {name: (text(name, given.arch), 0) for name in given.names})


if __name__ == "__main__":
    main()

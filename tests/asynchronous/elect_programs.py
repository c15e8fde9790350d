"""Programs in which some threads of a warp ask for a copy: how often it is done, and with whose operands.

Each copy adds sixteen bytes of shared memory to words of the output, so that the sums tell.
"""

from collections.abc import Callable

import numpy as np

from tests.asynchronous.harness import LATER, Program, Words

ELECT = "elect.sync _|%p1, -1;"
COUNTED = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd10], [%r10], 16;"
PREPARE = (
    "shl.b32 %r1, %t, 4; mov.u32 %r10, smem; add.u32 %r2, %r10, %r1; add.u32 %r3, %t, 1;\n"
    "st.shared.v4.u32 [%r2], {%r3, %r3, %r3, %r3}; fence.proxy.async; bar.sync 0; mov.u64 %rd10, %out; mov.u32 %r39, 0;\n"
)
"""Thread t's sixteen bytes of shared memory hold t + 1; %r10 is thread 0's."""
FINISH = "DONE: cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
AT = "shl.b32 %r12, %r11, 4; cvt.u64.u32 %rd11, %r12; add.u64 %rd10, %out, %rd11;"
"""The destination is the %r11-th group of four words."""

UNCOUNTED = [f"copy by elected or even: {what}" for what in ("constants", "block", "shuffled", "loaded")]
"""Programs that ptxas gets wrong (tests/oracle_faults/test_elected_or.py)."""
WHO: dict[str, tuple[str, int, Callable[[int], bool]]] = {
    # name: (code that leads all others to DONE, whether a loop must stay, who asks)
    "all": ("", 1, lambda t: True),
    "thread 0": ("setp.ne.u32 %p0, %t, 0; @%p0 bra DONE;", 1, lambda t: t == 0),
    "odd": ("and.b32 %r20, %t, 1; setp.eq.u32 %p0, %r20, 0; @%p0 bra DONE;", 1, lambda t: t % 2 == 1),
    "elected": (f"{ELECT} @!%p1 bra DONE;", 0, lambda t: t % 32 == 0),
    "elected, by a number": (
        f"mov.u32 %r20, 0; {ELECT} @%p1 mov.u32 %r20, 1; setp.eq.u32 %p0, %r20, 0; @%p0 bra DONE;", 0, lambda t: t % 32 == 0,
    ),
    "elected, by a choice": (f"{ELECT} selp.u32 %r20, 7, 3, %p1; setp.eq.u32 %p0, %r20, 3; @%p0 bra DONE;", 0, lambda t: t % 32 == 0),
    "elected in one warp": (
        f"{ELECT} setp.eq.u32 %p2, %warp, 1; and.pred %p3, %p1, %p2; not.pred %p3, %p3; @%p3 bra DONE;", 0, lambda t: t == 32,
    ),
    "elected after a branch": (f"setp.eq.u32 %p2, %warp, 0; @%p2 bra DONE; {ELECT} @!%p1 bra DONE;", 0, lambda t: t == 32),
    "elected or even": (
        f"{ELECT} and.b32 %r20, %t, 1; setp.eq.u32 %p2, %r20, 0; or.pred %p3, %p1, %p2; @!%p3 bra DONE;", 1, lambda t: t % 2 == 0,
    ),
    "not elected": (f"{ELECT} @%p1 bra DONE;", 1, lambda t: t % 32 != 0),
    "elected among some": (
        "setp.gt.u32 %p2, %t, 31; @%p2 bra DONE; setp.lt.u32 %p2, %t, 8; @%p2 bra SOME; elect.sync _|%p1, 0xffffff00; bra ON;\n"
        "SOME: elect.sync _|%p1, 0xff; ON: @!%p1 bra DONE;", 1, lambda t: t in (0, 8),
    ),
}  # fmt: skip

OPERANDS: dict[str, tuple[str, int, Callable[[int], int], Callable[[int], int]]] = {
    # name: (code, whether a value in the loop varies, group of words that thread t writes, what it adds there)
    "constants": (COUNTED, 0, lambda t: 0, lambda t: 1),
    "block": (f"add.u32 %r11, %cta, 3; {AT} {COUNTED}", 0, lambda t: 3, lambda t: 1),
    "shuffled": (
        f"shfl.sync.idx.b32 %r11, %warp, 0, 31, -1; {AT} {COUNTED}", 0, lambda t: t // 32, lambda t: 1,
    ),
    "loaded": (f"ld.shared.u32 %r11, [%r10+32]; {AT} {COUNTED}", 0, lambda t: 3, lambda t: 1),
    "thread": (f"mov.u32 %r11, %t; {AT} mov.u32 %r10, %r2; {COUNTED}", 1, lambda t: t, lambda t: t + 1),
}  # fmt: skip


def _sums(
    asks: Callable[[int], bool], group: Callable[[int], int], adds: Callable[[int], int], rounds: int = 1
) -> Words:
    out = np.zeros(512, np.uint32)
    for t in range(64):
        if asks(t):
            for k in range(rounds):
                out[4 * (group(t) + k) : 4 * (group(t) + k) + 4] += np.uint32(adds(t))
    return out


def _body(who: str, what: str) -> str:
    # What threads must do together stands before the branch.
    first, _, rest = what.rpartition("-1;") if "shfl" in what else ("", "", what)
    return f"{PREPARE}{first + '-1;' if first else ''}\n{who}\n{rest}\n{FINISH}"


def programs() -> list[Program]:
    """Every kind of asking with every kind of operand, and a loop around."""
    out = []
    for a, (who, _, asks) in WHO.items():
        for b, (what, _, group, adds) in OPERANDS.items():
            out.append(
                Program(
                    f"copy by {a}: {b}", _body(who, what), lambda s, x=asks, y=group, z=adds: _sums(x, y, z), block=64
                )
            )
            if out[-1].name in UNCOUNTED:
                out[-1].unjudged = ("sm_90", "sm_90a", *LATER)
        rounds = (
            f"mov.u32 %r11, 0; AGAIN: {AT} {COUNTED} add.u32 %r11, %r11, 1; add.u32 %r21, %cta, 5; setp.lt.u32 %p4, %r11, %r21; @%p4 bra AGAIN;"
        )  # fmt: skip
        out.append(
            Program(
                f"copy by {a}: rounds", _body(who, rounds), lambda s, x=asks: _sums(x, lambda t: 0, lambda t: 1, 5), block=64
            )
        )  # fmt: skip
    return out

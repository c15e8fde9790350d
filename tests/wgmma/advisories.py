"""Programs for which ptxas 13.0.88 injects or serialises, with its messages: (code, line or 0, function)."""

from typing import Final

from tests.wgmma.test_remarks import COMMIT, FENCE, FROM_R, HEAD, MMA, OTHER, STORE0, TAIL, WAIT, WAIT1

_DIRECTIVES, _ENTRY = HEAD.split(".visible", 1)
PIPE: Final = [FENCE, MMA, COMMIT, WAIT]
NOUNROLL: Final = '.pragma "nounroll";'
AGAIN: Final = "add.u32 %r1,%r1,1; setp.lt.u32 %p3,%r1,100; @%p3 bra Q;"
LOAD_A: Final = "ld.global.v4.b32 {%r4,%r5,%r6,%r7},[%rd1+16];"
OTHER_B: Final = "add.s64 %rd5,%rd3,2; " + OTHER.replace("%rd3", "%rd5")

LOCAL = """.visible .func (.param .b32 r) g(.param .b32 a)
{ .reg .b32 %r<8>; .reg .pred %p; ld.param.b32 %r1,[a]; mov.u32 %r2,0; and.b32 %r3,%r1,15;
L: add.u32 %r1,%r1,7; mul.lo.u32 %r1,%r1,%r1; add.u32 %r2,%r2,1; setp.lt.u32 %p,%r2,%r3; @%p bra L;
st.param.b32 [r],%r1; ret; }
"""
RECURSIVE = """.func (.param .b32 r) g(.param .b32 a)
{ .reg .b32 %r<8>; .reg .pred %p; ld.param.b32 %r1,[a]; setp.lt.u32 %p,%r1,2; @%p bra E; sub.u32 %r1,%r1,1;
{.param .b32 q; .param .b32 z; st.param.b32 [z],%r1; call.uni (q),g,(z); ld.param.b32 %r2,[q];} add.u32 %r1,%r1,%r2;
E: st.param.b32 [r],%r1; ret; }
"""
MUTUAL = """.func (.param .b32 r) i(.param .b32 a);
.func (.param .b32 r) g(.param .b32 a)
{ .reg .b32 %r<4>; .reg .pred %p; ld.param.b32 %r1,[a]; setp.eq.u32 %p,%r1,0; @%p bra E; sub.u32 %r1,%r1,1;
{.param .b32 z; .param .b32 q; st.param.b32 [z],%r1; call.uni (q),i,(z); ld.param.b32 %r1,[q];} E: st.param.b32 [r],%r1; ret; }
.func (.param .b32 r) i(.param .b32 a)
{ .reg .b32 %r<4>; .reg .pred %p; ld.param.b32 %r1,[a]; setp.eq.u32 %p,%r1,3; @%p bra E; sub.u32 %r1,%r1,2;
{.param .b32 z; .param .b32 q; st.param.b32 [z],%r1; call.uni (q),g,(z); ld.param.b32 %r1,[q];} E: st.param.b32 [r],%r1; ret; }
"""
OUTSIDE = ".extern .func (.param .b32 r) e(.param .b32 a);\n"
PRINTS = """.extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);
"""
ASSERTS = """.extern .func __assertfail (.param .b64 a,.param .b64 b,.param .b32 c,.param .b64 d,.param .b64 e) .noreturn;
"""
THROUGH = (
    PRINTS
    + """.visible .func h(.param .b64 a) { .reg .b64 %rd<4>; .reg .b32 %r<3>; ld.param.b64 %rd2,[a];
{.param .b64 a0;.param .b64 b0;.param .b32 q; st.param.b64 [a0],%rd2; st.param.b64 [b0],0; call.uni (q),vprintf,(a0,b0); ld.param.b32 %r2,[q];}
ret; }
"""
)


def callee(*body: str) -> str:
    """A function with warpgroup operations on line 6."""
    return f""".visible .func (.param .align 16 .b8 r[16]) m(.param .align 16 .b8 a[16], .param .b64 x, .param .b64 y) {{
.reg .f32 %f<8>; .reg .b64 %rd<8>; ld.param.b64 %rd2,[x]; ld.param.b64 %rd3,[y]; ld.param.v4.f32 {{%f0,%f1,%f2,%f3}},[a];
{" ".join(body)}
st.param.v4.f32 [r],{{%f0,%f1,%f2,%f3}}; ret; }}
"""


def call(name: str) -> str:
    return f"{{.param .b32 q; .param .b32 z; st.param.b32 [z],%r1; call.uni (q),{name},(z); ld.param.b32 %r10,[q]; st.global.b32 [%rd1+300],%r10;}}"


G, E = call("g"), call("e")
INDIRECT = (
    "{.param .b32 q; .param .b32 z; st.param.b32 [z],%r1; p: .callprototype (.param .b32 _) _ (.param .b32 _);"
    " ld.global.u64 %rd7,[%rd1+800]; call (q),%rd7,(z),p; ld.param.b32 %r10,[q]; st.global.b32 [%rd1+300],%r10;}"
)
PRINT = "{.param .b64 a;.param .b64 b;.param .b32 q; st.param.b64 [a],%rd2; st.param.b64 [b],0; call.uni (q),vprintf,(a,b);}"
ASSERT = (
    "@%p2 bra NA; {.param .b64 a;.param .b64 b;.param .b32 c;.param .b64 d;.param .b64 e; st.param.b64 [a],%rd2; st.param.b64 [b],%rd2;"
    " st.param.b32 [c],%r1; st.param.b64 [d],%rd2; st.param.b64 [e],%rd2; call.uni __assertfail,(a,b,c,d,e);} NA:"
)
THROUGH_H = "{.param .b64 a; st.param.b64 [a],%rd2; call.uni h,(a);}"
CALL_M = (
    "{.param .align 16 .b8 q[16]; .param .align 16 .b8 a[16]; .param .b64 x; .param .b64 y; st.param.v4.f32 [a],{%f0,%f1,%f2,%f3};"
    " st.param.b64 [x],%rd2; st.param.b64 [y],%rd3; call.uni (q),m,(a,x,y); ld.param.v4.f32 {%f0,%f1,%f2,%f3},[q];}"
)
_ATOMS = " ".join(["atom.global.add.u32 %r11,[%rd1+904],%r10;", "atom.global.add.u32 %r10,[%rd1+908],%r11;"] * 3)
WORK = "ld.global.u32 %r10,[%rd1+900]; " + _ATOMS
"""Too long to be run under a predicate."""


def either(p: str, a: list[str], b: list[str] | None = None) -> list[str]:
    """`a` where p does not hold, else `b`."""
    return [f"@{p} bra X;", WORK, *a, "bra Y;", "X:", WORK, *(b or []), "Y:"]


Said = list[tuple[int, int, str]]
CASES: Final[dict[str, tuple[str, list[str], list[str], Said]]] = {
    # name: (functions, body, options, messages)
    "calls outside in front": (OUTSIDE, [E, *PIPE], ["-c"], [(7509, 0, "k")]),
    "calls outside after": (OUTSIDE, [*PIPE, E], ["-c"], [(7509, 0, "k")]),
    "calls outside under way": (OUTSIDE, [FENCE, MMA, COMMIT, E, WAIT], ["-c"], [(7509, 0, "k")]),
    "calls outside before the commit": (OUTSIDE, [FENCE, MMA, E, COMMIT, WAIT], ["-c"], [(7520, 0, "k")]),
    "calls outside after the fence": (OUTSIDE, [FENCE, E, MMA, COMMIT, WAIT], ["-c"], [(7520, 0, "k")]),
    "calls outside never": (OUTSIDE, ["bra X;", E, "X:", *PIPE], ["-c"], []),
    "calls in the file apart": (LOCAL, [FENCE, MMA, COMMIT, G, WAIT], ["-c"], [(7509, 0, "k")]),
    "calls in the file": (LOCAL, [FENCE, MMA, COMMIT, G, WAIT], [], []),
    "calls in the file before the commit": (LOCAL, [FENCE, MMA, G, COMMIT, WAIT], [], [(7519, 17, "k")]),
    "calls in the file after the fence": (LOCAL, [FENCE, G, MMA, COMMIT, WAIT], [], [(7519, 16, "k")]),
    "calls itself": (RECURSIVE, [FENCE, MMA, COMMIT, G, WAIT], [], [(7509, 0, "g")]),
    "calls its caller": (MUTUAL, [G, *PIPE], [], [(7509, 0, "i")]),
    "calls itself, prints": (PRINTS + RECURSIVE, [PRINT, G, *PIPE], [], [(7509, 0, "g")]),
    "by address apart": (OUTSIDE, [INDIRECT, E, *PIPE], ["-c"], [(7510, 0, "k")]),
    "by address second": (OUTSIDE, [E, INDIRECT, *PIPE], ["-c"], [(7509, 0, "k")]),
    "by address": ("", [FENCE, MMA, COMMIT, INDIRECT, WAIT], [], [(7510, 0, "k")]),
    "prints": (PRINTS, [FENCE, MMA, COMMIT, PRINT, WAIT], [], [(7510, 0, "k")]),
    "prints, -c": (PRINTS, [PRINT, *PIPE], ["-c"], [(7509, 0, "k")]),
    "prints, -O0": (
        PRINTS,
        [PRINT, *PIPE],
        ["-O0"],
        [(7519, 13, "k"), (7519, 14, "k"), (7517, 13, "k"), (7510, 0, "k")],
    ),
    "asserts": (ASSERTS, [FENCE, MMA, COMMIT, ASSERT, WAIT], [], [(7510, 0, "k")]),
    "asserts in front": (ASSERTS, [ASSERT, *PIPE], [], [(7510, 0, "k")]),
    "callee prints": (THROUGH, [THROUGH_H, *PIPE], [], [(7510, 0, "h")]),
    "callee multiplies": (callee(*PIPE), [CALL_M], [], [(7510, 0, "k")]),
    "callee multiplies apart": (callee(*PIPE), [CALL_M], ["-c"], []),
    "callee does not wait": (callee(FENCE, MMA, COMMIT), [CALL_M], [], [(7517, 7, "m"), (7510, 0, "k")]),
    "callee does not fence": (
        callee(MMA),
        [FENCE, OTHER, CALL_M, COMMIT, WAIT],
        [],
        [(7519, 6, "m"), (7519, 17, "k"), (7517, 7, "m"), (7510, 0, "k")],
    ),
    "callee waits": (callee(WAIT), [FENCE, OTHER, COMMIT, CALL_M, WAIT], [], []),
    "part does not wait": ("", either("%p1", [FENCE, MMA, COMMIT]), [], [(7518, 0, "k")]),
    "part waits": ("", [FENCE, MMA, COMMIT, *either("%p1", [WAIT])], [], [(7518, 0, "k")]),
    "part reads": ("", [FENCE, MMA, COMMIT, "@%p1 bra X;", WORK, STORE0, "X:", WAIT], [], [(7518, 0, "k")]),
    "part does not wait, prints": (PRINTS, [PRINT, *either("%p1", [FENCE, MMA, COMMIT])], [], [(7510, 0, "k")]),
    "no fence, part does not wait": (
        "",
        [MMA, COMMIT, WAIT, *either("%p1", [FENCE, OTHER, COMMIT])],
        [],
        [(7519, 10, "k"), (7518, 0, "k")],
    ),
    "part does not fence": (
        "",
        [FENCE, MMA, COMMIT, STORE0, *either("%p1", [OTHER, COMMIT, WAIT])],
        [],
        [(7517, 13, "k"), (7520, 0, "k")],
    ),
    "part fences": ("", [*either("%p1", [FENCE]), MMA, COMMIT, WAIT], [], [(7520, 0, "k")]),
    "part exits": ("", [FENCE, MMA, *either("%p1", ["exit;"]), OTHER, COMMIT, WAIT], [], [(7520, 0, "k")]),
    "next A": ("", ["Q:", NOUNROLL, FENCE, FROM_R, COMMIT, WAIT1, LOAD_A, AGAIN, WAIT], [], [(7513, 0, "k")]),
    "next A, no wait": ("", ["Q:", NOUNROLL, FENCE, FROM_R, COMMIT, LOAD_A, AGAIN, WAIT], [], [(7513, 0, "k")]),
    "A changes": (
        "",
        ["Q:", NOUNROLL, FENCE, FROM_R, COMMIT, WAIT1, "add.u32 %r4,%r4,%r1;", AGAIN, WAIT],
        [],
        [(7513, 0, "k")],
    ),
    "result is A": ("", [FENCE, MMA, COMMIT, "mov.b32 %r4,%f0;", FROM_R, COMMIT, WAIT], [], [(7513, 0, "k")]),
    "guarded wait": ("", [FENCE, MMA, COMMIT, "@%p2 " + WAIT], [], [(7517, 16, "k"), (7514, 0, "k")]),
    "guarded fence": ("", ["@%p2 " + FENCE, MMA, COMMIT, WAIT], [], [(7519, 11, "k")]),
    "second group changes": (
        "",
        [FENCE, MMA, COMMIT, FENCE, OTHER_B, COMMIT, WAIT1, "add.f32 %f4,%f5,%f4;", OTHER, COMMIT, WAIT],
        [],
        [(7519, 18, "k"), (7514, 0, "k")],
    ),
    "second group read on a path": (
        "",
        [FENCE, MMA, COMMIT, OTHER_B, COMMIT, *either("%p2", [WAIT1]), "st.global.f32 [%rd1+64],%f4;", WAIT],
        [],
        [(7514, 0, "k")],
    ),
    "some wait": ("", [FENCE, MMA, COMMIT, *either("%p2", [WAIT])], [], [(7517, 22, "k"), (7514, 0, "k")]),
    "plain, -O0": ("", PIPE, ["-O0"], [(7519, 11, "k"), (7519, 12, "k"), (7517, 11, "k"), (7511, 0, "k")]),
    "empty group, -O0": ("", [FENCE, COMMIT, WAIT], ["-O0"], [(7519, 11, "k")]),
    "empty group, no wait": ("", [COMMIT], [], [(7519, 10, "k"), (7517, 13, "k")]),
}


def program(name: str) -> str:
    functions, body, _, _ = CASES[name]
    return _DIRECTIVES + functions + ".visible" + _ENTRY + "\n".join(body) + TAIL

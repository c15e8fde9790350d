"""Pairs of modules for mixed links: a kernel `k(u32 *out)` that writes two words a thread, and what it calls."""

_CALL = "{{ .param .b32 x; .param .b32 y; st.param.b32 [x], {x}; call.uni (y), {f}, (x); ld.param.b32 {y}, [y]; }}"
_POINTER = """{{ .param .b32 x; .param .b32 y; st.param.b32 [x], {x};
  P{n}: .callprototype (.param .b32 _) _ (.param .b32 _);
  call (y), {f}, (x), P{n}; ld.param.b32 {y}, [y]; }}"""
_DECLARE = ".extern .func (.param .b32 r) {}(.param .b32 a);\n"
_START = "  .reg .b32 %r<20>; .reg .b64 %rd<10>; .reg .pred %p<4>; .reg .f64 %d<4>;\n"


def _call(f: str, x: str, y: str) -> str:
    return "  " + _CALL.format(f=f, x=x, y=y) + "\n"


def _through(f: str, x: str, y: str, n: int = 0) -> str:
    return "  " + _POINTER.format(f=f, x=x, y=y, n=n) + "\n"


def _function(name: str, body: str, linkage: str = ".visible", before: str = "") -> str:
    """A function from %r1 to %r2."""
    return (
        f"{linkage} .func (.param .b32 r) {name}(.param .b32 a) {{\n{before}{_START}  ld.param.b32 %r1, [a];\n{body}"
        "  st.param.b32 [r], %r2;\n  ret;\n}\n"
    )


def _kernel(body: str) -> str:
    """A kernel that writes %r2 and %r3; %r1 is the thread."""
    return (
        f".visible .entry k(.param .u64 p) {{\n{_START}  ld.param.u64 %rd1, [p];\n  mov.u32 %r1, %tid.x;\n"
        f"  mul.wide.u32 %rd2, %r1, 8;\n  add.u64 %rd1, %rd1, %rd2;\n  mov.u32 %r2, 0;\n  mov.u32 %r3, 0;\n{body}"
        "  st.global.u32 [%rd1], %r2;\n  st.global.u32 [%rd1+4], %r3;\n  ret;\n}\n"
    )


_SQUARE = _function("square", "  mul.lo.u32 %r2, %r1, %r1;\n")
_TWICE = _function("twice", "  add.u32 %r2, %r1, %r1;\n")
_RECURSION = "  mov.u32 %r2, 1;\n  setp.lt.u32 %p1, %r1, 2;\n  @%p1 bra E;\n  sub.u32 %r3, %r1, 1;\n{}  mad.lo.u32 %r2, %r4, 3, %r1;\nE:\n"
_DOWN = "  mov.u32 %r2, %r1;\n  setp.eq.u32 %p1, %r1, 0;\n  @%p1 bra E;\n  sub.u32 %r3, %r1, 1;\n{}  add.u32 %r2, %r4, {};\nE:\n"
_PICK = """  and.b32 %r4, %r1, 1;
  mul.wide.u32 %rd3, %r4, 8;
  mov.u64 %rd4, table;
  add.u64 %rd4, %rd4, %rd3;
  ld.global.u64 %rd5, [%rd4];
"""
_STRUCTURE = """.visible .func (.param .align 8 .b8 r[16]) turn(.param .align 8 .b8 a[16], .param .b32 n) {
  .reg .b32 %r<4>; .reg .b64 %rd<4>;
  ld.param.b64 %rd1, [a]; ld.param.b64 %rd2, [a+8]; ld.param.b32 %r1, [n];
  cvt.u64.u32 %rd3, %r1; add.u64 %rd1, %rd1, %rd3; st.param.b64 [r], %rd2; st.param.b64 [r+8], %rd1; ret;
}
"""
_TURN = """  cvt.u64.u32 %rd3, %r1; mov.u64 %rd4, 17;
  { .param .align 8 .b8 x[16]; .param .b32 n; .param .align 8 .b8 y[16];
    st.param.b64 [x], %rd3; st.param.b64 [x+8], %rd4; st.param.b32 [n], %r1;
    call.uni (y), turn, (x, n); ld.param.b64 %rd5, [y]; ld.param.b64 %rd6, [y+8]; }
  cvt.u32.u64 %r2, %rd5; cvt.u32.u64 %r3, %rd6;
"""
_BRANCHES = """  and.b32 %r3, %r1, 3;
  T: .branchtargets A, B, C, D;
  brx.idx %r3, T;
A: mov.u32 %r2, 11; bra E;
B: mul.lo.u32 %r2, %r1, 5; bra E;
C: xor.b32 %r2, %r1, 255; bra E;
D: add.u32 %r2, %r1, 40;
E:
"""
_SHORT = """  and.b32 %r5, %r1, 1;
  U: .branchtargets O, Z, O;
  brx.idx %r5, U;
O: mad.lo.u32 %r2, %r1, 7, 3; bra X;
Z: sub.u32 %r2, 900, %r1;
X:
"""
_SCALED = "  cvt.rn.f64.u32 %d1, %r2;\n  fma.rn.f64 %d1, %d1, 0d3FF199999999999A, 0d400921FB54442D18;\n  cvt.rzi.u32.f64 %r2, %d1;\n"

CASES: dict[str, tuple[str, str]] = {
    "symbol": (_DECLARE.format("square") + _kernel(_call("square", "%r1", "%r2")), _SQUARE),
    "two calls": (
        _DECLARE.format("square") + _DECLARE.format("twice")
        + _kernel(_call("square", "%r1", "%r2") + _call("twice", "%r2", "%r3")),
        _SQUARE + _TWICE,
    ),
    "structure": (_STRUCTURE.split("{")[0].replace(".visible", ".extern") + ";\n" + _kernel(_TURN), _STRUCTURE),
    "recursion": (
        _DECLARE.format("f") + _kernel(_call("f", "%r1", "%r2")),
        _function("f", _RECURSION.format(_call("f", "%r3", "%r4"))),
    ),
    "recursion across objects": (
        _DECLARE.format("even") + _function("odd", _DOWN.format(_call("even", "%r3", "%r4"), 1))
        + _kernel(_call("odd", "%r1", "%r2") + _call("even", "%r1", "%r3")),
        _DECLARE.format("odd") + _function("even", _DOWN.format(_call("odd", "%r3", "%r4"), 100)),
    ),
    "pointer in a table": (
        ".extern .global .align 8 .u64 table[2];\n" + _kernel(_PICK + _through("%rd5", "%r1", "%r2")),
        _SQUARE + _TWICE + ".visible .global .align 8 .u64 table[2] = {square, twice};\n",
    ),
    "pointer to a function elsewhere": (
        _DECLARE.format("square") + _TWICE + ".visible .global .align 8 .u64 table[2] = {square, twice};\n"
        + _kernel(_PICK + _through("%rd5", "%r1", "%r2")),
        _SQUARE,
    ),
    "pointer as an argument": (
        ".extern .func (.param .b32 r) apply(.param .b64 f, .param .b32 a);\n" + _SQUARE
        + _kernel("""  mov.u64 %rd3, square;
  { .param .b64 f; .param .b32 x; .param .b32 y; st.param.b64 [f], %rd3; st.param.b32 [x], %r1;
    call.uni (y), apply, (f, x); ld.param.b32 %r2, [y]; }
"""),
        ".visible .func (.param .b32 r) apply(.param .b64 f, .param .b32 a) {\n" + _START
        + "  ld.param.b64 %rd1, [f]; ld.param.b32 %r1, [a];\n" + _through("%rd1", "%r1", "%r2")
        + _through("%rd1", "%r2", "%r3", 1) + "  st.param.b32 [r], %r3;\n  ret;\n}\n",
    ),
    "recursion through a pointer": (
        ".extern .global .align 8 .u64 table[2];\n" + _DECLARE.format("f") + _kernel(_call("f", "%r1", "%r2")),
        _DECLARE.format("f").replace(".extern", ".visible") + ".visible .global .align 8 .u64 table[2] = {f, f};\n"
        + _function("f", _RECURSION.format(_PICK.replace("%r4", "%r6") + _through("%rd5", "%r3", "%r4"))),
    ),
    "variables": (
        ".extern .global .align 4 .u32 counter;\n.extern .const .align 4 .u32 factor;\n" + _DECLARE.format("f")
        + _kernel("  ld.global.u32 %r4, [counter];\n  ld.const.u32 %r5, [factor];\n  mad.lo.u32 %r3, %r1, %r5, %r4;\n" + _call("f", "%r1", "%r2")),
        ".visible .global .align 4 .u32 counter = 5;\n.visible .const .align 4 .u32 factor = 7;\n.const .align 4 .u32 other[3] = {1, 2, 3};\n"
        + _function("f", "  ld.const.u32 %r3, [other+8];\n  mul.lo.u32 %r2, %r1, %r3;\n"),
    ),
    "equal local names": (
        ".global .align 4 .u32 here = 3;\n" + _DECLARE.format("f")
        + _kernel("  .shared .align 4 .b32 s[32];\n  mov.u32 %r4, s;\n  shl.b32 %r5, %r1, 2;\n  add.u32 %r4, %r4, %r5;\n  st.shared.u32 [%r4], %r1;\n"
                  "  bar.sync 0;\n" + _call("f", "%r1", "%r2") + "  bar.sync 0;\n  ld.shared.u32 %r3, [%r4];\n  ld.global.u32 %r6, [here];\n  add.u32 %r3, %r3, %r6;\n"),
        ".global .align 4 .u32 here = 40;\n"
        + _function("f", "  mov.u32 %r4, s;\n  shl.b32 %r5, %r1, 2;\n  add.u32 %r4, %r4, %r5;\n  st.shared.u32 [%r4], 9;\n  bar.sync 0;\n"
                    "  ld.shared.u32 %r2, [%r4];\n  ld.global.u32 %r6, [here];\n  add.u32 %r2, %r2, %r6;\n", before="  .shared .align 4 .b32 s[64];\n"),
    ),
    "weak functions": (
        _function("f", "  add.u32 %r2, %r1, 1;\n", ".weak") + _DECLARE.format("g")
        + _kernel(_call("f", "%r1", "%r2") + _call("g", "%r1", "%r3")),
        _function("f", "  add.u32 %r2, %r1, 1;\n", ".weak") + _function("g", _call("f", "%r1", "%r2") + "  shl.b32 %r2, %r2, 4;\n"),
    ),
    "common variables": (
        ".common .global .align 4 .u32 both[32];\n" + _DECLARE.format("f")
        + _kernel("  mov.u64 %rd3, both;\n  mul.wide.u32 %rd4, %r1, 4;\n  add.u64 %rd3, %rd3, %rd4;\n  st.global.u32 [%rd3], %r1;\n"
                  + _call("f", "%r1", "%r2") + "  ld.global.u32 %r3, [%rd3];\n"),
        ".common .global .align 8 .u32 both[64];\n"
        + _function("f", "  mov.u64 %rd3, both;\n  mul.wide.u32 %rd4, %r1, 4;\n  add.u64 %rd3, %rd3, %rd4;\n  ld.global.u32 %r3, [%rd3];\n"
                    "  add.u32 %r2, %r3, 100;\n  st.global.u32 [%rd3], %r2;\n"),
    ),
    "alias": (
        _DECLARE.format("other") + _kernel(_call("other", "%r1", "%r2")),
        _SQUARE + ".visible .func (.param .b32 r) other(.param .b32 a);\n.alias other, square;\n",
    ),
    "branch table": (_DECLARE.format("f") + _kernel(_call("f", "%r1", "%r2")), _function("f", _BRANCHES)),
    "branch table at a known index": (
        _DECLARE.format("f") + _kernel(_call("f", "%r1", "%r2") + _BRANCHES.replace("%r2", "%r4") + "  add.u32 %r3, %r4, %r1;\n"),
        _function("f", "  mov.u32 %r4, 6;\n" + _SHORT.replace("and.b32 %r5, %r1, 1", "and.b32 %r5, %r4, 1")),
    ),
    "branch tables and constants": (
        _DECLARE.format("f") + _DECLARE.format("g")
        + _kernel(_call("f", "%r1", "%r2") + "  mov.u32 %r9, %r2;\n" + _call("g", "%r9", "%r8") + _BRANCHES + _SCALED
                  + "  mad.lo.u32 %r3, %r8, 1000, %r9;\n"),
        _function("f", _SHORT + _SCALED) + _function("g", _BRANCHES + "  add.u32 %r1, %r2, 1;\n" + _SHORT + _SCALED),
    ),
    "division": (
        _DECLARE.format("f") + _kernel(_call("f", "%r1", "%r2") + "  add.u32 %r4, %r1, 3;\n  cvt.u64.u32 %rd3, %r4;\n"
                                       "  cvt.u64.u32 %rd4, %r2;\n  div.u64 %rd5, %rd4, %rd3;\n  cvt.u32.u64 %r3, %rd5;\n"),
        _function("f", "  add.u32 %r3, %r1, 7;\n  cvt.rn.f64.u32 %d1, %r3;\n  cvt.rn.f64.u32 %d2, %r1;\n  div.rn.f64 %d3, %d2, %d1;\n"
                  "  mul.f64 %d3, %d3, 0d40C3880000000000;\n  cvt.rzi.u32.f64 %r2, %d3;\n"),
    ),
    "frames": (
        _DECLARE.format("f") + _kernel("  .local .align 8 .b8 own[64];\n  mov.u64 %rd3, own;\n  st.local.u32 [%rd3+8], %r1;\n  st.local.u32 [%rd3+60], 77;\n"
                                       + _call("f", "%r1", "%r2") + "  ld.local.u32 %r4, [%rd3+8];\n  ld.local.u32 %r3, [%rd3+60];\n  add.u32 %r3, %r3, %r4;\n"),
        _function("f", "  mov.u64 %rd3, area;\n  mul.wide.u32 %rd4, %r1, 4;\n  add.u64 %rd4, %rd3, %rd4;\n  st.local.u32 [%rd3+124], 5;\n  st.local.u32 [%rd4], %r1;\n"
                  "  ld.local.u32 %r2, [%rd3+124];\n  ld.local.u32 %r3, [%rd4];\n  add.u32 %r2, %r2, %r3;\n", before="  .local .align 16 .b8 area[128];\n"),
    ),
    "dynamic shared memory": (
        ".extern .shared .align 16 .b8 dyn[];\n" + _DECLARE.format("f")
        + _kernel("  mov.u32 %r4, dyn;\n  shl.b32 %r5, %r1, 2;\n  add.u32 %r4, %r4, %r5;\n  st.shared.u32 [%r4], %r1;\n  bar.sync 0;\n" + _call("f", "%r1", "%r2")),
        ".extern .shared .align 16 .b8 dyn[];\n.shared .align 4 .u32 fixed[32];\n"
        + _function("f", "  mov.u32 %r4, dyn;\n  xor.b32 %r5, %r1, 1;\n  shl.b32 %r5, %r5, 2;\n  add.u32 %r6, %r4, %r5;\n  ld.shared.u32 %r2, [%r6];\n"
                    "  mov.u32 %r7, fixed;\n  add.u32 %r7, %r7, %r5;\n  st.shared.u32 [%r7], %r1;\n  ld.shared.u32 %r8, [%r7];\n  mad.lo.u32 %r2, %r2, 64, %r8;\n"),
    ),
    "size of the constant bank": (
        ".visible .const .align 4 .u32 table[3] = {7, 8, 9};\n.visible .global .align 4 .u32 after[3] = {7, 8, 9};\n" + _DECLARE.format("f")
        + _kernel(_call("f", "%r1", "%r2")),
        ".extern .const .align 4 .u32 table[3];\n.extern .global .align 4 .u32 after[3];\n"
        + _function("f", "  mov.u64 %rd3, table;\n  cvta.const.u64 %rd3, %rd3;\n  mov.u64 %rd4, after;\n  cvta.global.u64 %rd4, %rd4;\n"
                    "  and.b32 %r3, %r1, 1;\n  setp.eq.u32 %p1, %r3, 0;\n  selp.b64 %rd3, %rd3, %rd4, %p1;\n"
                    "  isspacep.const %p2, %rd3;\n  isspacep.global %p3, %rd3;\n  selp.u32 %r3, 1, 0, %p2;\n  selp.u32 %r4, 2, 4, %p3;\n  add.u32 %r2, %r3, %r4;\n"),
    ),
}  # fmt: skip
"""Name -> (the kernel's module, the other module), without headers."""

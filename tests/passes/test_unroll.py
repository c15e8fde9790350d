"""Loops of a known number of turns: written out, and the same results."""

import pytest

import orias

np = pytest.importorskip("numpy")
sim = pytest.importorskip("orias.sim")

MASK = 0xFFFFFFFF


def kernel(body: str) -> str:
    return f""".version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out) {{
.reg .b32 %r<16>; .reg .b64 %d<8>; .reg .pred %p<4>;
ld.param.u64 %d1, [in]; ld.param.u64 %d2, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 64; add.u64 %d1, %d1, %d3; add.u64 %d2, %d2, %d3;
ld.global.u32 %r2, [%d1];
{body}
ret; }}
"""


def chain(x: int, counter: list[int]) -> int:
    for c in counter:
        x = (x * 31 + c) & MASK
    return x


STEP = "mad.lo.u32 %r2, %r2, 31, %r3;"
LOOPS = {
    "up": ("mov.u32 %r3, 0;", STEP, "add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 7;", "@%p1", list(range(7))),
    "down": ("mov.u32 %r3, 9;", STEP, "sub.u32 %r3, %r3, 3; setp.ge.s32 %p1, %r3, 0;", "@%p1", [9, 6, 3, 0]),
    "inverted": ("mov.u32 %r3, -4;", STEP, "add.s32 %r3, %r3, 2; setp.gt.s32 %p1, %r3, 3;", "@!%p1", [-4, -2, 0, 2]),
    "once": ("mov.u32 %r3, 5;", STEP, "add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 3;", "@%p1", [5]),
    "wraps": ("mov.u32 %r3, 0xfffffffd;", STEP, "add.u32 %r3, %r3, 1; setp.ne.u32 %p1, %r3, 2;", "@%p1", [-3, -2, -1, 0, 1]),
    "wide": (
        "mov.u64 %d4, 0x1fffffffe;", "cvt.u32.u64 %r3, %d4;" + STEP, "add.u64 %d4, %d4, 1; setp.lt.u64 %p1, %d4, 0x200000002;",
        "@%p1", [-2, -1, 0, 1],
    ),
    "tested before": (
        "mov.u32 %r3, 2;", STEP, "setp.ne.u32 %p1, %r3, 10; add.u32 %r3, %r3, 4;", "@%p1", [2, 6, 10],
    ),
}  # fmt: skip
"""First value, body, step and test, guard of the branch back, values of the counter."""


@pytest.mark.parametrize("name", LOOPS)
def test_known_turns(name: str) -> None:
    start, body, test, guard, counter = LOOPS[name]
    text = kernel(f"{start}\nL: {body} {test}\n{guard} bra L; st.global.u32 [%d2], %r2; st.global.u32 [%d2+4], %r3;")
    inputs = np.zeros((8, 16), np.uint32)
    inputs[:, 0] = [0, 1, 7, 0xFFFFFFFF, 0x80000000, 12345, 0xDEADBEEF, 3]
    code = orias.compile(text, arch="sm_80")
    assert code.disassemble().count(" BRA ") == 1, "only the trap after the code may jump"
    for level in (1, 3):
        out = np.zeros((8, 16), np.uint32)
        sim.load(orias.compile(text, arch="sm_80", opt_level=level).data).launch("k", 1, 8, [inputs, out])
        assert out[:, 0].tolist() == [chain(int(x), counter) for x in inputs[:, 0]], level


def test_exchange_and_what_stays() -> None:
    """Phis that trade places, in loops of known and unknown length; a large loop and one with ``.pragma "nounroll"`` stay."""
    fibonacci = (
        "mov.u32 %r3, 0; mov.u32 %r4, 1; mov.u32 %r5, 0;\nL: mov.u32 %r6, %r4; add.u32 %r4, %r4, %r3; mov.u32 %r3, %r6;"
    )
    fibonacci += (
        " add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, {};\n@%p1 bra L; add.u32 %r4, %r4, %r2; st.global.u32 [%d2], %r4;"
    )
    nested = "mov.u32 %r3, 0;\nM: mov.u32 %r4, 0;\nL: mad.lo.u32 %r2, %r2, 5, %r3; xor.b32 %r2, %r2, %r4; add.u32 %r4, %r4, 1;"
    nested += " setp.ne.u32 %p1, %r4, 3; @%p1 bra L; add.u32 %r3, %r3, 1; setp.ne.u32 %p2, %r3, 4; @%p2 bra M; st.global.u32 [%d2], %r2;"

    def run(body: str, value: int) -> tuple[int, int]:
        cubin = orias.compile(kernel(body), arch="sm_90")
        out = np.zeros(16, np.uint32)
        sim.load(cubin.data).launch("k", 1, 1, [np.full(16, value, np.uint32), out])
        return int(out[0]), cubin.disassemble().count(" BRA ")

    assert run(fibonacci.format(10), 5) == (89 + 5, 1)
    for count, number in ((1, 1), (3, 3), (4, 5), (5, 8), (8, 34), (10, 89)):
        assert run(fibonacci.format("%r2"), count)[0] == number + count
    assert run(fibonacci.format(10).replace("L:", 'L: .pragma "nounroll";'), 5) == (89 + 5, 2)
    want = 9
    for i in range(4):
        for j in range(3):
            want = (want * 5 + i & MASK) ^ j
    assert run(nested, 9) == (want, 1)
    large = (
        "mov.u32 %r3, 0;\nL: "
        + "mad.lo.u32 %r2, %r2, 5, %r3;" * 12
        + " add.u32 %r3, %r3, 1; setp.ne.u32 %p1, %r3, 64;\n@%p1 bra L;"
    )
    assert run(large + "st.global.u32 [%d2], %r2;", 1)[1] == 2


@pytest.mark.parametrize(("store", "loads"), [("", 2 + 2 + 1), ("st.shared.u32 [s], %r2;", 2 + 1)])
def test_long_iterations_with_loads(store: str, loads: int) -> None:
    """Where four iterations are too long two run between the tests of the loop, if they load and their loads can come together."""
    factors = range(3, 63, 2)
    long = "".join(f"mad.lo.u32 %r2, %r2, {f}, %r6; xor.b32 %r2, %r2, {f};" for f in factors)
    text = kernel(
        f".shared .b32 s; ld.global.u32 %r5, [%d1+60]; mov.u32 %r3, 0;\nL: ld.global.u32 %r6, [%d1+4]; {long} {store}"
        " add.u64 %d1, %d1, 4; add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, %r5;\n@%p1 bra L; st.global.u32 [%d2], %r2;"
    )
    code = orias.compile(text, arch="sm_80")
    assert code.disassemble().count("LDG.E") == loads
    inputs = np.arange(128, dtype=np.uint32).reshape(8, 16) * 77
    for turns in (1, 2, 5, 6):
        inputs[:, 15] = turns
        out = np.zeros((8, 16), np.uint32)
        sim.load(code.data).launch("k", 1, 8, [inputs, out])
        for row, got in zip(inputs.tolist(), out[:, 0].tolist(), strict=True):
            x = row[0]
            for word in row[1 : turns + 1]:
                for f in factors:
                    x = (x * f + word & MASK) ^ f
            assert got == x

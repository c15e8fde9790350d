"""Whole programs (compiled from CUDA C++ by nvcc, then by ptxas for each target and two levels) against results from numpy."""

import re
from typing import Any

import numpy as np
import pytest

from orias import sim
from tests.sim.build import TARGETS, assemble, program

Array = np.ndarray[Any, np.dtype[Any]]

EACH = pytest.mark.parametrize(
    ("target", "level"),
    [(t, "-O3") for t in TARGETS]
    + [pytest.param(t, "-O0", marks=[] if t in ("sm_75", "sm_90") else pytest.mark.sweep) for t in TARGETS],
)


def image(name: str, target: str, level: str) -> sim.Image:
    return sim.load(assemble(program(name), target, level))


def random_ints(low: int, high: int, n: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).integers(low, high, n).astype(np.int32)


def zeros(n: int, dtype: str = "i4") -> Array:
    return np.zeros(n, dtype)


@pytest.mark.in_turn(4)
@EACH
def test_recursion(target: str, level: str) -> None:
    o = zeros(64)
    image("control", target, level).launch("recursion", 1, 64, [o])
    assert o.tolist() == [[0, 1, 1, 2, 3, 5, 8, 13, 21, 34][t % 10] for t in range(64)]


@pytest.mark.in_turn(4)
@EACH
def test_function_pointers(target: str, level: str) -> None:
    o = zeros(64)
    image("control", target, level).launch("pointers", 1, 64, [o])
    assert o.tolist() == [(t + 1, t * 3, t ^ 5)[t % 3] for t in range(64)]


@EACH
def test_switch(target: str, level: str) -> None:
    a, o = random_ints(-2, 10, 64), zeros(64)
    image("control", target, level).launch("switches", 1, 64, [o, a])

    def f(t: int, v: int) -> int:
        return {0: 5, 1: t * t, 2: t ^ 77, 3: t // 7, 4: t % 9 + 3, 5: -t, 6: t << 3, 7: t.bit_count()}.get(v, -1)

    assert o.tolist() == [f(t, v) for t, v in enumerate(a.tolist())]


@EACH
def test_divergent_loops(target: str, level: str) -> None:
    o = zeros(300)
    result = image("control", target, level).launch("collatz", 3, 128, [o, 300])

    def steps(v: int) -> int:
        n = 0
        while v != 1:
            v = 3 * v + 1 if v & 1 else v >> 1
            n += 1
            if n > 200:
                break
        return n

    assert o.tolist() == [steps(i + 1) for i in range(300)]
    assert result.instructions > result.steps > 0


@pytest.mark.in_turn(4)
@EACH
def test_threads_leave_barriers_of_a_function(target: str, level: str) -> None:
    """BREAK in a function says nothing of the barrier that its caller has in the same register: the warp is whole after the loop."""
    o = zeros(64)
    image("break_in_function", target, level).launch("k", 1, 32, [o])

    def turns(count: int) -> int:
        """One for each turn of a loop in two others, which ends them all after the tenth."""
        n = 0
        for _ in range(3):
            for _ in range(count):
                n += count
                if n > 9:
                    return n
        return n

    assert o.tolist()[:32] == [sum(turns(r) for r in range(t & 3, (t & 3) + 3) if r & 1) for t in range(32)]
    assert o.tolist()[32:] == [-1] * 32


@pytest.mark.in_turn(2)
@EACH
def test_local_arrays(target: str, level: str) -> None:
    a, o = random_ints(0, 100, 16), zeros(64)
    image("control", target, level).launch("locals", 1, 64, [o, a])

    def f(t: int) -> int:
        b = [0] * 16
        for i in range(16):
            b[int(a[i]) + t & 15] += i * t
        s = 0
        for i in range(16):
            s = s * 3 + b[(int(a[i]) ^ t) & 15] & 0xFFFFFFFF
        return s

    assert o.view(np.uint32).tolist() == [f(t) for t in range(64)]


@EACH
def test_generic_addresses(target: str, level: str) -> None:
    o = np.arange(128).astype(np.int32)
    image("control", target, level).launch("generic", 1, 64, [o, 5])
    want = list(range(128))
    for t in range(64):
        want[64 + t] = 2 * t + (5 if t & 3 else 0)
        if not t & 3:
            want[t] += 5
    assert o.tolist() == want


@EACH
def test_printf(target: str, level: str) -> None:
    out = image("control", target, level).launch("print", 1, 2, [7]).output
    line = "{} text {} 123456789012 c 0x10  3.14|7       |00000007|+7|5.000000e-01%\n"
    assert out == line.format(0, "0.000000") + line.format(1, "1.500000")


@EACH
def test_assert(target: str, level: str) -> None:
    im = image("control", target, level)
    im.launch("asserts", 1, 3, [3])
    with pytest.raises(sim.AssertionFailed, match="n == 3") as e:
        im.launch("asserts", 1, 3, [4])
    assert e.value.kernel == "asserts" and e.value.thread == (0, 0, 0) and "CALL" in e.value.text


@EACH
def test_heap(target: str, level: str) -> None:
    o = zeros(64)
    image("control", target, level).launch("heap", 1, 64, [o])
    assert o.tolist() == [3 * t for t in range(64)]


@EACH
def test_module_variables(target: str, level: str) -> None:
    im = image("control", target, level)
    for count in (5, 6):
        o = zeros(8)
        im.launch("variables", 1, 8, [o])
        assert o.tolist() == [10 * (t % 4 + 1) + count for t in range(8)]
    assert im.globals["counter"].view(np.int32)[0] == 7
    im.globals["counter"] = np.int32(100).reshape(1)
    o = zeros(4)
    im.launch("variables", 1, 4, [o])
    assert o.tolist() == [110, 120, 130, 140]


@EACH
def test_parameters(target: str, level: str) -> None:
    o = zeros(2, "f8")
    packed = np.array([(-3, 1.5)], np.dtype([("a", "i2"), ("b", "f8")], align=True)).tobytes()
    image("control", target, level).launch("structs", 1, 2, [o, packed, 200])
    assert o.tolist() == [195.5, 195.5]


@pytest.mark.in_turn(4)
@EACH
def test_reduction(target: str, level: str) -> None:
    a, o = np.arange(5000).astype(np.float32) / 8, zeros(1, "f4")
    image("cooperation", target, level).launch("reduce", 1, 256, [o, a, 5000])
    assert o[0] == a.sum(dtype=np.float64)


@EACH
def test_scan(target: str, level: str) -> None:
    a, o = random_ints(-100, 100, 768), zeros(768)
    image("cooperation", target, level).launch("scan", 3, 256, [o, a])
    assert o.tolist() == np.cumsum(a.reshape(3, 256), axis=1).reshape(-1).tolist()


@EACH
def test_votes(target: str, level: str) -> None:
    a, o = random_ints(0, 10, 64), zeros(64, "u4")
    image("cooperation", target, level).launch("votes", 1, 64, [o, a])
    for w in range(2):
        v = a[32 * w : 32 * w + 32].tolist()
        ballot = sum(1 << i for i in range(32) if v[i] > 3)
        odd = sum(1 << i for i in range(32) if v[i] & 1)
        for i in range(32):
            want = ballot
            if v[i] & 1:
                same = sum(1 << j for j in range(32) if v[j] == v[i])
                want += odd.bit_count() + 100 * (7 in v) + 1000 + same
            assert o[32 * w + i] == want & 0xFFFFFFFF


@EACH
def test_parts_of_a_warp(target: str, level: str) -> None:
    a, o = random_ints(0, 10, 64), zeros(64, "u4")
    image("cooperation", target, level).launch("parts", 1, 64, [o, a])
    for w in range(2):
        v = a[32 * w : 32 * w + 32].tolist()
        for i in range(32):
            mine = range(12) if i < 12 else range(12, 32)
            want = sum(1 << j for j in mine if v[j] > 3) + (2 * v[3] if i < 12 else v[20])
            assert o[32 * w + i] == want & 0xFFFFFFFF


@EACH
def test_named_barriers(target: str, level: str) -> None:
    a, o = random_ints(0, 10, 96), zeros(96)
    image("cooperation", target, level).launch("barriers", 1, 96, [o, a])
    first = int((a > 3).sum()) * 100 + 2
    assert o.tolist() == [first] * 32 + [t * 30 + 3 for t in range(32)] + [first] * 32


@pytest.mark.in_turn(2)
@EACH
def test_spin_lock(target: str, level: str) -> None:
    o = zeros(1)
    image("cooperation", target, level).launch("spin", 2, 48, [o])
    assert o[0] == 96


@pytest.mark.in_turn(4)
@EACH
def test_threads_of_a_warp_wait_for_each_other(target: str, level: str) -> None:
    turn, o = zeros(1), zeros(40)
    image("cooperation", target, level).launch("chain", 1, 40, [turn, o])
    assert o.tolist() == [t * t for t in range(40)] and turn[0] == 40


@pytest.mark.in_turn(4)
@EACH
def test_atomics(target: str, level: str) -> None:
    n = 96
    u, i, f, d = zeros(16 + n, "u4"), zeros(16), zeros(2, "f4"), zeros(1, "f8")
    long, h = np.arange(2 + n).astype(np.uint64), zeros(2, "f2")
    u[6] = 0xFFFFFFFF
    i[0] = 50
    long[:2] = 0
    image("cooperation", target, level).launch("atomics", 1, n, [u, i, f, d, long, h])
    t = np.arange(n)
    assert u[:3].tolist() == [int(t[k::3].sum()) for k in range(3)]
    assert u[3] == n and sorted(u[16:].tolist()) == list(range(n))
    assert u[4] == n % 10 and u[5] == (-n) % 7 and u[6] == 0 and u[7] == 0xFFFFFFFF
    assert u[8] == np.bitwise_xor.reduce(t) and u[9] in range(1, n + 1)
    assert i[0] == 100 - (n - 1) and i[1] == 3 * (n - 1) - 50
    assert i[2:10].tolist() == [24, 24, 24, 24, n - 1, 0, 0, 0]
    assert f.tolist() == [0.5 * n, 2.0 * n] and d[0] == 0.25 * n
    assert long[0] == 0x100000001 * int(t.sum()) and long[1] == (n - 1) << 33
    assert long[2:].tolist() == list(range(2, n + 2))
    assert h.tolist() == [float(n), n / 2]


@EACH
def test_transpose(target: str, level: str) -> None:
    a = np.random.default_rng(3).random((96, 96)).astype(np.float32)
    o = np.zeros_like(a)
    image("cooperation", target, level).launch("transpose", (3, 3), (32, 8), [o, a, 96])
    assert (o == a.T).all()


@EACH
def test_dynamic_shared_memory(target: str, level: str) -> None:
    o = zeros(100)
    image("cooperation", target, level).launch("dynamic", 1, 100, [o], shared=400)
    assert o.tolist() == [7 * (99 - t) for t in range(100)]


@EACH
def test_out_of_bounds(target: str, level: str) -> None:
    im = image("cooperation", target, level)
    with pytest.raises(sim.OutOfBounds, match=re.escape("40 bytes into argument 0 of 40 bytes")) as e:
        im.launch("outside", 1, 4, [zeros(10), 8])
    assert e.value.thread == (2, 0, 0) and e.value.text.startswith("STG") and e.value.address >= 0
    with pytest.raises(sim.OutOfBounds, match="shared"):
        im.launch("dynamic", 1, 100, [zeros(100)], shared=200)
    with pytest.raises(sim.Misaligned):
        im.launch("outside", 1, 1, [np.uint64(im.arena.allocate(64, "x") + 2), 0])


@EACH
def test_no_progress(target: str, level: str) -> None:
    im = image("cooperation", target, level)
    with pytest.raises(sim.Deadlock, match="BAR"):
        im.launch("never", 1, 64, [])
    with pytest.raises(sim.StepLimit):
        im.launch("forever", 1, 64, [zeros(1)], max_steps=2000)
    im.launch("traps", 1, 32, [99])
    with pytest.raises(sim.Trap) as e:
        im.launch("traps", 2, 32, [3])
    assert e.value.thread == (3, 0, 0)


def test_bad_calls() -> None:
    im = image("cooperation", "sm_75", "-O3")
    with pytest.raises(sim.ArgumentError, match="parameters"):
        im.launch("outside", 1, 1, [zeros(1)])
    with pytest.raises(sim.ArgumentError, match="no kernel"):
        im.launch("nothing", 1, 1, [])
    with pytest.raises(sim.ArgumentError, match="1024"):
        im.launch("never", 1, 1025, [])
    with pytest.raises(sim.LoadError):
        sim.load(b"not a cubin")
    with pytest.raises(sim.LoadError):
        sim.load("/does/not/exist")


AMPERE = pytest.mark.parametrize("target", ["sm_80", "sm_86", "sm_90"])


@pytest.mark.in_turn(4)
@AMPERE
@pytest.mark.parametrize(
    ("kernel", "m", "n", "k", "factor", "result"),
    [
        ("half_float", 16, 16, 16, "f2", "f4"),
        ("half_half", 16, 16, 16, "f2", "f2"),
        ("half_wide", 8, 32, 16, "f2", "f4"),
        ("signed_char", 16, 16, 16, "i1", "i4"),
        ("unsigned_char", 32, 8, 16, "u1", "i4"),
        ("doubles", 8, 8, 4, "f8", "f8"),
    ],
)
def test_matrix_products(target: str, kernel: str, m: int, n: int, k: int, factor: str, result: str) -> None:
    rng = np.random.default_rng(1)
    low = 0 if factor == "u1" else -9
    a, b = rng.integers(low, 9, (m, k)).astype(factor), rng.integers(low, 9, (n, k)).astype(factor)
    c = rng.integers(-50, 50, (m, n)).astype(result)
    want = a.astype("f8") @ b.astype("f8").T + c
    image("tensor", target, "-O3").launch(kernel, 1, 32, [c, a, b])
    assert (c == want).all()


@AMPERE
def test_brain_and_tensor_floats(target: str) -> None:
    rng = np.random.default_rng(2)
    im = image("tensor", target, "-O3")
    a, b = (rng.integers(-9, 9, (16, 16)).astype("f4") for _ in range(2))
    c = np.zeros((16, 16), "f4")
    im.launch("brain", 1, 32, [c, *((x.view("u4") >> 16).astype("u2") for x in (a, b))])
    assert (c == a @ b.T).all()
    a, b = a[:, :8].copy(), b[:, :8].copy()
    im.launch("tensor_float", 1, 32, [c, a, b])
    assert (c == a @ b.T + 1).all()


@AMPERE
def test_matrix_loads(target: str) -> None:
    a = np.arange(256).astype("u2").reshape(4, 8, 8)
    o = np.zeros((6, 32), "u4")
    image("tensor", target, "-O3").launch("rows", 1, 32, [o, a.reshape(-1)])
    for r in range(4):
        assert (o[r].view("u2").reshape(8, 8) == a[r]).all()
    for r in range(2):
        assert (o[4 + r].view("u2").reshape(8, 8) == a[r].T).all()


@AMPERE
@pytest.mark.parametrize("n", [32, 33, 96])
def test_barrier_objects(target: str, n: int) -> None:
    o = np.zeros((n, 2), "u4")
    image("mbarrier", target, "-O3").launch("rounds", 1, n, [o, n])
    assert (o[1:, 0] == n * (n - 1) // 2).all()
    # pending arrivals before each one's own in the second round, which one thread has left
    assert sorted(o[1:, 1].tolist()) == list(range(1, n))


def test_clusters_and_bulk_copies() -> None:
    im = image("cluster", "sm_90", "-O3")
    o = np.zeros((4, 32), "u4")
    im.launch("exchange", 4, 32, [o])
    assert o.tolist() == [[(1 - b % 2) * 1000 + t for t in range(32)] for b in range(4)]
    a, o = np.arange(32).astype("u4") * 3, np.zeros(32, "u4")
    im.launch("bulk", 1, 32, [o, a])
    assert (o == a + 1).all()
    with pytest.raises(sim.OutOfBounds):
        im.launch("bulk", 1, 32, [o, a[:16].copy()])


@AMPERE
@pytest.mark.parametrize("n", [0, 1, 7, 16])
def test_asynchronous_copies(target: str, n: int) -> None:
    a = np.arange(1, 65).astype("u1").reshape(4, 16)
    o = np.zeros((4, 64), "u1")
    image("copies", target, "-O3").launch("copies", 1, 4, [o, a, n])
    want = np.zeros((4, 64), "u1")
    want[:, :n] = a[:, :n]
    want[:, 16:21] = a[:, :5]
    want[:3, 24:32] = a[:3, :8]
    want[:, 32:48] = a
    assert (o == want).all()


@pytest.mark.parametrize("cluster", [(1, 1), (3, 2), (7, 1)])
def test_place_in_a_cluster(cluster: tuple[int, int]) -> None:
    cx, cy = cluster
    o = np.zeros((4, 21, 8), "u4")
    image("cluster", "sm_90", "-O3").launch("place", (21, 4), 1, [o], cluster=cluster)
    for y in range(4):
        for x in range(21):
            assert o[y, x].tolist() == [x // cx, y // cy, 21 // cx, x % cx, y % cy, cx, x % cx + cx * (y % cy), cx * cy]

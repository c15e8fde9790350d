"""Varied kernels of an eighth round, CUDA and Triton: arguments and results computed here, on the host, for the PTX in ``ptx``."""

import functools
import itertools
import math

import numpy as np

from tests.kernels.varied.varied_cases import (
    _SCRATCH,
    Array,
    B,
    Cases,
    D,
    F,
    Launch,
    S,
    U,
    adder,
    floats,
    shared_of,
)

L = np.uint64
H = np.float16
WORD = (1 << 64) - 1

CASES: Cases = {}
case = adder(CASES)


@case
def hotspot_tile(r: np.random.Generator) -> Launch:
    height, width, cap, rx, ry, rz = 30, 41, 0.5, 0.1, 0.2, 0.05
    power, from_ = r.random((height, width)).astype(F), (80 + 5 * floats(r, height, width)).astype(F)
    t = from_.astype(D)
    for _ in range(2):
        p = np.pad(t, 1, mode="edge")
        across = p[1:-1, 2:] + p[1:-1, :-2] - 2 * t
        along = p[2:, 1:-1] + p[:-2, 1:-1] - 2 * t
        t = t + cap * (power + along * ry + across * rx + (80 - t) * rz)
    args = [power, from_, np.zeros_like(from_), S(width), S(height), F(cap), F(rx), F(ry), F(rz)]
    return Launch((-(-width // 12), -(-height // 12)), (16, 16), args, [(2, t, 1e-6)])


@case
def lava_boxes(r: np.random.Generator) -> Launch:
    boxes, room, most, alpha = 4, 48, 27, 0.5
    place, charge = r.random((boxes, room, 4)).astype(F), r.random((boxes, room)).astype(F)
    count = np.array([2, 3, 0, 1], S)
    neighbours = np.zeros((boxes, most), S)
    want = np.zeros((boxes, room, 4))
    for b in range(boxes):
        neighbours[b, : count[b]] = [x for x in range(boxes) if x != b][: count[b]]
        for o in [b, *neighbours[b, : count[b]]]:
            x, y = place[b].astype(D)[:, None], place[o].astype(D)[None]
            v = np.exp(-2 * alpha**2 * (x[..., 3] + y[..., 3] - (x[..., :3] * y[..., :3]).sum(axis=2))) * charge[o]
            want[b, :, :3] += (2 * v[..., None] * (x - y)[..., :3]).sum(axis=1)
            want[b, :, 3] += v.sum(axis=1)
    args = [neighbours, count, place, charge, np.zeros_like(place), F(alpha)]
    return Launch(boxes, 32, args, [(4, want, 1e-4)])


@case
def euler_flux(r: np.random.Generator) -> Launch:
    n, gamma = 100, 1.4
    v = np.concatenate([1 + r.random((1, n)), 0.3 * r.standard_normal((3, n)), 3 + r.random((1, n))]).astype(F)
    far = np.array([1.4, 0.5, 0.1, 0.0, 3.2], F)
    faces, normals = r.integers(-2, n, (4, n)).astype(S), floats(r, 4, 3, n)
    faces[r.random((4, n)) < 0.15] = -1
    faces[r.random((4, n)) < 0.15] = -2

    def flux(s: Array, normal: Array) -> Array:
        u = (s[1:4] / s[0] * normal).sum(axis=0)
        p = pressure(s)
        return np.concatenate([[u * s[0]], s[1:4] * u + normal * p, [(s[4] + p) * u]])

    def pressure(s: Array) -> Array:
        p: Array = (gamma - 1) * (s[4] - 0.5 * (s[1:4] ** 2).sum(axis=0) / s[0])
        return p

    def speed(s: Array) -> Array:
        c: Array = np.sqrt(((s[1:4] / s[0]) ** 2).sum(axis=0)) + np.sqrt(gamma * pressure(s) / s[0])
        return c

    own, want = v.astype(D), np.zeros((5, n))
    for f, normal in zip(faces, normals.astype(D), strict=True):
        other = own[:, np.maximum(f, 0)]
        smooth = -0.1 * np.sqrt((normal**2).sum(axis=0)) * (speed(own) + speed(other)) * (own - other)
        inner = 0.5 * (flux(own, normal) + flux(other, normal)) + smooth
        wall = np.concatenate([np.zeros((1, n)), normal * pressure(own), np.zeros((1, n))])
        outer = 0.5 * (flux(own, normal) + flux(np.repeat(far.astype(D)[:, None], n, axis=1), normal))
        want += np.where(f >= 0, inner, np.where(f == -1, wall, outer))
    return Launch(2, 64, [S(n), faces, normals, v, far, np.zeros((5, n), F)], [(5, want, 1e-5)])


@case
def dock_energy(r: np.random.Generator) -> Launch:
    ligands, proteins, types, n = 5, 12, 6, 200
    atom = np.dtype([("at", F, 3), ("type", S)])
    kind = np.dtype([("bond", S), ("radius", F), ("contact", F), ("charge", F)])
    ligand, protein, kinds = np.zeros(ligands, atom), np.zeros(proteins, atom), np.zeros(types, kind)
    ligand["at"], protein["at"] = floats(r, ligands, 3), 4 * floats(r, proteins, 3)
    ligand["type"], protein["type"] = r.integers(0, types, ligands), r.integers(0, types, proteins)
    kinds["bond"], kinds["radius"] = r.integers(1, 3, types), 0.6 + 0.5 * r.random(types)
    kinds["contact"], kinds["charge"] = r.standard_normal(types), r.standard_normal(types)
    poses = np.concatenate([r.uniform(-3, 3, (3, n)), 2 * r.standard_normal((3, n))]).astype(F)
    a, b, c, *move = poses.astype(D)
    sx, cx, sy, cy, sz, cz = np.sin(a), np.cos(a), np.sin(b), np.cos(b), np.sin(c), np.cos(c)
    m = [
        [cy * cz, sx * sy * cz - cx * sz, cx * sy * cz + sx * sz],
        [cy * sz, sx * sy * sz + cx * cz, cx * sy * sz - sx * cz],
        [-sy, sx * cy, cx * cy],
    ]
    want = np.zeros(n)
    for one in ligand:
        ka = kinds[one["type"]]
        at = [move[j] + sum(float(one["at"][k]) * m[j][k] for k in range(3)) for j in range(3)]
        for two in protein:
            kb = kinds[two["type"]]
            radius = float(ka["radius"]) + float(kb["radius"])
            d = np.sqrt(sum((at[j] - float(two["at"][j])) ** 2 for j in range(3)))
            gap, both = d - radius, ka["bond"] == 2 and kb["bond"] == 2
            most = 4.0 if both else 2.0
            want += np.where(gap < 0, (1 - d / radius) * 38, 0)
            e = float(ka["charge"]) * float(kb["charge"]) * np.where(gap < 0, 1, np.maximum(1 - gap / most, 0))
            want += -abs(e) if both else e
            polar = ka["contact"] * kb["contact"] > 0
            pull = 0.5 * (float(ka["contact"]) + float(kb["contact"])) if polar else -float(ka["contact"])
            want += pull * np.where(gap < 0, 1, np.maximum(1 - gap / (5.5 if polar else 1.0), 0))
    args = [S(ligands), S(proteins), ligand, protein, kinds, S(types), poses, np.zeros(n, F), S(n)]
    return Launch(1, 64, args, [(7, 0.5 * want, 1e-4)], types * kind.itemsize)


@case
def align_tiles(r: np.random.Generator) -> Launch:
    tiles, penalty = 3, 4
    n = 16 * tiles + 1
    match, score = r.integers(-5, 9, (n, n)).astype(S), np.zeros((n, n), S)
    score[0] = score[:, 0] = -penalty * np.arange(n)
    full = score.copy()
    for y in range(1, n):
        for x in range(1, n):
            full[y, x] = max(full[y - 1, x - 1] + match[y, x], max(full[y, x - 1], full[y - 1, x]) - penalty)
    score[:17] = full[:17]
    score[:, :17] = full[:, :17]
    score[17:33, 17:33] = full[17:33, 17:33]
    want = score.copy()
    want[33:, 17:33], want[17:33, 33:] = full[33:, 17:33], full[17:33, 33:]
    return Launch(2, 16, [match, score, S(n), S(penalty), S(3), S(1)], [(1, want, 0)])


BOX = [0xC, 5, 6, 0xB, 9, 0, 0xA, 0xD, 3, 0xE, 0xF, 8, 4, 7, 1, 2]


@case
def present_rounds(r: np.random.Generator) -> Launch:
    n = 70
    text, keys = r.integers(0, 1 << 63, n).astype(L), r.integers(0, 1 << 63, (n, 2)).astype(L)
    text[0], keys[0] = 0, 0
    keys[:, 1] &= L(0xFFFF)
    want = []
    for t, (high, low) in zip(text.tolist(), keys.tolist(), strict=True):
        key = high << 16 | low
        for round_ in range(1, 32):
            t ^= key >> 16
            y = sum(BOX[t >> 4 * k & 15] << 4 * k for k in range(16))
            t = sum((y >> b & 1) << (63 if b == 63 else 16 * b % 63) for b in range(64))
            key = (key << 61 | key >> 19) & ((1 << 80) - 1)
            key = (key & ((1 << 76) - 1)) | BOX[key >> 76] << 76
            key ^= round_ << 15
        want.append(t ^ key >> 16)
    assert want[0] == 0x5579C1387B228445
    return Launch(2, 64, [text, keys, np.array(BOX, B), np.zeros(n, L), S(n)], [(3, np.array(want, L), 0)])


def murmur(data: bytes, seed: int) -> tuple[int, int]:
    """Both words of the hash."""
    c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F

    def turn(x: int, k: int) -> int:
        return (x << k | x >> (64 - k)) & WORD

    def mix(k: int) -> int:
        for m in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
            k = (k ^ k >> 33) * m & WORD
        return k ^ k >> 33

    h1 = h2 = seed
    whole = len(data) // 16 * 16
    for at in range(0, whole, 16):
        k1, k2 = (int.from_bytes(data[at + 8 * j : at + 8 * j + 8], "little") for j in (0, 1))
        h1 ^= turn(k1 * c1 & WORD, 31) * c2 & WORD
        h1 = ((turn(h1, 27) + h2) * 5 + 0x52DCE729) & WORD
        h2 ^= turn(k2 * c2 & WORD, 33) * c1 & WORD
        h2 = ((turn(h2, 31) + h1) * 5 + 0x38495AB5) & WORD
    k1, k2 = (int.from_bytes(data[whole + 8 * j : whole + 8 * j + 8], "little") for j in (0, 1))
    h2 ^= turn(k2 * c2 & WORD, 33) * c1 & WORD
    h1 ^= turn(k1 * c1 & WORD, 31) * c2 & WORD
    h1, h2 = h1 ^ len(data), h2 ^ len(data)
    h1 = (h1 + h2) & WORD
    h2 = (h2 + h1) & WORD
    h1, h2 = mix(h1), mix(h2)
    h1 = (h1 + h2) & WORD
    return h1, (h2 + h1) & WORD


@case
def murmur_hash(r: np.random.Generator) -> Launch:
    n, seed = 80, 12345
    start = np.concatenate([[0], np.cumsum(r.integers(20, 90, n))]).astype(S)
    data = r.integers(0, 256, start[-1]).astype(B)
    want = np.array([murmur(data[a:b].tobytes(), seed) for a, b in itertools.pairwise(start)], L)
    return Launch(2, 64, [data, start, np.zeros((n, 2), L), S(n), U(seed)], [(2, want, 0)])


@case
def inverse4(r: np.random.Generator) -> Launch:
    n = 120
    a = floats(r, n, 4, 4) + 3 * np.eye(4, dtype=F)
    args = [a, np.zeros_like(a), np.zeros(n, F), S(n)]
    return Launch(2, 64, args, [(1, np.linalg.inv(a.astype(D)), 1e-3), (2, np.linalg.det(a.astype(D)), 1e-4)])


@case
def speckle_step(r: np.random.Generator) -> Launch:
    h, w, q0, rate = 21, 50, 0.3, 0.5
    g = (np.exp(0.3 * r.standard_normal((h, w)))).astype(F)
    v = g.astype(D)
    p = np.pad(v, 1, mode="edge")
    n, s, l_, e = p[:-2, 1:-1] - v, p[2:, 1:-1] - v, p[1:-1, :-2] - v, p[1:-1, 2:] - v
    g2, lap = (n * n + s * s + l_ * l_ + e * e) / v**2, (n + s + l_ + e) / v
    q = (0.5 * g2 - 0.0625 * lap**2) / (1 + 0.25 * lap) ** 2
    c = np.clip(1 / (1 + (q - q0) / (q0 * (1 + q0))), 0, 1)
    south, east = np.vstack([c[1:], c[-1:]]), np.hstack([c[:, 1:], c[:, -1:]])
    want = v + 0.25 * rate * (c * n + south * s + c * l_ + east * e)
    return Launch((2, 3), (32, 8), [g, np.zeros_like(g), S(w), S(h), F(q0), F(rate)], [(1, want, 1e-5)])


@case
def pivoted_lu(r: np.random.Generator) -> Launch:
    n = 100
    a, b = r.standard_normal((6, 6, n)), r.standard_normal((6, n))
    want = np.linalg.solve(np.moveaxis(a, 2, 0), b.T[..., None])[..., 0].T
    return Launch(2, 64, [a, b, np.zeros_like(b), S(n)], [(2, want, 1e-9)])


@case
def ising_sweep(r: np.random.Generator) -> Launch:
    height, width, colour, step = 20, 24, 1, 777
    own, other = (r.choice([-1, 1], (height, width)).astype(np.int8) for _ in "ab")
    accept = r.integers(0, 1 << 32, 10).astype(U)
    x = np.arange(height * width, dtype=U) * U(747796405) + U(step)
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        x = (x ^ x >> U(shift)) * U(factor)
    x = (x ^ x >> U(16)).reshape(height, width)
    o = other.astype(S)
    side = np.where((np.arange(height)[:, None] + colour) & 1, np.roll(o, -1, 1), np.roll(o, 1, 1))
    around = np.roll(o, 1, 0) + np.roll(o, -1, 0) + o + side
    want = np.where(x < accept[(around + 4) // 2 + np.where(own > 0, 5, 0)], -own, own)
    args = [own, other, accept, S(width), S(height), S(colour), U(step), np.zeros(1, S)]
    return Launch(2, 64, args, [(0, want, 0), (7, [(want * around).sum()], 0)])


def doubled(x: int) -> int:
    """Twice a number of the field of AES."""
    return (x << 1 ^ (0x11B if x & 0x80 else 0)) & 255


@functools.cache
def aes_box() -> list[int]:
    """The box of AES from inverses in its field."""
    powers = [1]
    for _ in range(254):
        powers.append(powers[-1] ^ doubled(powers[-1]))
    inverse = [0] * 256
    for k in range(255):
        inverse[powers[k]] = powers[-k % 255]
    turn = lambda x, k: (x << k | x >> (8 - k)) & 255  # noqa: E731
    return [x ^ turn(x, 1) ^ turn(x, 2) ^ turn(x, 3) ^ turn(x, 4) ^ 0x63 for x in inverse]


def encrypted(key: bytes, text: bytes) -> tuple[bytes, list[int]]:
    """A block of AES-128, and the words of its round keys."""
    box = aes_box()
    words = [list(key[4 * k : 4 * k + 4]) for k in range(4)]
    more = 1
    for k in range(4, 44):
        t = words[-1]
        if k % 4 == 0:
            t = [box[x] for x in t[1:] + t[:1]]
            t[0] ^= more
            more = doubled(more)
        words.append([a ^ b for a, b in zip(t, words[k - 4], strict=True)])
    s = [x ^ y for x, y in zip(text, itertools.chain(*words[:4]), strict=True)]
    for round_ in range(1, 11):
        s = [box[s[(k + 4 * (k % 4)) % 16]] for k in range(16)]
        if round_ < 10:
            mixed = []
            for c in range(4):
                a = s[4 * c : 4 * c + 4]
                for k in range(4):
                    b, d, e, f = (a[(k + j) % 4] for j in range(4))
                    mixed.append(doubled(b) ^ doubled(d) ^ d ^ e ^ f)
            s = mixed
        s = [x ^ y for x, y in zip(s, itertools.chain(*words[4 * round_ : 4 * round_ + 4]), strict=True)]
    return bytes(s), [int.from_bytes(bytes(w), "big") for w in words]


@case
def aes_tables(r: np.random.Generator) -> Launch:
    n, nonce = 150, 0xCAFE1234
    key = r.integers(0, 256, 16).astype(B).tobytes()
    assert encrypted(bytes(range(16)), bytes.fromhex("00112233445566778899aabbccddeeff"))[0].hex() == (
        "69c4e0d86a7b0430d8cdb78070b4c55a"
    )
    box = aes_box()
    table = [doubled(x) << 24 | x << 16 | x << 8 | (doubled(x) ^ x) for x in box]
    text = r.integers(0, 1 << 32, (n, 4)).astype(U)
    keys = encrypted(key, bytes(16))[1]
    want = np.zeros_like(text)
    for i in range(n):
        block = nonce.to_bytes(4, "big") + bytes(8) + i.to_bytes(4, "big")
        want[i] = text[i] ^ np.frombuffer(encrypted(key, block)[0], ">u4")
    args = [np.array(table, U), np.array(keys, U), text, np.zeros_like(text), U(nonce), S(n)]
    return Launch(1, 96, args, [(3, want, 0)])


LINES = [0o7, 0o70, 0o700, 0o111, 0o222, 0o444, 0o421, 0o124]


@functools.cache
def ends(own: int, other: int) -> tuple[int, int, int]:
    """Games that the side to move wins, loses and draws."""
    total = [0, 0, 0]
    for k in range(9):
        if not (own | other) >> k & 1:
            next_ = own | 1 << k
            if any(next_ & m == m for m in LINES):
                total[0] += 1
            elif next_ | other == 0o777:
                total[2] += 1
            else:
                lost, won, drawn = ends(other, next_)
                total = [total[0] + won, total[1] + lost, total[2] + drawn]
    return total[0], total[1], total[2]


@case
def board_search(r: np.random.Generator) -> Launch:
    n = 64
    sides, want = np.zeros((2, n), np.uint16), []
    for i in range(n):
        places = r.permutation(9)
        count = int(r.integers(6, 8))
        while True:
            a, b = (sum(1 << int(k) for k in places[j:count:2]) for j in (0, 1))
            if not any(x & m == m for x in (a, b) for m in LINES):
                break
            places = r.permutation(9)
        sides[:, i] = a, b
        first = count % 2 == 0
        won, lost, drawn = ends(a, b) if first else ends(b, a)
        want.append([won, lost, drawn] if first else [lost, won, drawn])
    return Launch(1, 64, [sides[0].copy(), sides[1].copy(), np.zeros((n, 3), S), S(n)], [(2, want, 0)])


@case
def prime_witness(r: np.random.Generator) -> Launch:
    n = 40
    numbers = (r.integers(1 << 8, 1 << 12, n) | 1).astype(L)
    numbers[:8] = [2, 3, 9, 1, 4093, 2047, 561, 3277]
    want = [x > 1 and all(x % p for p in range(2, math.isqrt(x) + 1)) for x in numbers.tolist()]
    return Launch(1, 64, [numbers, np.zeros(n, B), S(n)], [(1, want, 0)])


@case
def ewald_pairs(r: np.random.Generator) -> Launch:
    n, box, cut, beta = 60, 6.0, 2.5, 0.9
    place, charge = box * r.random((n, 3)), r.standard_normal(n)
    lists = [np.setdiff1d(r.permutation(n)[: int(r.integers(6, 20))], [i]) for i in range(n)]
    start = np.concatenate([[0], np.cumsum([len(x) for x in lists])]).astype(S)
    force, energy = np.zeros((n, 3)), np.zeros(n)
    for i in range(n):
        for j in lists[i]:
            d = place[i] - place[j]
            d -= box * np.rint(d / box)
            r2 = (d**2).sum()
            if r2 < cut**2:
                q, s = charge[i] * charge[j], math.sqrt(r2)
                v = q * math.erfc(beta * s) / s
                energy[i] += 0.5 * v
                force[i] += (v + q * beta * 2 / math.sqrt(math.pi) * math.exp(-(beta**2) * r2)) / r2 * d
    args = [place, charge, np.concatenate(lists).astype(S), start, np.zeros_like(force), np.zeros(n)]
    return Launch(1, 64, [*args, D(beta), D(cut), D(box), S(n)], [(4, force, 1e-9), (5, energy, 1e-9)])


@case
def lifting_97(r: np.random.Generator) -> Launch:
    rows, n = 3, 300
    x = floats(r, rows, n)
    s = x.astype(D)
    for k, step in enumerate((-1.586134342, -0.05298011854, 0.8829110762, 0.4435068522)):
        p = np.pad(s, ((0, 0), (1, 1)), mode="reflect")
        s[:, 1 - k % 2 :: 2] += step * (p[:, :-2] + p[:, 2:])[:, 1 - k % 2 :: 2]
    want = np.hstack([s[:, ::2] * 1.149604398, s[:, 1::2] * 0.8698644524])
    return Launch(rows, 64, [x, np.zeros_like(x), S(n)], [(1, want, 1e-5)])


@case
def adamw_bf16(r: np.random.Generator) -> Launch:
    n, rate, b1, b2, eps, decay, scale, seed = 400, 1e-2, 0.9, 0.95, 1e-8, 0.1, 0.5, 99
    c1, c2 = 1 - b1**3, 1 - b2**3
    w, g = (floats(r, n).view(U) >> 16 for _ in "ab")
    m, v = floats(r, n), r.random(n).astype(F)
    d = (g << 16).view(F).astype(D) * scale
    m2, v2 = b1 * m + (1 - b1) * d, b2 * v + (1 - b2) * d * d
    old = (w << 16).view(F).astype(D)
    next_ = old - rate * (m2 / c1 / (np.sqrt(v2 / c2) + eps) + decay * old)

    class Rounded(Launch):
        """Weights are rounded by chance, so they are within a step of what is wanted."""

        def run(self, cubin: bytes) -> None:
            super().run(cubin)
            got = (self.args[0].astype(U) << 16).view(F).astype(D)
            assert (abs(got - next_) <= 0.0079 * abs(next_) + 1e-6).all()
            assert abs((got - next_).mean()) < 0.001

    args = [w.astype(np.uint16), g.astype(np.uint16), m.copy(), v.copy(), F(rate), F(b1), F(b2), F(c1), F(c2)]
    args += [F(eps), F(decay), F(scale), U(seed), S(n)]
    return Rounded(2, 64, args, [(2, m2, 1e-5), (3, v2, 1e-5)])


@case
def geglu_grad(r: np.random.Generator) -> Launch:
    rows, n = 3, 900
    dy, a, b = (floats(r, rows, n).astype(H) for _ in "xyz")
    g, x, y = dy.astype(D), a.astype(D), b.astype(D)
    t = np.tanh(0.7978845608 * (x + 0.044715 * x**3))
    half = 0.5 * (1 + t)
    slope = half + 0.5 * x * (1 - t * t) * 0.7978845608 * (1 + 3 * 0.044715 * x * x)
    args = [dy, a, b, np.zeros_like(a), np.zeros_like(a), S(n), *_SCRATCH]
    return Launch(rows, 128, args, [(3, g * y * slope, 2e-3), (4, g * x * half, 2e-3)], shared_of("geglu_grad"))


@case
def rms_norm_grad(r: np.random.Generator) -> Launch:
    rows, n, per = 7, 900, 4
    dy, x, w = floats(r, rows, n).astype(H), floats(r, rows, n).astype(H), floats(r, n).astype(H)
    t, g = x.astype(D), dy.astype(D)
    rstd = (1 / np.sqrt((t**2).mean(axis=1) + 1e-5)).astype(F)
    s, m = rstd[:, None].astype(D), g * w
    dx = s * (m - s * s * (m * t).mean(axis=1, keepdims=True) * t)
    part = g * t * s
    dw = np.stack([part[:4].sum(axis=0), part[4:].sum(axis=0)])
    args = [dy, x, w, rstd, np.zeros_like(x), np.zeros((2, n), F), S(rows), S(n), S(per), *_SCRATCH]
    return Launch(2, 128, args, [(4, dx, 2e-3), (5, dw, 1e-4)], shared_of("rms_norm_grad"))


@case
def divergence(r: np.random.Generator) -> Launch:
    rows, n, beta = 3, 1200, 0.3
    x, y = floats(r, rows, n), floats(r, rows, n)
    x, y = (
        (t - np.log(np.exp(t.astype(D)).sum(axis=1, keepdims=True))).astype(H)
        for t in (x, y)
    )  # fmt: skip
    labels = np.array([4, -100, 7], S)
    q, p = np.exp(x.astype(D)), np.exp(y.astype(D))
    lm = np.log(beta * p + (1 - beta) * q)
    grad = (1 - beta) * q * (x.astype(D) - lm)
    loss = beta * p * (y.astype(D) - lm) + grad
    loss[1] = grad[1] = 0
    args = [x, y, labels, np.zeros((rows, n), F), np.full((rows, n), 9, F), S(n), F(beta), *_SCRATCH]
    return Launch(rows, 128, args, [(3, loss, 1e-3), (4, grad, 1e-3)], shared_of("divergence"))


@case
def delta_rule(r: np.random.Generator) -> Launch:
    heads, steps, d, e = 2, 12, 64, 32
    q, k, v = floats(r, heads, steps, d), floats(r, heads, steps, d), floats(r, heads, steps, e)
    k /= np.linalg.norm(k, axis=2, keepdims=True)
    beta = r.random((heads, steps)).astype(F)
    want = np.zeros((heads, steps, e))
    for h in range(heads):
        s = np.zeros((e, d))
        for t in range(steps):
            key = k[h, t].astype(D)
            s += np.outer((v[h, t] - s @ key) * beta[h, t], key)
            want[h, t] = s @ q[h, t].astype(D)
    args = [q, k, v, beta, np.zeros((heads, steps, e), F), S(steps), *_SCRATCH]
    return Launch((e // 8, heads), 32, args, [(4, want, 1e-4)], shared_of("delta_rule"))


@case
def expert_product(r: np.random.Generator) -> Launch:
    tokens, top, experts, n, k, tile = 20, 2, 3, 64, 192, 16
    a, b = floats(r, tokens, k).astype(H), floats(r, experts, n, k).astype(H)
    weights, chosen = r.random(tokens * top).astype(F), r.integers(0, experts, tokens * top)
    ids, which = [], []
    for e in range(experts):
        own = np.flatnonzero(chosen == e)
        own = np.concatenate([own, np.full(-len(own) % tile, tokens * top)])
        ids.append(own)
        which += [e] * (len(own) // tile)
    rows = np.arange(tokens * top)
    want = np.einsum("rk,rnk->rn", a[rows // top].astype(D), b[chosen].astype(D)) * weights[:, None]
    args = [a, b, np.zeros((tokens * top, n), H), np.concatenate(ids).astype(S), np.array(which, S), weights]
    args += [S(tokens * top), S(n), S(k), S(top), *_SCRATCH]
    return Launch((len(which), 1), 128, args, [(2, want, 2e-3)], shared_of("expert_product"))


@case
def split_combine(r: np.random.Generator) -> Launch:
    batch, heads, splits, d = 2, 3, 11, 128
    parts, lse = floats(r, batch, heads, splits, d), 3 * floats(r, batch, heads, splits)
    w = np.exp(lse.astype(D))
    w /= w.sum(axis=2, keepdims=True)
    args = [parts, lse, np.zeros((batch, heads, d), H), S(heads), S(splits), *_SCRATCH]
    return Launch(
        (batch, heads), 128, args, [(2, (parts * w[..., None]).sum(axis=2), 2e-3)], shared_of("split_combine")
    )


@case
def route_tokens(r: np.random.Generator) -> Launch:
    n, experts, top = 25, 32, 4
    x = np.stack([r.permutation(experts) for _ in range(n)]).astype(H) / H(4)
    p = np.exp(x.astype(D))
    order = np.argsort(-x, axis=1)[:, :top]
    want = np.zeros((n, experts))
    for t in range(n):
        want[t, order[t]] = p[t, order[t]] / p[t, order[t]].sum()
    args = [x, np.zeros((n, experts), F), np.zeros((n, top), S), S(n), *_SCRATCH]
    return Launch(2, 128, args, [(1, want, 1e-5), (2, order, 0)], shared_of("route_tokens"))


@case
def scatter_tile(r: np.random.Generator) -> Launch:
    n, shift = 1024 + 700, 8
    key, value = r.integers(0, 1 << 32, n, dtype=np.uint64).astype(U), floats(r, n)
    order = np.concatenate(
        [k + np.argsort(key[k : k + 1024] >> U(shift) & U(15), kind="stable") for k in range(0, n, 1024)]
    )
    args = [key, value, np.zeros(n, U), np.zeros(n, F), S(n), S(shift)]
    return Launch(2, 128, args, [(2, key[order], 0), (3, value[order], 0)])

"""Builders: moves, loads and stores, atomics, asynchronous copies, addresses.

Addresses in ``.shared`` and ``.local`` are offsets in their windows, addresses in ``.const`` are offsets in the
constant section.  All others, ``.param`` included, are generic addresses.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from orias.isa.op import op
from orias.isa.operand import K_NONE, RZ, URZ, imm, r
from orias.ptx.ast import O_ADDR, O_REG, O_SINK, O_SYM, O_VEC, Operand
from orias.sim.core.sim_errors import Fault, Misaligned, OutOfBounds
from orias.sim.core.site import Exec, Getter, Setter, Site
from orias.sim.core.state import Active, Machine
from orias.sim.math import ops_half as half
from orias.sim.math import softfloat as sf
from orias.sim.math.ops_int import I64, U8, U16, U32, U64
from orias.sim.ptx.machine import ptx
from orias.sim.ptx.ptx_integer import Builder, type_of
from orias.sim.ptx.ptx_site import UNSIGNED, PtxSite, bits_of
from orias.sim.sass.exec_mem import atomic_update, compare_and_swap, read_modify_write
from orias.sim.sass.exec_wide import atomic128
from orias.sim.sass.memory_places import GENERIC, GLOBAL, LOCAL, SHARED, places, spaces

Arr = npt.NDArray[Any]

SPACES: Final[dict[str, int]] = {
    "global": GLOBAL, "const": GLOBAL, "local": LOCAL, "shared": SHARED, "shared::cta": SHARED, "shared::cluster": SHARED,
    "param": GENERIC, "param::entry": GENERIC, "param::func": GENERIC, "": GENERIC,
}  # fmt: skip


def address(s: PtxSite, o: Operand, space: str) -> Getter:
    """The address of a memory operand in its space, one per thread: uint64, or int64 offsets for shared and local memory."""
    if o.kind == O_ADDR and o.var is not None and o.var.space == "reg":
        plain = Operand(O_REG)
        plain.var, plain.comp = o.var, "" if o.comp == "unified" else o.comp
        base = s.src(plain, "b64" if bits_of(o.var.type) == 64 else "b32")
        offset = np.uint64(o.value & 0xFFFFFFFFFFFFFFFF)
        wide = bits_of(o.var.type) == 64
        g: Getter = lambda m, a: base(m, a).astype(U64) + offset  # noqa: E731
        if not wide and SPACES[space] in (SHARED, LOCAL):
            g = lambda m, a: (base(m, a) + np.uint32(o.value & 0xFFFFFFFF)).astype(U64)  # noqa: E731
    elif o.kind in (O_ADDR, O_SYM) and o.var is not None:
        g = s.named(o)
        if not space and o.var.space in ("shared", "local", "const"):
            window, inside = np.uint64(_window(s, o.var.space)), g
            g = lambda m, a: inside(m, a).astype(U64) + window  # noqa: E731
    else:
        fixed = np.full(1, o.value & 0xFFFFFFFFFFFFFFFF, U64)
        g = lambda m, a: fixed  # noqa: E731
    if space == "const":
        base_of_bank = np.uint64(s.program.image.const_base)
        inner = g
        g = lambda m, a: inner(m, a) + base_of_bank  # noqa: E731
    if SPACES[space] in (SHARED, LOCAL):
        narrow = g
        return lambda m, a: np.broadcast_to((narrow(m, a) & np.uint64(0xFFFFFFFF)).view(I64), (a.n,))
    full = g
    return lambda m, a: np.broadcast_to(full(m, a), (a.n,))


def load_values(m: Machine, a: Active, space: int, at: Arr, size: int, bits: int) -> list[Arr]:
    """Elements of `bits` from an access of `size` bytes: one unsigned array per element."""
    words: list[Arr] = [np.zeros(a.n, U16 if size == 2 else U8 if size == 1 else U32) for _ in range(max(1, size // 4))]
    done = 0
    while done < max(size, 1):
        # An access of the machine has at most 16 bytes.
        step = min(size - done, 16)
        for p in places(m, a, space, at + at.dtype.type(done), step, min(size, 32) if done == 0 else step):
            part = p.flat.load(p.offset, step)
            for k, x in enumerate(part):
                if p.where is None:
                    words[done // 4 + k] = x
                else:
                    words[done // 4 + k][p.where] = x
        done += step
    if size < 4 and bits == 8 * size:
        return words
    if bits == 32:
        return words
    if bits == 64:
        return [words[k].astype(U64) | words[k + 1].astype(U64) << np.uint64(32) for k in range(0, len(words), 2)]
    per = 8 * min(size, 4) // bits
    t = UNSIGNED[bits]
    wide = [w.astype(U32) for w in words]
    return [(w >> np.uint32(bits * k)).astype(t) for w in wide for k in range(per)]


def store_values(m: Machine, a: Active, space: int, at: Arr, size: int, values: list[Arr]) -> None:
    """The inverse of :func:`load_values`."""
    full = [np.broadcast_to(v, (a.n,)) for v in values]
    bits = full[0].dtype.itemsize * 8
    if bits == 64:
        words = [w for v in full for w in (v.astype(U32), (v >> np.uint64(32)).astype(U32))]
    elif bits == 32 or size * 8 == bits:
        words = full
    else:
        per = min(size, 4) * 8 // bits
        words = []
        for k in range(0, len(full), per):
            w = np.zeros(a.n, U32)
            for j in range(per):
                w = w | full[k + j].astype(U32) << np.uint32(bits * j)
            words.append(w)
    turn = slice(None, None, -1) if ptx(m).choice.reverse else slice(None)
    done = 0
    while done < size:
        step = min(size - done, 16)
        for p in places(m, a, space, at + at.dtype.type(done), step, min(size, 32) if done == 0 else step):
            mine = words[done // 4 : done // 4 + max(1, step // 4)]
            if p.where is not None:
                mine = [w[p.where] for w in mine]
            p.flat.store(p.offset[turn], step, [w[turn] for w in mine])
        done += step


def _elements(s: PtxSite, o: Operand) -> list[Operand]:
    """The scalar operands of a (vector) operand."""
    if o.kind == O_VEC:
        return o.elems
    if o.kind == O_REG and o.var is not None and o.var.vec > 1 and not o.comp:
        out = []
        for c in "xyzw"[: o.var.vec]:
            e = Operand(O_REG)
            e.var, e.comp = o.var, c
            out.append(e)
        return out
    return [o]


def _shape(s: PtxSite) -> tuple[str, int]:
    """(element type, bytes) of an access."""
    t = type_of(s)
    count = int(s.mods["vec"][1:]) if s.has("vec") else 1
    return t, count * bits_of(t) // 8


def _wide_rows(s: PtxSite, o: Operand) -> int:
    row, bits = s.rows(o)
    if bits != 128:
        raise s.unknown("operand")
    return row


def _ld(s: PtxSite) -> Exec:
    t, size = _shape(s)
    space = s.mods.get("space", "")
    where = SPACES[space]
    get = address(s, s.ops[1], space)
    if t == "b128":
        row = _wide_rows(s, s.ops[0])

        def wide(m: Machine, a: Active) -> None:
            for k, w in enumerate(load_values(m, a, where, get(m, a), 16, 32)):
                m.R[row + k][a.sel] = w

        return wide
    elems = _elements(s, s.ops[0])
    puts = [s.dst(e, t) for e in elems]
    bits = bits_of(t)

    def run(m: Machine, a: Active) -> None:
        for put, v in zip(puts, load_values(m, a, where, get(m, a), size, bits), strict=True):
            put(m, a, v)

    return run


def store(s: PtxSite) -> Exec:
    """st, and stores that are one after all else."""
    t, size = _shape(s)
    space = s.mods.get("space", "")
    where = SPACES[space]
    get = address(s, s.ops[0], space)
    if t == "b128":
        row = _wide_rows(s, s.ops[1])
        return lambda m, a: store_values(m, a, where, get(m, a), 16, [m.R[row + k][a.sel] for k in range(4)])
    gets = [s.src(e, t) for e in _elements(s, s.ops[1])]
    return lambda m, a: store_values(m, a, where, get(m, a), size, [g(m, a) for g in gets])


# -- atomics


def _sass_type(t: str, size: int) -> str:
    if t in ("s32", "s64", "u64", "b64"):
        return {"b64": "64"}.get(t, t.upper())
    if t == "f32":
        return "F32.FTZ.RN"
    if t == "f64":
        return "F64.RN"
    if t.endswith("f16x2"):
        return ("BF16x2" if t[0] == "b" else "F16x2") + ".RN"
    return "64" if size == 8 else ""


def atomic(s: PtxSite) -> Exec:
    """atom and red.  Global f32 additions flush denormals, those in shared memory do not (PTX, atom)."""
    t = type_of(s)
    if bits_of(t) == 128:
        return _atom128(s)
    if s.has("vec"):
        return _atom_vector(s, t)
    size = bits_of(t) // 8
    returns = s.name == "atom"
    ops = s.ops[1:] if returns else s.ops
    what = s.mods["op"]
    get = address(s, ops[0], s.mods.get("space", ""))
    space = SPACES[s.mods.get("space", "")]
    put: Setter | None = s.dst(s.ops[0], t) if returns and s.ops[0].kind != O_SINK else None
    value = s.src(ops[1], t)
    other = s.src(ops[2], t) if what == "cas" else None
    update: Callable[[Arr, Arr], Arr] | None = None
    if what != "cas":
        update = _update_of(s, t, what, size)

    def run(m: Machine, a: Active) -> None:
        at = get(m, a)
        v = np.broadcast_to(value(m, a), (a.n,))
        w = np.broadcast_to(other(m, a), (a.n,)) if other is not None else v
        old = np.zeros(a.n, UNSIGNED[8 * size])
        back = ptx(m).choice.reverse
        for p in places(m, a, space, at, size, size):
            here = np.arange(a.n) if p.where is None else p.where
            offset = p.offset
            if back:
                here, offset = here[::-1], offset[::-1]
            if update is None:
                old[here] = compare_and_swap(p.flat, offset, size, v[here], w[here])
            else:
                keeps = t == "f32" and what == "add" and p.space != GLOBAL
                change = _with(sf.fadd32 if keeps else update, v[here])
                old[here] = read_modify_write(p.flat, offset, size, "", change)
        if put is not None:
            put(m, a, old)

    return run


def _atom128(s: PtxSite) -> Exec:
    space = SPACES[s.mods.get("space", "")]
    get = address(s, s.ops[1], s.mods.get("space", ""))
    values = [r(_wide_rows(s, o)) for o in s.ops[2:]]
    name = f"ATOM.{s.mods['op'].upper()}.128"
    out = RZ if s.ops[0].kind == O_SINK else r(_wide_rows(s, s.ops[0]))
    return atomic128(s.sass(name, [out], [K_NONE, RZ, URZ, imm(0), *values]), space, get)


def _with(update: Callable[[Arr, Arr], Arr], values: Arr) -> Callable[[Arr, Arr], Arr]:
    return lambda old, who: update(old, values[who])


def _atom_vector(s: PtxSite, t: str) -> Exec:
    """Vector atomics: each element is a separate atomic."""
    size, what = bits_of(t) // 8, s.mods["op"]
    returns = s.name == "atom"
    ops = s.ops[1:] if returns else s.ops
    get = address(s, ops[0], s.mods.get("space", ""))
    space = SPACES[s.mods.get("space", "")]
    values = [s.src(o, t) for o in _elements(s, ops[1])]
    puts = [s.dst(o, t) for o in _elements(s, s.ops[0])] if returns and s.ops[0].kind != O_SINK else []
    update = _update_of(s, t, what, size)

    def run(m: Machine, a: Active) -> None:
        at = get(m, a)
        for k, g in enumerate(values):
            v = np.broadcast_to(g(m, a), (a.n,))
            old = np.zeros(a.n, UNSIGNED[8 * size])
            for p in places(m, a, space, at + at.dtype.type(size * k), size, len(values) * size if k == 0 else size):
                here = np.arange(a.n) if p.where is None else p.where
                offset = p.offset
                if ptx(m).choice.reverse:
                    here, offset = here[::-1], offset[::-1]
                old[here] = read_modify_write(p.flat, offset, size, "", _with(update, v[here]))
            if puts:
                puts[k](m, a, old)

    return run


def _alloca(s: PtxSite) -> Exec:
    """alloca: allocates local memory from the bottom up, until the function returns."""
    t = s.types[0]
    size, put = s.src(s.ops[1], t), s.dst(s.ops[0], t)
    align = np.int64(max(s.ops[2].value if len(s.ops) > 2 else 8, 1))

    def run(m: Machine, a: Active) -> None:
        x = ptx(m)
        start = (x.dynamic[a.sel] + align - 1) // align * align
        end = start + np.broadcast_to(size(m, a), (a.n,)).astype(I64)
        full = end > x.frame[a.sel]
        if full.any():
            raise Fault(OutOfBounds, "alloca: no local memory left", int(np.argmax(full)))
        x.dynamic[a.sel] = end
        put(m, a, start.view(U64).astype(UNSIGNED[bits_of(t)]))

    return run


def _stack_save(s: PtxSite) -> Exec:
    t = s.types[0]
    put = s.dst(s.ops[0], t)
    return lambda m, a: put(m, a, ptx(m).dynamic[a.sel].view(U64).astype(UNSIGNED[bits_of(t)]))


def _stack_restore(s: PtxSite) -> Exec:
    g = s.src(s.ops[0], s.types[0])

    def run(m: Machine, a: Active) -> None:
        ptx(m).dynamic[a.sel] = np.broadcast_to(g(m, a), (a.n,)).astype(I64)

    return run


def _update_of(s: PtxSite, t: str, what: str, size: int) -> Callable[[Arr, Arr], Arr]:
    if size == 2:
        bf16 = t == "bf16"
        if what != "add":
            raise s.unknown()
        if t not in ("f16", "bf16"):
            raise s.unknown()
        return lambda o, v: half.pattern(half.value(o, bf16) + half.value(v, bf16), bf16).astype(U16)
    name = ".".join(x for x in ("ATOMG", what.upper(), _sass_type(t, size)) if x)
    if t == "f32" and s.has("noftz"):
        name = name.replace(".FTZ", "")
    return atomic_update(Site(op(name), [], [], 0, False), size)


# -- addresses


def _window(s: PtxSite, space: str) -> int:
    image = s.program.image
    if space.startswith("shared"):
        return image.shared_window
    if space == "local":
        return image.local_window
    return image.const_base if space == "const" else 0


def _cvta(s: PtxSite) -> Exec:
    t = type_of(s)
    window = np.uint64(_window(s, s.mods["space"]))
    if s.has("to"):
        return s.each(lambda v: (v.astype(U64) - window).astype(v.dtype), [t], t)
    return s.each(lambda v: (v.astype(U64) + window).astype(v.dtype), [t], t)


def _isspacep(s: PtxSite) -> Exec:
    space = s.mods["space"]
    o = s.ops[1]
    g = s.src(o, "b64")
    put = s.setp(s.ops[0])
    image = s.program.image
    low, high = np.uint64(image.const_base), np.uint64(image.const_base + image.const_size)

    def run(m: Machine, a: Active) -> None:
        v = np.broadcast_to(g(m, a), (a.n,))
        k = spaces(m, v)
        const = (v >= low) & (v < high)
        if space == "const":
            r = const
        elif space == "global":
            r = (k == GLOBAL) & ~const
        elif space == "local":
            r = k == LOCAL
        else:
            r = k == SHARED
            if space == "shared::cta" or space == "shared":
                rank = ((v >> np.uint64(24)) & np.uint64(0xFF)).astype(I64)
                r = r & ((rank == m.block_of[a.sel] % m.cluster_size) | (not m.has_clusters))
        put(m, a, r)

    return run


# -- mov


def _mov(s: PtxSite) -> Exec:
    t = type_of(s)
    dst, src = s.ops[0], s.ops[1]
    if t == "pred":
        g, out = s.pred(src), s.setp(dst)
        return lambda m, a: out(m, a, g(m, a))
    if s.has("vec"):
        gets = [s.src(e, t) for e in _elements(s, src)]
        puts = [s.dst(e, t) for e in _elements(s, dst)]

        def move(m: Machine, a: Active) -> None:
            values = [g(m, a) for g in gets]
            for put, v in zip(puts, values, strict=True):
                put(m, a, v)

        return move
    if dst.kind == O_VEC or src.kind == O_VEC or t == "b128":
        return _repack(s, dst, src, t)
    value, store = s.src(src, t), s.dst(dst, t)
    return lambda m, a: store(m, a, value(m, a))


def _repack(s: PtxSite, dst: Operand, src: Operand, t: str) -> Exec:
    """mov between a register and a vector, by way of a list of 32-bit words or of narrower parts."""
    total = bits_of(t)
    pieces = src.elems if src.kind == O_VEC else [src]
    outs = dst.elems if dst.kind == O_VEC else [dst]
    unit = min(total // max(len(pieces), len(outs)), 32)
    take = [_split(s, o, total // len(pieces), unit) for o in pieces]
    give = [_join(s, o, total // len(outs), unit) for o in outs]
    per = [total // len(outs) // unit] * len(outs)

    def run(m: Machine, a: Active) -> None:
        parts = [x for f in take for x in f(m, a)]
        at = 0
        for f, n in zip(give, per, strict=True):
            f(m, a, parts[at : at + n])
            at += n

    return run


def _split(s: PtxSite, o: Operand, bits: int, unit: int) -> Callable[[Machine, Active], list[Arr]]:
    t = UNSIGNED[unit]
    if bits == 128:
        row = _wide_rows(s, o)
        return lambda m, a: [m.R[row + k][a.sel] for k in range(4)]
    g = s.src(o, f"b{bits}")
    count = bits // unit
    if count == 1:
        return lambda m, a: [g(m, a)]

    def run(m: Machine, a: Active) -> list[Arr]:
        v = g(m, a)
        return [(v >> v.dtype.type(unit * k)).astype(t) for k in range(count)]

    return run


def _join(s: PtxSite, o: Operand, bits: int, unit: int) -> Callable[[Machine, Active, list[Arr]], None]:
    if o.kind == O_SINK:
        return lambda m, a, parts: None
    if bits == 128:
        row = _wide_rows(s, o)

        def wide(m: Machine, a: Active, parts: list[Arr]) -> None:
            for k, v in enumerate(list(parts)):
                m.R[row + k][a.sel] = v

        return wide
    put = s.dst(o, f"b{bits}")
    t = UNSIGNED[bits]

    def run(m: Machine, a: Active, parts: list[Arr]) -> None:
        v = parts[0].astype(t)
        for k, x in enumerate(parts[1:], 1):
            v = v | x.astype(t) << t.type(unit * k)
        put(m, a, v)

    return run


def _cp_async(s: PtxSite) -> Exec:
    """cp.async, done at once; bytes beyond the source size are zero."""
    get_to, get_from = address(s, s.ops[0], "shared"), address(s, s.ops[1], "global")
    size = s.ops[2].value
    count: Getter | None = None
    if len(s.ops) > 3 and not (s.ops[3].kind == O_REG and s.ops[3].var is not None and s.ops[3].var.type == "b64"):
        if s.ops[3].kind == O_REG and s.ops[3].var is not None and s.ops[3].var.type == "pred":
            ignore = s.pred(s.ops[3])
            count = lambda m, a: np.where(ignore(m, a), np.uint32(0), np.uint32(size))  # noqa: E731
        else:
            count = s.src(s.ops[3], "u32")

    def run(m: Machine, a: Active) -> None:
        n = np.broadcast_to(count(m, a), (a.n,)).astype(I64) if count is not None else np.full(a.n, size, I64)
        at = get_from(m, a)
        bad = (at & np.uint64(size - 1)) != 0
        if bad.any():
            i = int(np.argmax(bad))
            raise Fault(Misaligned, f"address 0x{int(at[i]):x} is not a multiple of {size}", i)
        data = np.zeros((a.n, size), U8)
        for k in range(size):
            some = np.flatnonzero(n > k)
            if len(some):
                try:
                    data[some, k] = m.arena.data[m.arena.offsets(at[some] + np.uint64(k), 1, 1)]
                except Fault as f:
                    raise Fault(f.error, f.message, int(some[f.lane])) from None
        words = data.view(U32)
        store_values(m, a, SHARED, get_to(m, a), size, [np.ascontiguousarray(words[:, k]) for k in range(size // 4)])

    return run


def _mapa(s: PtxSite) -> Exec:
    t = type_of(s)

    def f(v: Arr, rank: Arr) -> Arr:
        result: Arr = (v & v.dtype.type(~0xFF000000 & (1 << bits_of(t)) - 1)) | rank.astype(v.dtype) << v.dtype.type(24)
        return result

    return s.each(f, [t, "u32"], t)


def _getctarank(s: PtxSite) -> Exec:
    return s.each(lambda v: (v >> v.dtype.type(24)).astype(U32) & np.uint32(0xFF), [type_of(s)], "u32")


def _createpolicy(s: PtxSite) -> Exec:
    """createpolicy: a policy only serves as an operand, and its bits are undefined."""
    put = s.dst(s.ops[0], "b64")
    if s.mods["mode"] == "cvt":
        g = s.src(s.ops[1], "b64")
        return lambda m, a: put(m, a, g(m, a))
    return lambda m, a: put(m, a, np.full(a.n, ptx(m).choice.poison, U64))


# A multicast object has one copy here: accesses to it are plain accesses.
MEMORY: Final[dict[str, Builder]] = {
    "ld": _ld, "ldu": _ld, "st": store, "atom": atomic, "red": atomic, "cvta": _cvta, "isspacep": _isspacep, "mov": _mov,
    "cp.async": _cp_async, "mapa": _mapa, "getctarank": _getctarank, "alloca": _alloca, "stacksave": _stack_save,
    "stackrestore": _stack_restore, "multimem.ld_reduce": _ld, "multimem.st": store, "multimem.red": atomic, "createpolicy": _createpolicy,
}  # fmt: skip

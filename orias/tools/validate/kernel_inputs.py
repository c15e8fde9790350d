"""Generates inputs for a kernel from its uses of the parameters.

A parameter (or a part of one) is a pointer if its value flows into the address of an access.  Each pointer gets its own
memory, other numbers small values.
"""

from typing import Final

from orias.ptx.ast import O_ADDR, O_REG, O_SREG, O_SYM, O_VEC, TYPE_BITS, Function, Instr, Module, Operand
from orias.target.descriptors import HANDLE_KINDS
from orias.tools.validate.bound_objects import Handle
from orias.tools.validate.case import Case, Region

Origin = tuple[int, int, int]
"""(parameter, byte offset, size in bytes)."""

_PASS: Final = frozenset(("mov", "add", "sub", "cvta", "selp", "and", "or", "max", "min"))
_LAST: Final = frozenset(("mad", "mad.lo", "mad.wide"))
_MEMORY: Final = frozenset((
    "ld", "ldu", "st", "atom", "red", "prefetch", "prefetchu", "cp.async", "isspacep", "ldmatrix", "stmatrix", "wmma.load", "wmma.store",
    "cp.async.bulk", "cp.reduce.async.bulk", "cp.async.bulk.prefetch", "st.async", "red.async", "st.bulk", "discard", "applypriority",
))  # fmt: skip
_LOOKS: Final = ("tex", "tld4", "suld", "sust", "sured", "txq", "suq")


class Uses:
    """A kernel's uses of its parameters: the origins that are pointers, and all loads of parameters with their types."""

    def __init__(self, kernel: Function) -> None:
        self.pointers: set[Origin] = set()
        self.structures: set[Origin] = set()
        """Pointers to memory that holds pointers."""
        self.handles: dict[Origin, Handle] = {}
        """Handles of textures, surfaces and samplers among the parameters."""
        self.references: dict[str, Handle] = {}
        """References, by name."""
        self.loads: dict[Origin, str] = {}
        self.specials: set[tuple[str, str]] = set()
        self._index = {id(p): k for k, p in enumerate(kernel.params)}
        self._types = [p.type if not p.dims and p.type[0] == "f" else "" for p in kernel.params]
        """Types of parameters that are declared as floats, which the loads of some producers do not tell."""
        self._taint: dict[int, set[Origin]] = {}
        self._address: dict[int, tuple[int, int]] = {}
        self._names: dict[int, set[str]] = {}
        """References whose handle a register may hold."""
        self._read: dict[int, set[Origin]] = {}
        """Pointers through which the value of a register of 64 bits was loaded."""
        body = [i for i in kernel.body or [] if isinstance(i, Instr)]
        for i in body:
            for o in i.ops:
                for e in [o, *o.elems]:
                    if e.kind == O_SREG:
                        self.specials.add((e.name, e.comp))
        while True:
            before = self._known()
            for i in body:
                self._step(i)
            if self._known() == before:
                break

    def _known(self) -> int:
        sets: list[set[Origin] | set[str]] = [*self._taint.values(), *self._read.values(), *self._names.values()]
        return sum(len(t) for t in sets) + len(self._address)

    def _of(self, o: Operand) -> set[Origin]:
        return self._taint.get(id(o.var), set()) if o.var is not None else set()

    def _through(self, o: Operand) -> set[Origin]:
        return self._read.get(id(o.var), set()) if o.var is not None else set()

    def _put(self, o: Operand, origins: set[Origin], into: dict[int, set[Origin]] | None = None) -> None:
        if o.kind == O_REG and o.var is not None and origins:
            (self._taint if into is None else into).setdefault(id(o.var), set()).update(origins)

    def _step(self, i: Instr) -> None:
        name = i.sig.name
        if name == "ld" and i.sig.mods.get("space", "").startswith("param"):
            self._load(i)
            return
        if name in _MEMORY:
            for o in i.ops:
                if o.kind == O_ADDR or name == "isspacep":
                    self.pointers |= self._of(o)
                    if not self._of(o):
                        self.structures |= self._through(o)
            if name == "ld" and len(i.ops) > 1 and TYPE_BITS[i.sig.types[-1]] == 64:
                for e in i.ops[0].elems or [i.ops[0]]:
                    self._put(e, self._of(i.ops[1]), self._read)
            if name == "st" and i.sig.mods.get("space", "").startswith("param"):
                for o in i.ops[1:]:
                    for e in o.elems or [o]:
                        self.pointers |= {x for x in self._of(e) if x[2] == 8}
            return
        if name.startswith(_LOOKS) and i.ops:
            self._look(i)
            return
        if name == "call":
            for o in i.args:
                self.pointers |= {x for x in self._of(o) if x[2] == 8}
            return
        if not i.ops:
            return
        if name == "mov" and i.ops[1].kind == O_SYM and i.ops[1].var is not None and id(i.ops[1].var) in self._index:
            if i.ops[0].var is not None:
                self._address[id(i.ops[0].var)] = (self._index[id(i.ops[1].var)], i.ops[1].value)
            return
        if name in _PASS and i.ops[0].var is not None:
            for o in i.ops[1:]:
                if o.var is not None:
                    found = {o.var.name} if o.var.type in HANDLE_KINDS else self._names.get(id(o.var), set())
                    if found:
                        self._names.setdefault(id(i.ops[0].var), set()).update(found)
        sources = i.ops[1:] if name in _PASS else i.ops[3:4] if name in _LAST else []
        for o in sources:
            self._put(i.ops[0], self._of(o))
            self._put(i.ops[0], self._through(o), self._read)
            if (
                o.var is not None
                and id(o.var) in self._address
                and i.ops[0].var is not None
                and name in ("mov", "cvta")
            ):
                self._address[id(i.ops[0].var)] = self._address[id(o.var)]

    def _look(self, i: Instr) -> None:
        """Notes the handles of an instruction on a texture or surface; a query alone says little of its geometry."""
        name = i.sig.name
        where = i.ops[0] if name.startswith(("sust", "sured")) else i.ops[min(1, len(i.ops) - 1)]
        role = "surface" if name.startswith("su") else "texture"
        kind = i.sig.mods.get("dim", "")
        self._note(where, Handle(role, kind or "2d", i.sig.types[0] if kind else "f32"), bool(kind))
        if len(where.elems) == 2:
            self._note(where.elems[0], Handle("sampler"), True)

    def _note(self, where: Operand, handle: Handle, known: bool) -> None:
        """Notes what a handle stands for, unless that is known."""
        var = where.var
        if var is None:
            return
        for name in (var.name,) if var.type in HANDLE_KINDS else self._names.get(id(var), ()):
            if known or name not in self.references:
                self.references[name] = handle
        for origin in self._of(where):
            if origin[2] == 8 and (known or origin not in self.handles):
                self.handles[origin] = handle

    def _load(self, i: Instr) -> None:
        at = i.ops[1]
        if at.var is None:
            return
        base = self._index.get(id(at.var), -1)
        offset = at.value
        if base < 0:
            known = self._address.get(id(at.var))
            if known is None:
                return
            base, offset = known[0], known[1] + at.value
        t = i.sig.types[-1]
        size = TYPE_BITS[t] // 8
        for k, e in enumerate(i.ops[0].elems if i.ops[0].kind == O_VEC else [i.ops[0]]):
            origin = (base, offset + k * size, size)
            self.loads.setdefault(origin, self._types[base] or t)
            self._put(e, {origin})


def scalar(t: str, n: int, turn: int) -> int:
    """A small value of a type."""
    floats = {
        "f32": (0x3FC00000, 0x3E800000, 0xC0400000), "f64": (0x3FF8000000000000, 0x3FD0000000000000, 0xC008000000000000),
        "f16": (0x3E00, 0x3400, 0xC200), "bf16": (0x3FC0, 0x3E80, 0xC040),
    }  # fmt: skip
    if t in floats:
        return floats[t][turn % 3]
    return (n, n, 5, 1)[turn % 4]


def shape(kernel: Function, uses: Uses) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Grid and block: as the directives require, else a few warps, with as many dimensions as the kernel reads."""
    names = {(n, c or "x") for n, c in uses.specials}
    required = kernel.directives.get("reqntid")
    most = 1
    for n in kernel.directives.get("maxntid", (1024,)):
        most *= n
    block = (64, 1, 1)
    if ("tid", "z") in names or ("ntid", "z") in names:
        block = (8, 4, 2)
    elif ("tid", "y") in names or ("ntid", "y") in names:
        block = (16, 4, 1)
    if required:
        r = [*required, 1, 1]
        block = (r[0], r[1], r[2])
    elif block[0] * block[1] * block[2] > most:
        block = (min(most, 32), 1, 1)
    grid = (
        2 if ("ctaid", "x") in names else 1,
        2 if ("ctaid", "y") in names else 1,
        2 if ("ctaid", "z") in names else 1,
    )
    cluster = [*kernel.directives.get("reqnctapercluster", ()), 1, 1, 1]
    return (max(grid[0], cluster[0]), max(grid[1], cluster[1]), max(grid[2], cluster[2])), block


def generate(
    module: Module,
    kernel: Function,
    turn: int,
    size: int = 1 << 16,
    profile: str = "",
    block: tuple[int, int, int] | None = None,
) -> Case:
    """Case number `turn` of a kernel.

    Each region has `size` bytes; its pointer is at a quarter of it.  `block` replaces the block of :func:`shape`.
    """
    uses = Uses(kernel)
    case = Case(kernel.name)
    case.grid, case.block = shape(kernel, uses)
    if block is not None and "reqntid" not in kernel.directives:
        case.block = block
    total = case.grid[0] * case.block[0] * case.block[1] * case.block[2]
    dynamic = [v for v in [*module.variables, *kernel.variables] if v.space == "shared" and not v.size]
    case.shared = 8192 if dynamic else 0
    kind = profile or ("small", "float", "random")[turn % 3]
    for k, p in enumerate(kernel.params):
        data = bytearray(0 if p.type in HANDLE_KINDS else p.size)
        for j, (origin, t) in enumerate(sorted(uses.loads.items())):
            index, offset, width = origin
            if index != k or offset + width > p.size:
                continue
            if origin in uses.handles:
                case.handles[k, offset] = uses.handles[origin]
            elif origin in uses.pointers and width == 8:
                case.pointers[k, offset] = Region(size, kind, 1000 * turn + 10 * k + j, size // 4)
            else:
                value = scalar(t, total - (3 if turn else 0), turn + (1 if t.startswith(("f", "bf")) else 0))
                data[offset : offset + width] = (value & (1 << 8 * width) - 1).to_bytes(width, "little")
        case.params.append(data)
    case.references = dict(uses.references)
    return case

"""Every opcode of the matrix, barrier-object, copy, tensor and cluster instructions that the front end takes up to sm_90a.

The rows of its table give the words (for mma, wmma and wgmma its lists of shapes and types); each combination that parses, in one
line with operands from OPERANDS, is an opcode.  Left out: order and scope of copies (they change nothing that can be seen), and the
modes of later targets.
"""

import functools
import itertools
from collections.abc import Iterator
from typing import Final

from orias.diag import CompileError
from orias.ptx import matrix_checks, wmma_checks
from orias.ptx.ast import Module, Sig
from orias.ptx.form_table import ANY, rows
from orias.ptx.instructions import Checker
from orias.ptx.names import NAMES, SLOT_OF
from orias.ptx.opcode import OpcodeError, parse_opcode
from orias.ptx.parser import parse

TARGETS: Final = ("sm_75", "sm_80", "sm_89", "sm_90", "sm_90a")
_TWO_SPACES: Final = (
    "cp.async",
    "cp.async.bulk",
    "cp.async.bulk.tensor",
    "cp.reduce.async.bulk",
    "cp.reduce.async.bulk.tensor",
)
_SPACES: Final = ("global", "shared", "shared::cta", "shared::cluster")
_HERE: Final = ("shared", "shared::cta")
_ALWAYS: Final = ("completion", "dim")
"""Words that the documents demand, whatever ptxas takes."""
_UNSEEN: Final = frozenset(("gpu", "sys", "mmio", "weak", "relaxed", "release", "cta", "cluster", "cp_mask"))
_LATER_TYPES: Final[dict[str, tuple[str, ...]]] = {"cp.async.bulk": ("b128",), "st.async": ("b128",)}
"""Types that begin with a PTX version after that of the programs."""
_LATER: Final = frozenset(
    (
        "im2col::w",
        "im2col::w::128",
        "tile::gather4",
        "tile::scatter4",
        "cta_group::1",
        "cta_group::2",
        "m16n16",
        "m8n16",
        "m16n8",
    )
)
_MEMORY: Final = ("cp.async", "cp.reduce.async", "st.async", "red.async")
Words = tuple[str, ...]
REGISTERS: Final = {
    "b8": "%h1", "u8": "%h1", "s8": "%h1", "b16": "%h1", "u16": "%h1", "s16": "%h1", "b32": "%r7", "u32": "%r7", "s32": "%r7", "f32": "%f1",
    "b64": "%rd6", "u64": "%rd6", "s64": "%rd6", "f64": "%d1",
}  # fmt: skip


def address(words: Words, register: str = "%rd9", name: str = "mb") -> str:
    """The operand for a barrier object: by name where a space is given, by a generic address otherwise."""
    return f"[{name}]" if any(w.startswith("shared") for w in words) else f"[{register}]"


def _tensor(name: str, words: Words) -> str:
    rank = int(next(w for w in words if w[1:] == "d" and w[0].isdigit())[0])
    place = ", ".join(
        ("4", "2", "1", "2", "1")[:rank]
        if "im2col" not in words and "im2col_no_offs" not in words
        else ("4", *["0"] * (rank - 1))
    )
    offsets = ", {" + ", ".join(["0"] * (rank - 2)) + "}" if "im2col" in words and "reduce" not in name else ""
    hint = ", %rd4" if "L2::cache_hint" in words else ""
    if "prefetch" in name:
        return f"[%tm, {{{place}}}]{offsets}{hint}"
    spaces = [w for w in words if w in _SPACES]
    if spaces[:1] == ["global"]:
        return f"[%tm, {{{place}}}], [smem]{hint}"
    mask = ", %h2" if "multicast::cluster" in words else ""
    return f"[smem], [%tm, {{{place}}}], [mb]{offsets}{mask}{hint}"


def _copy(name: str, words: Words) -> str:
    hint = ", %rd4" if "L2::cache_hint" in words else ""
    spaces = [w for w in words if w in _SPACES]
    if name == "cp.async":
        return f"[%r1], [%rd3], {16 if 'cg' in words else 8}{hint}"
    if name == "cp.async.bulk.prefetch":
        return f"[%in], 256{hint}"
    if spaces[:1] == ["global"]:
        return f"[%out], [smem], 512{hint}"
    mask = ", %h2" if "multicast::cluster" in words else ""
    return f"[%r8], [{'%in' if spaces[1:] == ['global'] else '%r9'}], 256, [%r10]{mask}{hint}"


def operands(name: str, words: Words) -> str:
    """Operands for an opcode, in registers that Program of ``tests/asynchronous/harness.py`` declares (and %d1, f64)."""
    where = address(words)
    if name.startswith("mbarrier."):
        result = "_" if "shared::cluster" in words else "%rd3"
        if name in ("mbarrier.init", "mbarrier.expect_tx", "mbarrier.complete_tx"):
            return f"{where}, {3 if name.endswith('init') else 16}"
        if name == "mbarrier.inval":
            return where
        if name == "mbarrier.pending_count":
            return "%r20, %rd3"
        if "wait" in name:
            return f"%p1, {where}, {'0' if name.endswith('parity') else '%rd3'}"
        return f"{result}, {where}" + (", 32" if name.endswith("expect_tx") else ", 2" if "noComplete" in words else "")
    if name == "cp.async.mbarrier.arrive":
        return where
    if "tensor" in name:
        return _tensor(name, words)
    if name in ("cp.async", "cp.async.bulk", "cp.async.bulk.prefetch", "cp.reduce.async.bulk"):
        return _copy(name, words)
    if name in ("cp.async.wait_group", "cp.async.bulk.wait_group", "wgmma.wait_group"):
        return "0"
    if name in ("st.async", "red.async"):
        value = REGISTERS[words[-1]]
        count = next((int(w[1]) for w in words if w in ("v2", "v4", "v8")), 1)
        return f"[%r6], {value if count == 1 else '{' + ', '.join([value] * count) + '}'}, [%r11]"
    if name == "mapa":
        return "%rd5, %rd4, %r3" if words[-1][1:] == "64" else "%r6, %r4, %r3"
    if name == "getctarank":
        return "%r9, %rd5" if words[-1][1:] == "64" else "%r9, %r6"
    if name.startswith("createpolicy"):
        return {"createpolicy.fractional": "%rd3, 0.5", "createpolicy.range": "%rd3, [%rd4], %r1, %r2"}.get(
            name, "%rd3, %rd4"
        )
    if name == "fence.proxy":
        return "[%in], 128" if "tensormap::generic" in words and "acquire" in words else ""
    if name == "elect":
        return "%r1|%p1, 0xffffffff"
    if name.startswith("setmaxnreg"):
        return "40" if name.endswith("dec") else "232"
    if name == "movmatrix":
        return "%r1, %r2"
    if name in ("ldmatrix", "stmatrix"):
        count = int(next(w for w in words if w[0] == "x")[1:])
        vector, place = "{" + ", ".join(f"%r{k + 1}" for k in range(count)) + "}", address(words, "%in", "smem")
        return f"{vector}, {place}" if name == "ldmatrix" else f"{place}, {vector}"
    return ""


ROWS: Final = (
    "ldmatrix", "stmatrix", "movmatrix", "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group", "mbarrier.init", "mbarrier.inval",
    "mbarrier.arrive", "mbarrier.arrive_drop", "mbarrier.arrive.expect_tx", "mbarrier.arrive_drop.expect_tx", "mbarrier.test_wait",
    "mbarrier.test_wait.parity", "mbarrier.try_wait", "mbarrier.try_wait.parity", "mbarrier.pending_count", "mbarrier.expect_tx",
    "mbarrier.complete_tx", "cp.async", "cp.async.commit_group", "cp.async.wait_group", "cp.async.wait_all", "cp.async.mbarrier.arrive",
    "cp.async.bulk", "cp.async.bulk.commit_group", "cp.async.bulk.wait_group", "cp.async.bulk.prefetch", "cp.async.bulk.tensor",
    "cp.async.bulk.prefetch.tensor", "cp.reduce.async.bulk", "cp.reduce.async.bulk.tensor", "st.async", "red.async", "mapa", "getctarank",
    "barrier.cluster.arrive", "barrier.cluster.wait", "fence.proxy", "elect", "griddepcontrol", "setmaxnreg.inc", "setmaxnreg.dec",
    "createpolicy.fractional", "createpolicy.range", "createpolicy.cvt",
)  # fmt: skip
"""Names whose rows say everything."""
_HEAD: Final = """.reg .b16 %h<8>; .reg .b32 %r<40>; .reg .b64 %rd<40>; .reg .f32 %f<40>; .reg .f64 %d<4>; .reg .pred %p<8>; .reg .b64 %out, %in, %tm;
.shared .align 1024 .b8 smem[16384]; .shared .align 8 .b64 mb[4];"""


@functools.cache
def _checker(target: str) -> Checker:
    module = Module()
    module.version, module.target = (8, 7), target
    return Checker(module)


def _fine(sig: Sig, target: str) -> bool:
    checked = _checker(target).opcode(sig)
    return checked.row is not None and not checked.errors


@functools.cache
def first_target(text: str) -> str:
    """The first target whose opcode checks take an opcode; empty if there is none."""
    try:
        sig = parse_opcode(text)
    except OpcodeError:
        return ""
    if not _fine(sig, TARGETS[-1]):
        # What the last target does not take, none does.
        return ""
    return next(t for t in TARGETS if _fine(sig, t))


def documented(name: str, words: Words) -> bool:
    """Whether an opcode is one of those that the documents list: the front end, like ptxas, takes words that fit nothing."""
    has = set(words)
    sides = tuple(w for w in words if w in _SPACES)
    inward = sides[1:] == ("global",) and sides[:1] in (("shared::cluster",), ("shared::cta",))
    outward = sides == ("global", "shared::cta")
    if name in ("cp.async.bulk", "cp.async.bulk.tensor", "cp.reduce.async.bulk", "cp.reduce.async.bulk.tensor"):
        if "multicast::cluster" in has and sides != ("shared::cluster", "global"):
            return False
        if ("bulk_group" in has) != outward:
            return False
    if name == "cp.async.bulk.tensor":
        return (outward and "im2col" not in has) or (inward and "im2col_no_offs" not in has)
    if name == "cp.reduce.async.bulk.tensor":
        return outward and "im2col" not in has
    if name == "cp.reduce.async.bulk":
        return not inward and ("noftz" in has) == ("add" in has and words[-1] in ("f16", "bf16"))
    if name.startswith("createpolicy"):
        # The second priority.
        return [w for w in words if w.startswith("L2::")][1:] in ([], ["L2::evict_first"], ["L2::evict_unchanged"])
    if name == "fence.proxy":
        scoped = has & {"cta", "cluster", "gpu", "sys"}
        if has & {"alias", "async"}:
            return len(has) == 1 or ("async" in has and len(has) == 2 and bool(sides))
        if "tensormap::generic" in has:
            return len(has) == 3 and bool(scoped)
        return (
            len(has) == 4
            and "cluster" in has
            and ("acquire" in has) == ("sync_restrict::shared::cluster" in has)
            and not sides
        )
    return not (name in ("st.async", "red.async") and "global" in has)


def _parses(name: str, words: Words, target: str) -> bool:
    line = f"{'.'.join((name, *words))} {operands(name, words)};"
    try:
        parse(
            f".version 8.7\n.target {target}\n.address_size 64\n.visible .entry k() {{\n{_HEAD}\n{line}\nret; }}\n",
            "a.ptx",
        )
    except CompileError:
        return False
    return True


def _combinations(name: str) -> Iterator[Words]:
    """Modifiers and types of each combination that the rows of a name allow."""
    base = next(n for n in sorted(NAMES, key=len, reverse=True) if name == n or name.startswith(n + "."))
    own = dict(item.partition("=")[::2] for item in NAMES[base].split())
    unseen = _UNSEEN if name.startswith(_MEMORY) and name != "cp.async.mbarrier.arrive" else frozenset()
    fixed = ("relaxed", "cluster") if name == "red.async" else ()
    for types, row in rows(name).items():
        if types == _LATER_TYPES.get(name):
            continue
        slots: dict[str, list[str]] = {}
        for word in sorted(row.words - _LATER - unseen):
            slots.setdefault(own.get(word) or SLOT_OF.get(word) or "shape", []).append(word)
        groups: list[list[Words]] = []
        for slot, words in slots.items():
            if slot == "dst|src":
                sides = [
                    (x, y)
                    for x in words
                    for y in words
                    if x != y and (name != "cp.async" or (x in _HERE and y == "global"))
                ]
                groups.append(sides if name in _TWO_SPACES else [(), *((w,) for w in words)])
            elif "|" in slot:
                groups.append([*((w,) for w in words), *itertools.product(words, words)])
            else:
                needed = slot in _ALWAYS or any(set(r) & set(words) for r in row.required)
                groups.append([(w,) for w in words] if needed else [(), *((w,) for w in words)])
        for choice in itertools.product(*groups):
            yield (*fixed, *(w for part in choice for w in part), *(() if types == (ANY,) else types))


@functools.cache
def of_rows(name: str) -> dict[Words, str]:
    """The opcodes of a name of ROWS: words, and the first target that takes them."""
    out = {}
    for words in _combinations(name):
        target = first_target(".".join((name, *words))) if documented(name, words) else ""
        if target and _parses(name, words, target):
            out[words] = target
    return out


def _members(row: str) -> Iterator[Words]:
    return itertools.product(*[matrix_checks.CLASSES.get(t, (t,)) for t in row.split(".")])


def of_mma() -> set[str]:
    """The opcodes of mma and mma.sp."""
    out = set()
    for table, sparse in ((matrix_checks.DENSE, [""]), (matrix_checks.SPARSE, [".sp", ".sp::ordered_metadata"])):
        for shape, listed in table.items():
            for row, sp in itertools.product(listed.split(), sparse):
                for types, a, b in itertools.product(_members(row), ("row", "col"), ("row", "col")):
                    for more in ("", ".satfinite", ".rn", ".rz", ".rm", ".rp", ".xor.popc", ".and.popc"):
                        tail = ".".join(types)
                        text = f"mma{sp}.sync.aligned.{shape}.{a}.{b}{more}.{tail}"
                        if more[1:3] in ("rn", "rz", "rm", "rp") and types[0] != "f64":
                            continue
                        if more.endswith("popc"):
                            if types[1] != "b1":
                                continue
                            text = f"mma{sp}.sync.aligned.{shape}.{a}.{b}.{tail}{more}"
                        if first_target(text):
                            out.add(text)
    return out


def of_wmma() -> set[str]:
    """The opcodes of wmma; of loads and stores of sums those whose shape has such a product."""
    products = set()
    sums = set()
    shapes = sorted({s for group in wmma_checks.FACTORS.values() for s in group})
    lists = [f"{d}.{c}" for d in ("f16", "f32") for c in ("f16", "f32")]
    lists += [f"{s}.{t}.{t}.{s}" for t in wmma_checks.FACTORS if t != "f16" for s in wmma_checks.SUMS]
    for shape, a, b, types in itertools.product(shapes, ("row", "col"), ("row", "col"), lists):
        for op, rnd, sat in itertools.product(
            ("", ".xor.popc", ".and.popc"), ("", ".rn", ".rz", ".rm", ".rp"), ("", ".satfinite")
        ):
            text = f"wmma.mma{op}.sync.aligned.{a}.{b}.{shape}{rnd}.{types}{sat}"
            if first_target(text):
                products.add(text)
                sums.update((shape, t) for t in (types.split(".")[0], types.split(".")[-1]))
    transfers = set()
    for space, layout in itertools.product(("", ".global", ".shared", ".shared::cta"), ("row", "col")):
        for letter, (type_, group) in itertools.product("ab", wmma_checks.FACTORS.items()):
            transfers.update(f"wmma.load.{letter}.sync.aligned.{layout}.{s}{space}.{type_}" for s in group)
        for shape, type_ in sums:
            transfers.update(f"wmma.{n}.sync.aligned.{layout}.{shape}{space}.{type_}" for n in ("load.c", "store.d"))
    return products | {text for text in transfers if first_target(text)}

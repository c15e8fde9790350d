"""ptxas's messages on modifier words that an instruction does not take, and on missing ones.

Both are rows of :mod:`orias.ptx.rules`.  Facts: docs/facts/front-end.md (opcodes).
"""

from typing import Final

from orias.ptx.ast import TYPE_WORDS, Sig
from orias.ptx.form_table import Row, rows
from orias.ptx.gates import LATE, PRODUCT_WORDS, Place, messages
from orias.ptx.names import SLOT_OF
from orias.ptx.rules import Rule, apply, parse_rows
from orias.ptx.targets import listed

SPACES: Final = frozenset(
    (
        "global",
        "shared",
        "shared::cta",
        "shared::cluster",
        "local",
        "const",
        "param",
        "param::entry",
        "param::func",
        "tex",
    )
)
RESTRICTIONS: Final = frozenset(("mbarrier_init", "sync_restrict::shared::cta", "sync_restrict::shared::cluster"))
"""Words whose gates are told with their refusal."""
VECTOR_REMARK: Final = "Vector Type not specified properly"
ADVISORY: Final = "Advisory:"
_SLOW: Final = "expected to have substantially reduced performance on some future architectures"
MANY_PRIORITIES: Final = "Multiple cache eviction priority modifiers specified"
_ILLEGAL: Final = """
n=cvt word=ftz t0!=f16/f32/f64 t1!=f16/f32/f64 | n=cvt word=ftz t0=bf16 | n=cvt word=ftz t1=bf16 -> Illegal modifier '.ftz' for instruction 'cvt'
n=cvt word=ftz => Modifier '.ftz' does not apply to this type of convert operation
n=cvt word=sat => Illegal modifier '.sat' for instruction 'cvt'
word=cc elsewhere t0=u16/s16 => Modifier '.cc' applies only to {n} integer types
word=cc t0=INTEGER => {plain}
word=cc => {plain} && Modifier '.cc' applies only to {n} integer types
word=sat t0 elsewhere => Modifier '.sat' does not apply to '.{t0}' type
word=SPACE => No state space qualifier expected for instruction '{n}'
slot=cmp cmp => Mismatch between instruction type and comparison qualifier
slot=cmp -> Comparison qualifier is not allowed for instruction '{n}'
word=lo/hi/ls/hs last=u8/u16/u32/u64 | slot=cmp word!=lo/hi/ls/hs last=f16/f16x2/f32/f64/bf16/bf16x2 =>
word=equ/geu/gtu/hi/hs/leu/lo/ls/ltu/nan/neu/num => Mismatch between instruction type and comparison qualifier
slot=cmp last=- | slot=cmp last=pred | word=lt/le/gt/ge last=b8/b16/b32/b64/b128 => Mismatch between instruction type and comparison qualifier
slot=cmp =>
slot=rnd n=ex2/tanh t0=f16/f16x2 => Illegal modifier 'rounding' for instruction '{n}'
slot=rnd word!=rs => Illegal rounding modifier for instruction '{n}'
slot=vec -> Vector qualifier is not allowed for instruction '{n}'
slot=vec t0 -> Result vector expected && Argument vector size mismatch for instruction '{n}'
slot=vec =>
word=inc/dec/exch => Illegal reduction operation for instruction '{full}'
word=f4e/b4e/rc8/ecl/ecr/rc16 => Illegal modifier 'Permute' for instruction '{n}'
word=1d/2d/3d/4d/5d => Illegal modifier 'dimension' for instruction '{n}'
slot=texture -> Illegal modifier 'Geometry' for instruction '{n}'
word=2dms/a2dms => Illegal modifier 'Multi-sample geometry' for instruction '{n}'
slot=texture => {plain}
word=clamp/wrap/trap/zero => Illegal modifier 'Clamp' for instruction '{n}' && Illegal modifier 'Clamp' for instruction '{n}'
word=shr7/shr15 => Illegal modifier 'Shift-right' for instruction '{n}'
word=r/g/b/a => Illegal modifier 'Component' for instruction '{n}'
word=row/col => Illegal modifier '.alayout or .blayout' for instruction '{n}'
word=memory_layout => Illegal query modifier for instruction '{n}'
word=QUERY => Illegal query modifier for instruction '{n}' && Illegal query modifier for instruction '{n}'
slot=evict/evict2 => Illegal modifier '.level::eviction_priority' for instruction '{n}' && Illegal modifier '.{word.tail}' for instruction '{n}'
word=mmio => Modifier '.mmio' cannot be applied to '' space && {plain}
word=abs => {plain} && Modifier '.abs' requires modifier '.xorsign'
word=xorsign => {plain} && Modifier '.xorsign' requires modifier '.abs'
word=mbarrier_init => @F90 Fv8.0 : .op_restrict && {plain}
word=sync_restrict::shared::cta/sync_restrict::shared::cluster => @F90 Fv8.6 : .sync_restrict && {plain}
word=tensormap => {plain} && @M90 Mv8.0 : .tensormap && {plain}
word=L1/L2/async/ca/cg/cluster/cs/cta/cv/gl/gpu/lu/sp::ordered_metadata/sys/wb/wt => {plain} && {plain}
word=rs !rnd -> Illegal rounding modifier for instruction '{n}'
word=rs -> {plain}
word=rs -> @n100a/103a : .rs
word=rs =>
word=cp_mask => @F100 Fv8.6 : .{word} && {plain}
word=pack::16b/unpack::16b/warpx2::01_23/warpx2::02_13/warpx4 -> @Fv8.6 : .{word}
word=alloc/cp/dealloc/ld/mma/shift/st/pack::16b/unpack::16b/warpx2::01_23/warpx2::02_13/warpx4 => @XTENSOR : .{word}' for instruction '{n} && {plain}
-> {plain}
"""
"""Messages on a word that the form row does not have; the first row with ``=>`` that holds is the last one tried."""

_MISSING: Final = """
word=finite => Test required for instruction '{n}'
n=fence.proxy/membar.proxy => .proxykind modifier required for instruction '{n}'
word=and => Illegal reduction operation for instruction '{n}.{t0}' && Reduction operation is required for instruction '{n}'
n=griddepcontrol => '.launch_dependents' or '.wait' modifier required for instruction 'griddepcontrol'
n=cp.async word=ca => '.ca or .cg' modifier required for instruction 'cp.async'
n=match word=any => '.any' or '.all' modifier required for instruction 'match'
n=clusterlaunchcontrol.try_cancel.async word=mbarrier::complete_tx::bytes => .mbarrier::complete_tx::bytes modifier required for instruction '{n}'
n=cp.async.bulk.prefetch word=L2 => .level modifier required for instruction '{n}'
word=ftz => .ftz modifier required for instruction '{n}.{t0}'
slot=rnd approx => Rounding modifier or '.approx' modifier required for instruction '{n}'
slot=rnd => Rounding modifier required for instruction '{n}'
slot=cmp => Comparison modifier required for instruction '{n}'
word=down => .down modifier required for instruction '{n}'
slot=cta_group => .cta_group modifier required for instruction '{n}'
word=clamp => Clamp modifier required for instruction '{n}'
slot=completion => .completion_mechanism modifier required for instruction '{n}'
slot=kind => .kind modifier required for instruction '{n}'
slot=num => .num modifier required for instruction '{n}'
n=applypriority => cache eviction priority modifier required for instruction '{n}' && .L2 modifier required for instruction '{n}'
n=txq/txq.level/suq => Query modifier required for instruction '{n}'
slot=shape => Shape modifier required for instruction '{n}'
n=vote => .mode modifier required for instruction '{n}'
n=shfl => Shuffle modifier required for instruction '{n}'
word=global => State space modifier required for instruction '{n}' && State space incorrect for instruction '{n}'
slot=op => Reduction operation is required for instruction '{n}'
n=membar => Membar level required for instruction 'membar'
word=r => Component modifier required for instruction '{n}'
word=2d n=tld4 => Geometry modifier required for instruction '{n}'
word=1d n!=cp.async.bulk.tensor/cp.reduce.async.bulk.tensor/cp.async.bulk.prefetch.tensor => Geometry modifier required for instruction '{n}'
word=trap => Clamp modifier required for instruction '{n}'
-> .{word} modifier required for instruction '{n}'
"""
"""Messages on a required group without a word in the opcode; ``word`` is the first of the group."""

_UNEXPECTED: Final = """
n=min/max relu t0=u16/s16/u16x2/u32/u64/s64 => Illegal modifier '.relu' for instruction '{n}' with type '.{t0}'
-> Unexpected instruction types specified for '{n}'
"""
"""Messages on types for which an instruction has no form, or none with the words that select one."""

_NOWHERE: Final = Place(0, 0, "")
_parsed: Final[dict[str, list[Rule]]] = {}


def _rows(text: str) -> list[Rule]:
    """The rows of one of the tables, parsed at its first message."""
    found = _parsed.get(text)
    if found is None:
        found = _parsed[text] = parse_rows(text)
    return found


_CLUSTERS: Final = (
    "ldmatrix",
    "stmatrix",
    "tensormap.replace",
    "wmma.load.a",
    "wmma.load.b",
    "wmma.load.c",
    "wmma.store.d",
)
"""Instructions of whose state spaces ``::cluster`` is no illegal part, although they have none with it."""
_ANYWHERE: Final = ("mapa", "getctarank")
_TWICE: Final = ("mbarrier.", "cp.async.mbarrier.")
"""Starts of instructions that refuse a part of ``.param`` twice."""


def _refused_space(word: str, name: str, row: Row, place: Place) -> list[str]:
    """The messages on a state space that an instruction with others does not take: on its part after ``::``, and on itself."""
    incorrect = f"State space incorrect for instruction '{name}'"
    base, _, part = word.partition("::")
    if not part:
        return [incorrect]
    gate = messages(LATE[word], place, {}) if word in LATE else []
    if any(other.endswith(f"::{part}") for other in row.words) or (part == "cluster" and name in _CLUSTERS):
        return [*gate, incorrect]
    if name in _ANYWHERE and base == "shared":
        return [f"{incorrect}, expected '::cluster'"]
    times = 2 if name.startswith(_TWICE) and base == "param" else 1
    found = [*[f"Illegal modifier '::{part}' for instruction '{name}'"] * times, *gate]
    if not any(other.partition("::")[0] == base for other in row.words):
        found.append(incorrect)
    return found


def illegal(word: str, slot: str, name: str, row: Row, types: tuple[str, ...], place: Place) -> list[str]:
    """Messages for a word that the row of an instruction does not have; ``place`` has the module's declarations."""
    facts = {
        "word": word,
        "slot": slot,
        "n": name,
        "full": ".".join((name, *types[:2])),
        "plain": f"Illegal modifier '.{spelled(word)}' for instruction '{name}'",
        "target": place.target,
    }
    for key, type_ in zip(("t0", "t1"), types, strict=False):
        facts[key] = type_
    if types:
        facts["last"] = types[-1]
    for other in sorted(row.words):
        facts["space" if other in SPACES else SLOT_OF.get(other, "")] = other
    if word in ("sat", "cc") and any(word in r.words for r in rows(name).values()):
        facts["elsewhere"] = "yes"
    if word in SPACES and "space" in facts:
        return _refused_space(word, name, row, place)
    found = messages(PRODUCT_WORDS[word], place, facts) if word in PRODUCT_WORDS else []
    return found + apply(_rows(_ILLEGAL), facts, [], place)


def missing(name: str, group: tuple[str, ...], types: tuple[str, ...]) -> list[str]:
    """The messages on a required group without a word in the opcode."""
    facts = {"n": name, "word": group[0], "slot": SLOT_OF.get(group[0], "shape")}
    for word in group:
        facts[word] = word
    if types:
        facts["t0"] = types[0]
    return apply(_rows(_MISSING), facts, [], _NOWHERE)


def refused_priorities(found: list[str], earlier: list[str]) -> list[str]:
    """The messages on an illegal eviction priority after those on ``earlier`` ones of the instruction."""
    if not earlier:
        return found
    return [*[m for m in earlier if m != MANY_PRIORITIES], *found[1:], MANY_PRIORITIES]


def spelled(word: str) -> str:
    """A word as ptxas writes it in its messages."""
    return "zoneevre::neevir::bar" if word == "mbarrier::arrive::one" else word


def unexpected(name: str, words: list[str], types: tuple[str, ...]) -> str:
    """The message on an opcode without a form row."""
    facts = {"n": name, **{w: w for w in words}}
    if types:
        facts["t0"] = types[0]
    return apply(_rows(_UNEXPECTED), facts, [], _NOWHERE)[0]


def without_sync(name: str, place: Place) -> list[str]:
    """The warnings for shfl and vote without .sync, for targets that still accept them."""
    found = [f"Instruction '{name}' without '.sync' may produce unpredictable results on sm_70 and later architectures"]
    if place.version >= 60:
        found.append(
            f"Instruction '{name}' without '.sync' is deprecated since PTX ISA version 6.0 and will be discontinued"
            " in a future PTX ISA version"
        )
    return found


def advisories(name: str, sig: Sig, words: list[str], place: Place) -> list[tuple[str, str]]:
    """Severity and text of ptxas's remarks on an accepted opcode."""
    found: list[tuple[str, str]] = []
    if sig.mods.get("sp") == "sp" and name == "mma":
        found.append(
            (
                "info",
                "Advisory: Modifier '.sp::ordered_metadata' should be used on instruction 'mma' instead of modifier"
                f" '.sp' as it is {_SLOW}",
            )
        )
    return found


def multicast_advisory(name: str, place: Place) -> list[str]:
    """The warning on `.multicast::cluster`, told with the gates of that word."""
    if name not in ("cp.async.bulk", "cp.async.bulk.tensor") or listed(place.target, "90a/TENSOR"):
        return []
    return [
        f"{ADVISORY} '.multicast::cluster' modifier on instruction 'cp.async.bulk{{.tensor}}' should be used on"
        " .target 'sm_90a/sm_100a/sm_100f/sm_103a/sm_103f/sm_110a/sm_110f' instead of .target"
        f" '{place.target}' as this feature is {_SLOW}"
    ]


def is_vector_without_type(word: str, following: str) -> bool:
    """Whether a word is that of a vector and the word after it no type, which ptxas remarks on."""
    return SLOT_OF.get(word) == "vec" and following not in TYPE_WORDS and SLOT_OF.get(following) != "vec"

"""Selectors of parts of registers (``r.b0``, ``r.h10``): where video instructions take them, and that no other instruction does.

Facts: docs/facts/front-end.md (operands).
"""

from typing import Final

from orias.patterns import regex
from orias.ptx.ast import O_IMM, O_REG, O_SINK, Operand, Sig

_VIDEO: Final = frozenset(
    f"v{operation}{lanes}"
    for operation in ("add", "sub", "absdiff", "min", "max", "shl", "shr", "mad", "set", "avrg")
    for lanes in ("", "2", "4")
)
_SOURCES: Final[dict[str, str]] = {"2": "h[0-3]{2}", "4": "b[0-7]{4}", "": "b[0-3]|h[01]"}
_RESULTS: Final[dict[str, str]] = {"2": "h(?:1?0|1)", "4": "b(?=.)3?2?1?0?", "": "b[0-3]|h[01]"}
"""Selectors by the number of lanes: all four of a result are named from the highest down."""


def is_video(name: str) -> bool:
    """Whether an instruction is a video instruction."""
    return name in _VIDEO


def is_simd(name: str) -> bool:
    """Whether an instruction is a video instruction of two or four lanes."""
    return name[-1] in "24" and is_video(name)


def selector_messages(name: str, sig: Sig, ops: list[Operand], at: int) -> list[str]:
    """Error messages on the selector of operand ``at``; operands of SIMD video instructions must be registers."""
    op = ops[at]
    selected = op.kind == O_REG and op.comp[:1] in ("b", "h", "?")
    if not is_video(name):
        if not selected:
            return []
        where = "source operand" if at else "destination"
        return [f"Video selector is not allowed on {where} for instruction '{name}'"]
    lanes = name[-1] if name[-1] in "24" else ""
    found: list[str] = []
    right = regex(_SOURCES[lanes] if at else _RESULTS[lanes])
    wrong = selected and right.fullmatch(op.comp) is None
    if wrong or (lanes and (op.kind not in (O_REG, O_SINK) or op.key.endswith("+"))):
        found.append(f"Incorrect video selector for operand {at}")
    if selected and at == 3:
        found = found if lanes else []
        found.append("Video selector is not allowed on 'source C' operand")
    if selected and not at and not lanes:
        if name == "vmad" or len(ops) < 4:
            found.append(f"Video selector is not allowed on destination for instruction '{name}'")
        elif "op" in sig.mods:
            found.append("Video instruction cannot have destination selector and secondary operation")
    return found


def negation_messages(sig: Sig, ops: list[Operand]) -> list[str]:
    """Error messages on the signs before the sources of vmad: of the product or of c, and neither with ``.po``."""
    product, third = ops[1].neg != ops[2].neg, ops[3].neg
    if "po" in sig.mods and (product or third):
        return ["Conflicting use of '.po' modifier with operand negation"]
    return ["Operand negation limited to either (source A xor source B) or source C"] if product and third else []


def ends_early(name: str, ops: list[Operand]) -> bool:
    """Whether the text that ptxas puts in place of a scalar video instruction ends early, as it does where a or b is a sum."""
    sources = ops[1:3] if len(ops) > 2 else []
    return is_video(name) and not is_simd(name) and any(op.key.endswith("+") for op in sources)


def replaces_result(name: str, op: Operand) -> bool:
    """Whether a selector message stands in place of the one on a constant as a result."""
    return (op.kind == O_IMM or op.key.endswith("+")) and is_video(name)


def unknown_parts(word: str) -> int:
    """How many times ptxas reports a selector (``b7a``) as unknown; 0: it is a known one."""
    digits = "01234567" if word[0] == "b" else "0123"
    if word[0] not in "bh":
        return 1
    return sum(c not in digits for c in word[1:]) or int(len(word) > 5)


def known_part(word: str) -> str:
    """The selector that stands for an unknown one: wrong digits count as 0."""
    if word[0] not in "bh" or len(word) > 5:
        return "?"
    return word[0] + "".join(c if c in ("01234567" if word[0] == "b" else "0123") else "0" for c in word[1:])

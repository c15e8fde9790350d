"""The facts of an opcode and of its operands that rules test (:mod:`orias.ptx.rules`).

====================  =====================================================================================================
slots                 every filled slot of the Sig with its word: ``scope``, ``order``, ``space``, ``rnd``, ``ftz`` ...;
                      ``op`` is the boolean operation where there is no other
``.word``             every modifier and type word
``n t t0 t1 ...``     instruction name; its types joined by dots, and one by one
``width bits``        bits of the first type; the same times the length of the vector
``where``             the state space as messages about atomics name it
``isa sm``            what the module declares: version times 10, SM number
``target``            name of the target
``class factor``      matrix instructions: :mod:`orias.ptx.matrix_checks`, :mod:`orias.ptx.wmma_checks`,
``operand shaped``    :mod:`orias.ptx.wgmma_checks`
``typed``
``a0 a1 ... last``    kinds of the operands, and of the last one: reg32 (register of that many bits), imm, sink, pair,
                      absolute (a constant as an address), address64, address16 (one in a register of so many bits), symbol (a
                      variable as an address), other
``v0 v1 ...``         values of those that are immediates
``u0 u1 ...``         the same without sign, as 64 bits
``w0 x0 ...``         their lower 32 bits with sign, and without
``count``             number of operands
====================  =====================================================================================================
"""

from typing import Final

from orias.ptx.ast import O_ADDR, O_IMM, O_PAIR, O_REG, O_SINK, O_VEC, TYPE_BITS, Operand
from orias.ptx.gates import Place

_TYPES: Final = ("t0", "t1", "t2", "t3", "t4", "t5")
_KINDS: Final[dict[int, str]] = {O_IMM: "imm", O_SINK: "sink", O_PAIR: "pair", O_VEC: "vector"}
_ADDRESSES: Final[dict[str, str]] = {f"{kind}{bits}": f"address{bits}" for kind in "bus" for bits in (16, 64)} | {
    "f64": "address64"
}
_MASK: Final = (1 << 64) - 1
_WORD: Final = (1 << 32) - 1
_SIGN: Final = 1 << 31
_NUMBERED: Final = ("0", "1", "2", "3", "4", "5", "6", "7")


def label_facts(name: str, types: tuple[str, ...]) -> dict[str, str]:
    """The facts name and types, which the messages of gates without rules need."""
    facts = {"n": name, "t": ".".join(types)}
    for key, type_ in zip(_TYPES, types, strict=False):
        facts[key] = type_
    return facts


def opcode_facts(
    name: str, words: list[str], types: tuple[str, ...], slots: dict[str, str], place: Place
) -> dict[str, str]:
    """The facts of an opcode with these slots; ``words`` are the words after the name."""
    facts = {**slots, **place.facts}
    if "bool" in slots and "op" not in slots:
        facts["op"] = slots["bool"]
    for word in words:
        facts["." + word] = word
    facts.update(label_facts(name, types))
    width = TYPE_BITS.get(types[0], 0) if types else 0
    facts["width"] = str(width)
    facts["bits"] = str(width * int(slots["vec"][1:])) if "vec" in slots else facts["width"]
    facts["where"] = f".{slots['space']}" if "space" in slots else " with generic state space"
    return facts


def _address(op: Operand) -> str:
    """The kind of an address operand."""
    if op.var is None:
        return "other" if op.name or op.elems else "absolute"
    if op.var.space != "reg":
        return "symbol"
    return _ADDRESSES.get(op.var.type, "other")


def operand_facts(facts: dict[str, str], ops: list[Operand]) -> dict[str, str]:
    """The facts of an opcode and of its operands."""
    found = dict(facts)
    found["count"] = str(len(ops))
    kind = "-"
    for number, op in zip(_NUMBERED, ops, strict=False):
        if op.kind == O_REG and op.var is not None:
            kind = f"reg{TYPE_BITS.get(op.var.type, 0)}"
        else:
            kind = _KINDS.get(op.kind) or (_address(op) if op.kind == O_ADDR else "other")
        found["a" + number] = kind
        if op.kind == O_IMM:
            found["v" + number] = str(op.value)
            if op.imm_type == "int":
                found["u" + number] = str(op.value & _MASK)
                word = op.value & _WORD
                found["w" + number] = str(word - 2 * (word & _SIGN))
                found["x" + number] = str(word)
    found["last"] = kind
    return found

"""Parses opcode text into a :class:`orias.ptx.ast.Sig`: the longest known name, the types, and the modifiers by slot."""

from typing import Final

from orias.patterns import regex
from orias.ptx.ast import TYPE_WORDS, VARIABLE_TYPES, Sig
from orias.ptx.names import IGNORED, NAME_PARTS, NAMES, SLOT_OF, WORDS

FORMATS: Final = frozenset(("b8x16", "b6x16_p32", "b4x16_p64"))
"""Formats of elements that are unpacked; words without meaning after names other than those of UNPACKING."""
UNPACKING: Final = ("ldmatrix", "tcgen05.cp")
_IGNORED_TYPES: Final = frozenset(("pred", "texref", "surfref", "samplerref"))
"""Types that ptxas 13.0.88 ignores beside another type of the instructions below, and of no others."""
_IGNORING: Final = frozenset(
    [
        "abs",
        "add",
        "atom",
        "cos",
        "cvt",
        "cvt.pack",
        "ex2",
        "fma",
        "lg2",
        "max",
        "min",
        "mul",
        "neg",
        "rcp",
        "red",
        "rsqrt",
        "set",
        "setp",
        "sin",
        "sqrt",
        "sub",
        "tanh",
    ]
)

DIRECTIVE_WORD: Final = regex(
    r"(?a)\.(?:byte|abi_preserve|abi_preserve_control|address_size|align|attribute|blocksareclusters|branchtargets|callprototype"
    r"|calltargets|common|entry|explicitcluster|extern|file|func|loc|local_maxnreg|managed|maxclusterrank|maxnctapersm|maxnreg|maxntid"
    r"|minnctapersm|noreturn|pragma|ptr|reg|reqnctapercluster|reqntid|section|target|unified|visible)(?![\w$:])"
)
"""Words that are no modifiers: the text is wrong where an opcode has one."""


def is_word(text: str) -> bool:
    """Whether a dotted text is a word of the language: a directive, a modifier or a type."""
    return text[0] == "." and (
        text[1:] in WORDS or text[1:] in VARIABLE_TYPES or DIRECTIVE_WORD.match(text) is not None
    )


_LONGEST_NAME: Final = max(name.count(".") + 1 for name in NAMES)

_slots: Final[dict[str, dict[str, tuple[str, ...]]]] = {}


def _slot_table(name: str) -> dict[str, tuple[str, ...]]:
    """The words of an instruction whose slots differ from SLOT_OF."""
    table = _slots.get(name)
    if table is None:
        table = {}
        for item in NAMES[name].split():
            word, _, slots = item.partition("=")
            table[word] = tuple(slots.split("|"))
        _slots[name] = table
    return table


def is_shape(word: str) -> bool:
    """Whether a modifier word is a matrix shape such as ``m16n8k16`` or ``m8n8``."""
    if word[:1] != "m" or len(word) > 16:
        return False
    m, _, rest = word[1:].partition("n")
    n, mark, k = rest.partition("k")
    return m.isdigit() and n.isdigit() and (k.isdigit() or not mark)


_NUMBERED: Final = regex(r"(?a)\.([0-9][A-Za-z0-9_$]*(?:::[A-Za-z0-9_]+)*)")
_NUMBER: Final = regex(r"(?a)\.?[0-9]+(?:[eE][+-]?[0-9]+)?")


def number_end(opcode: str) -> int:
    """Where the number ends that ptxas reads in an opcode text, in a word that begins with a digit and is unknown; 0 if there is none.

    Of such a word the longest beginning that is a word counts, and the rest, or all, is a number: ``.1d1.b32`` is ``.1d``, ``1.`` and ``b32``.
    """
    for match in _NUMBERED.finditer(opcode):
        word = match[1]
        if known_word(word):
            continue
        known = next((n for n in range(len(word) - 1, 0, -1) if known_word(word[:n]) and word[n].isdigit()), 0)
        number = _NUMBER.match(opcode, match.start(1) + known if known else match.start())
        assert number is not None
        end = number.end()
        return end + 1 if known and opcode[end : end + 1] == "." else end
    return 0


_SHAPES: Final = frozenset(
    (
        *("m8n8", "m8n16", "m16n8", "m16n16"),
        *("m8n8k4", "m8n8k16", "m8n8k32", "m8n8k128", "m8n32k16", "m16n16k8", "m16n16k16", "m32n8k16"),
        *(f"m16n8k{k}" for k in (4, 8, 16, 32, 64, 128, 256)),
        *(f"m64n{n}k{k}" for n in range(8, 257, 8) for k in (8, 16, 32, 64, 256)),
    )
)
"""The shapes of matrices that are words."""


def known_word(word: str) -> bool:
    """Whether a word is a modifier or a type of any instruction."""
    return word in WORDS or word in _SHAPES


class OpcodeError(Exception):
    """The opcode is illegal; ``messages`` are those of ptxas."""

    def __init__(self, messages: list[str]) -> None:
        self.messages: list[str] = messages
        super().__init__(messages[0])


def dotted(text: str) -> tuple[list[str], int]:
    """The parts of an opcode text, and how many stand before its first blank: only they can be the name."""
    head, _, rest = text.partition(" ")
    parts = head.split(".")
    return parts + rest.split(".")[1:], len(parts)


def split_name(parts: list[str]) -> int:
    """Number of dotted parts in the instruction name; 0 if there is no such instruction."""
    for n in range(min(len(parts), _LONGEST_NAME), 0, -1):
        if ".".join(parts[:n]) in NAMES:
            return n
    return 0


def without_ignored(name: str, words: list[str]) -> list[str]:
    """The words of an opcode without the types that ptxas ignores beside another type (13.0.88)."""
    if name not in _IGNORING or not any(w in TYPE_WORDS and w not in _IGNORED_TYPES for w in words):
        return words
    return [w for w in words if w not in _IGNORED_TYPES]


def parse_opcode(text: str) -> Sig:
    """The Sig of a dotted opcode; raises :class:`OpcodeError`."""
    parts, first = dotted(text)
    n = split_name(parts[:first])
    if n == 0:
        unknown = [f"Unknown modifier '.{w}'" for w in parts[1:] if w in NAME_PARTS or not known_word(w)]
        raise OpcodeError([*unknown, f"Not a name of any known instruction: '{parts[0]}'"])
    name = ".".join(parts[:n])
    own = _slot_table(name)
    mods: dict[str, str] = {}
    types: list[str] = []
    for word in parts[n:]:
        slots = own.get(word)
        if slots is not None:
            slot = next((s for s in slots if s not in mods), "")
            if not slot and len(slots) > 1:
                continue  # the checks report more words than slots
            slot = slot or slots[0]
        elif word in TYPE_WORDS:
            if word not in FORMATS or name in UNPACKING:
                types.append(word)
            continue
        else:
            known = SLOT_OF.get(word)
            if known is None:
                if word in IGNORED or not known_word(word):
                    continue  # the checks report the unknown one
                known = "shape"
            slot = known
        mods[slot] = word
        if word == "mmio":
            mods["mmio"] = word
    types = without_ignored(name, types)
    if "mmio" in mods and name in ("ld", "st") and mods.get("order") not in ("acquire", "release"):
        mods["order"] = "mmio"
    return Sig(name, text, mods, tuple(types))

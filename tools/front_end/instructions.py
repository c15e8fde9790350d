"""Programs of one instruction: over all opcodes, modifiers, operand kinds, PTX versions and targets, right ones and wrong ones.

The instructions come from the form tables, from recorded lines (``tests/ptx/data``) and from the PTX files of a corpus; most are
changed: modifiers dropped, added, repeated, exchanged, operands of another kind, type or number, blanks and signs in odd places.
"""

import json
import random
import re
from pathlib import Path
from typing import NamedTuple

from orias.ptx.ast import TYPE_BITS, TYPE_WORDS
from orias.ptx.form_table import rows
from orias.ptx.gates import LATE
from orias.ptx.instructions import variant
from orias.ptx.names import WORDS
from orias.target.profile import TARGETS
from tests.ptx.form_lines import from_rows

DATA = Path(__file__).resolve().parents[2] / "tests" / "ptx" / "data"
VERSIONS = ("6.3", "6.4", "6.5", "7.0", "7.1", "7.2", "7.3", "7.4", "7.5", "7.6", "7.7", "7.8", "8.0", "8.1", "8.2", "8.3", "8.4",
            "8.5", "8.6", "8.7", "8.8", "9.0")  # fmt: skip
TYPES = (
    "pred",
    "b8",
    "u8",
    "s8",
    "b16",
    "u16",
    "s16",
    "f16",
    "f16x2",
    "b32",
    "u32",
    "s32",
    "f32",
    "b64",
    "u64",
    "s64",
    "f64",
    "b128",
)
OLD_TARGETS = ("sm_20", "sm_30", "sm_50", "sm_52", "sm_60", "sm_61", "sm_70", "sm_72")
_STEMS = {
    "p": "pred", "b": "b8", "ub": "u8", "h": "b16", "us": "u16", "ss": "s16", "hf": "f16", "hx": "f16x2", "r": "b32", "u": "u32",
    "s": "s32", "f": "f32", "rd": "b64", "ud": "u64", "sd": "s64", "fd": "f64", "q": "b128",
}  # fmt: skip
"""Registers of the recorded lines -> their types."""
_OBJECTS = {"gl": "var_global", "cn": "var_const", "sm": "var_shared", "lo": "var_local", "pa": "var_param"}
_DECLARED = """.global .align 16 .b8 var_global[1024];
.const .align 16 .b8 var_const[1024];
.global .texref tx;
.global .surfref sf;
.global .u32 g32;
.func fn0 { ret; }
.func (.param .b32 rv) fn1 (.param .b32 a) { ret; }
"""
_LOCAL = {
    "var_shared": " .shared .align 16 .b8 var_shared[1024];\n",
    "var_local": " .local .align 16 .b8 var_local[64];\n",
    "mb": " .shared .b64 mb;\n",
}
KERNEL = ".visible .entry k(.param .align 16 .b8 var_param[64])"
_BLOCK = 25
"""Programs with one target and version."""
_SKIPPED = ("bra", "brx", "call", "ret", "exit", "trap", "brkpt")
_SPECIAL = (
    "%tid.x",
    "%tid",
    "%clock64",
    "%laneid",
    "%gridid",
    "%is_explicit_cluster",
    "%globaltimer_lo",
    "%envreg3",
    "%pm0",
)
_CONSTANTS = ("0", "1", "2", "3", "4", "8", "16", "31", "32", "64", "-1", "0xff", "0x1ffffffff", "1U", "0f3F800000", "-1.5", "1.5",
              "0d3FF0000000000000", "WARP_SZ", "(1+2)", "1<<3", "0b101", "017", "!0", "~5", "1.0e3")  # fmt: skip
_SELECTORS = (".x", ".y", ".b0", ".b3", ".h0", ".h1", ".b3210", ".h10", ".r")


class Line(NamedTuple):
    """An instruction: its name, the words after it, its operands; registers are named by type (``%b32_1``)."""

    name: str
    words: tuple[str, ...]
    operands: tuple[str, ...]


class Program(NamedTuple):
    """A program: for which target it is to be compiled, what it is about, its text; the text is ``head + body``.

    Bodies with the same target and head may stand in one module.
    """

    target: str
    about: str
    head: str
    body: str

    @property
    def text(self) -> str:
        """The module."""
        return self.head + self.body


def line(text: str) -> Line | None:
    """The instruction of a text with registers named by type; None if it has no known name or is a jump."""
    opcode, _, rest = text.strip().rstrip(";").partition(" ")
    name, words = variant(opcode)
    stem = ".".join(opcode.split(".")[: len(opcode.split(".")) - len(words)])
    if not name or "{" in opcode or name.split(".")[0] in _SKIPPED or len(rest) > 400:
        return None
    return Line(stem, tuple(words), tuple(split(rest)))


def split(text: str) -> list[str]:
    """Operands at the commas outside of brackets."""
    out, depth, now = [], 0, ""
    for c in text:
        depth += (c in "{[(") - (c in "}])")
        if c == "," and depth == 0:
            out.append(now.strip())
            now = ""
        else:
            now += c
    return [*out, now.strip()] if now.strip() else out


def recorded() -> list[Line]:
    """The recorded lines and those of the form tables."""
    texts = from_rows(7, 3)
    for name in ("instructions.txt", "families.txt", "verdicts.txt"):
        for text in (DATA / name).read_text().splitlines():
            if text.startswith("#"):
                continue
            part = text.split("\t")
            texts.append(part[1] if name == "families.txt" else part[0].removeprefix("+ ").removeprefix("- "))
    found = {line(_by_type(t)) for t in texts if ";" not in t.rstrip(";")}
    return sorted(x for x in found if x is not None and not _is_later(x))


def _is_later(one: Line) -> bool:
    """Whether an instruction begins with a release after ptxas 13.0.88: it tells such an instruction nothing but that it is wrong."""
    types = tuple(w for w in one.words if w in TYPE_WORDS)
    name = ".".join((one.name, *one.words))
    table = rows(variant(name)[0])
    row = table.get(types) or table.get(("*",))
    if row is not None and re.search(r"v9\.[1-9]", row.gate):
        return True
    return any(re.search(r"v9\.[1-9]", LATE.get(w, "")) for w in one.words) or bool(
        {"ignore_oob", "scaled::n2::ue8m0"} & set(one.words)
    )


def _by_type(text: str) -> str:
    """A recorded line with its registers named by type and its objects by space."""
    text = re.sub(r"%([a-z]+)(\d+)\b", lambda m: f"%{_STEMS[m[1]]}_{int(m[2]) % 10}" if m[1] in _STEMS else m[0], text)
    return re.sub(r"(?<![\w.%:$])(gl|cn|sm|lo|pa)\b(?!:)", lambda m: _OBJECTS[m[1]], text)


def harvest(folder: Path) -> list[Line]:
    """The different instructions of all PTX files under a folder, registers and variables renamed; sorted."""
    found: set[Line] = set()
    for path in sorted(folder.rglob("*.ptx")):
        text = path.read_text(errors="replace")
        kinds: dict[str, str] = {}
        for type_, names in re.findall(r"\.reg\s+\.(\w+)\s+([^;]+);", text):
            for name in names.split(","):
                kinds[name.strip().split("<")[0]] = type_
        spaces = {n: s for s, n in re.findall(r"\.(shared|global|const|local)\s[^;={]*?([\w$]+)\s*(?:\[|=|;)", text)}
        for opcode, rest in re.findall(
            r"^\s*(?:@!?%?\w+\s+)?([a-z][a-z0-9_]*(?:[.:][\w:]+)*)\s+([^;{}]*(?:\{[^;]*)?);", text, re.M
        ):
            renamed = _renamed(rest, kinds, spaces)
            known = r"%(?![a-z]+\d*(?:x2)?_\d|tid|ctaid|ntid|nctaid|laneid|warpid|clock|smid|lanemask|cluster|dynamic|total)"
            one = None if re.search(known, renamed) else line(f"{opcode} {renamed}")
            if one is not None:
                found.add(one)
    return sorted(found)


def _renamed(text: str, kinds: dict[str, str], spaces: dict[str, str]) -> str:
    """Operands with registers as ``%type_N`` and variables as ``var_space``."""
    numbers: dict[str, int] = {}

    def one(match: re.Match[str]) -> str:
        name = match.group(0)
        type_ = kinds.get(name) or kinds.get(re.sub(r"\d+$", "", name))
        if type_:
            return f"%{type_}_{numbers.setdefault(name, len(numbers)) % 10}"
        if name in spaces:
            return f"var_{spaces[name]}"
        return "var_param" if "param" in name and not name.startswith("%") else name

    return re.sub(r"%?[A-Za-z_$][\w$]*", one, text)


class Maker:
    """Makes programs from lines; the same seed makes the same programs.

    ``most``: the most changes to a line; a third of the lines have none.
    """

    def __init__(self, lines: list[Line], seed: int, targets: tuple[str, ...] = tuple(TARGETS), most: int = 2) -> None:
        self.random = random.Random(seed)
        self.targets = targets
        self.most = most
        self.left = 0
        self.target = self.head = ""
        self.by_name: dict[str, list[Line]] = {}
        for x in lines:
            self.by_name.setdefault(x.name, []).append(x)
        self.names = sorted(self.by_name)
        self.words = {name: sorted({w for x in all_ for w in x.words}) for name, all_ in self.by_name.items()}

    def text(self) -> str:
        """The next instruction."""
        r = self.random
        one = r.choice(self.by_name[r.choice(self.names)])
        for _ in range(r.choice([0, *range(self.most + 1)])):
            one = self._changed(one)
        guard = r.choice(["", "", "", "", "", "", "@%pred_9 ", "@!%pred_9 "])
        return f"{guard}{self._opcode(one)} {', '.join(one.operands)};"

    def program(self) -> Program:
        """The next program."""
        text = self.text()
        if not self.left:
            self._turn()
        self.left -= 1
        return Program(self.target, text, self.head, kernel(text))

    def _turn(self) -> None:
        """Chooses the target and the version of the next programs."""
        r = self.random
        self.left = _BLOCK
        self.target = r.choice(self.targets)
        named = r.choice(OLD_TARGETS) if r.random() < 0.04 else self.target
        self.head = head("9.0" if r.random() < 0.7 else r.choice(VERSIONS), named)

    def _opcode(self, one: Line) -> str:
        r = self.random
        opcode = ".".join([one.name, *one.words])
        if r.random() < 0.01:
            at = opcode.find(".", r.randrange(len(opcode)))
            opcode = opcode if at < 0 else opcode[:at] + r.choice([" .", ". ", "..", "/**/.", "\n."]) + opcode[at + 1 :]
        return opcode

    def _changed(self, one: Line) -> Line:
        r = self.random
        words, operands = list(one.words), list(one.operands)
        kind = r.randrange(12)
        some = [*self.words[one.name], *self.words[one.name], r.choice(sorted(WORDS))]
        if kind == 0 and words:
            del words[r.randrange(len(words))]
        elif kind == 1:
            words.insert(r.randrange(len(words) + 1), r.choice(some))
        elif kind == 2 and words:
            words[r.randrange(len(words))] = r.choice(some)
        elif kind == 3 and words:
            words.insert(r.randrange(len(words) + 1), r.choice(words))
        elif kind == 4 and len(words) > 1:
            a, b = r.sample(range(len(words)), 2)
            words[a], words[b] = words[b], words[a]
        elif kind == 5:
            places = [k for k, w in enumerate(words) if w in TYPE_BITS]
            if places:
                words[r.choice(places)] = r.choice(TYPES)
        elif kind == 6 and operands:
            operands[r.randrange(len(operands))] = self.operand()
        elif kind == 7 and operands:
            if r.random() < 0.5:
                del operands[r.randrange(len(operands))]
            else:
                operands.insert(r.randrange(len(operands) + 1), self.operand())
        elif kind in (8, 9) and operands:
            k = r.randrange(len(operands))
            operands[k] = re.sub(
                r"%[a-z]+\d*(x2)?_", lambda m: f"%{r.choice(TYPES)}_", operands[k], count=r.choice([0, 1])
            )
        elif kind == 10 and operands:
            k = r.randrange(len(operands))
            operands[k] = self._decorated(operands[k])
        elif operands:
            other = r.choice(self.by_name[one.name])
            if other.operands:
                operands[r.randrange(len(operands))] = r.choice(other.operands)
        return Line(one.name, tuple(words), tuple(operands))

    def _decorated(self, text: str) -> str:
        """An operand with something before, after or around it."""
        r = self.random
        return r.choice(
            ["-" + text, "!" + text, text + r.choice(_SELECTORS), f"{{{text}}}", f"[{text}]", f"{text}|%pred_3", f"{text}+4", f"{text}[2]",
             text + ".unified", f"{{{text}, {text}}}", f"0xFF({text})", f"({text})", "_" if r.random() < 0.5 else text]
        )  # fmt: skip

    def operand(self) -> str:
        """An operand of some kind."""
        r = self.random
        reg = f"%{r.choice(TYPES)}_{r.randrange(10)}"
        size = r.choice([1, 2, 2, 3, 4, 4, 8])
        same = reg.partition("_")[0]
        return r.choice(
            [reg, reg, reg, r.choice(_CONSTANTS), r.choice(_CONSTANTS), "_", "!%pred_1", "-" + reg, r.choice(_SPECIAL), "var_shared",
             "var_global", "var_param", "var_local", "var_const", "var_global+8", "var_shared[4]", "nowhere", "tx", "sf", "fn1",
             f"[{reg}]", f"[{reg}+4]", f"[{reg}+-4]", f"[{reg}-4]", f"[{reg}+{reg}]", "[var_shared]", "[var_global+8]", "[var_param]",
             "[var_local+4]", "[var_const]", "[4]", "[_]", "[nowhere]", f"[tx, {{{reg}, {reg}}}]", f"{{{reg}, {reg}}}",
             "{" + ", ".join(f"{same}_{k}" for k in range(size)) + "}", "{" + ", ".join(f"%b32_{k}" for k in range(size)) + "}",
             reg + r.choice(_SELECTORS), "%pred_1|%pred_2", f"{reg}|%pred_2"]
        )  # fmt: skip


def head(version: str, target: str) -> str:
    """The module before its kernels."""
    return f".version {version}\n.target {target}\n.address_size 64\n{_DECLARED}"


def kernel(text: str) -> str:
    """A kernel of one instruction, which declares what the instruction names."""
    registers = "".join(f" .reg .{t} %{t}_<10>;\n" for t in TYPES if f"%{t}_" in text)
    names = set(re.findall(r"[\w$]+", text))
    local = "".join(declared for name, declared in _LOCAL.items() if name in names)
    return f"{KERNEL}\n{{\n{registers}{local} {text}\n ret;\n}}\n"


def lines(corpus: Path | None) -> list[Line]:
    """All lines: recorded ones, those of the form tables and, if there is one, those of a corpus."""
    return sorted({*recorded(), *(harvest(corpus) if corpus else ())})


def features() -> list[tuple[str, str]]:
    """(feature, instruction) of ``families.txt``."""
    rows = [
        text.partition("\t") for text in (DATA / "families.txt").read_text().splitlines() if not text.startswith("#")
    ]
    return [(feature, _by_type(text)) for feature, _, text in rows]


def modules() -> list[str]:
    """The recorded modules of ``modules.json`` and ``directives.json``."""
    return [x["text"] for name in ("modules.json", "directives.json") for x in json.loads((DATA / name).read_text())]

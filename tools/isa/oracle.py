"""Asks nvdisasm for the text of arbitrary words, many at a time, and takes the text apart."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.nvtools import find

_ADDRESS = re.compile(r"at address (0x[0-9a-fA-F]+)")
_LINE = re.compile(r"^\s*/\*([0-9a-fA-F]+)\*/\s+(.*?) ?;\s*$")

_TWICE = "More than one pattern matched"
"""The tool ends at a word that two of its own patterns fit, and names address 0, whatever the word's place."""

_PADDED = re.compile(r" +\?{3}")
"""Operands without a name (``???3``) stand after up to a hundred blanks, which say nothing."""


_ENDS = {"SM75": (0xFFF | 1 << 91 | 15 << 74, 0x322 | 3 << 76, 0xFF << 24)}
"""Words at which the tool ends: mask, value, and a field that is not all ones.

AST of 32 bits with bits 76 and 77, unless its register is RZ (nvdisasm 13.5.37: "operation classes ast_PHYS_ and ast__PATCH_RaNonRZOffset").
"""

NOP = 0x000FC000000000000000000000007918
"""A word that every decoder takes."""

REFUSED = (1 << 128) - 1
"""A word that no decoder takes, and that the tool lists."""

_UNLISTED = """
020e 0218 0231 0237 023a 023c 023e 0240 0241 0242 0247 027a 027c 027d 0304 031e 035a 03d0 03d1 03d2 03d3 03d5 0431 043e
047a 047e 047f 0631 063e 0831 083b 083e 0840 0847 087b 087c 0904 0951 095a 0a31 0a3e 0a40 0a47 0b04 0b1d 0b5a 0e3e 123e
131e 13c7 143e 1478 15c7 15f0 15f1 15f2 15f3 1631 163e 183b 1878 1951 19a5 19c7 19e4 19e5 19f0 1a31 1a3e 1a40 1a47 1a78
1b04 1b5a 1c31 1c3e 1c40 1c47 1c78 1d04 1d5a 1dea 1df0 1e31 1e3e 1e79 1fea
"""
UNLISTED = frozenset(int(x, 16) for x in _UNLISTED.split())
"""Opcodes with illegal words that the tool's list of illegal addresses lacks (``unlisted.py``, all classes, nvdisasm 13.5.37): HFMA2, HMNMX2, F2FP, F2F, LDSM, MOVM, matrix
operations and others, and opcodes without any legal word."""


_HEX = re.compile(r"(?<!\w)-?0x[0-9a-f]+")
_MARK = re.compile(r"(?<!\w)L(?=-?0x)")
_OPCODE = 0xFFF | 1 << 91
_UNLISTED_BITS = frozenset(op & 0xFFF | (op >> 12) << 91 for op in UNLISTED)


def shown(text: str) -> str:
    """A text with its branch distance as :meth:`Printer.text` shows it at address -16."""
    return _MARK.sub("", text)


def relative(first: str, at: int, second: str, there: int) -> str:
    """The text of a word at two addresses, with the number that moves with it as ``L-0x20``: bytes from the next instruction."""
    a, b = list(_HEX.finditer(first)), list(_HEX.finditer(second))
    for x, y in zip(a, b, strict=False):
        if x.group() != y.group():
            far = int(x.group(), 16) - at - 16
            if far == int(y.group(), 16) - there - 16:
                return f"{first[: x.start()]}L{far:#x}{first[x.end() :]}"
    return first


class Oracle:
    """Text of words for one decoder class (``SM90``); answers are kept.

    A branch target is given as the distance from the next instruction (``BRA L-0x20``): a word of every opcode is asked at two addresses,
    and all words of an opcode whose text moves are.
    """

    def __init__(self, decoder: str) -> None:
        tool = find("nvdisasm")
        if tool is None:
            raise SystemExit("nvdisasm is not installed")
        self.tool = tool
        self.decoder = decoder
        self.known: dict[int, str | None] = {}
        self.moves: dict[int, bool] = {}
        """Whether the text of an opcode depends on the address."""
        self.ending: set[int] = set()
        """Opcodes with further words at which the tool ends; they are asked apart."""
        self.runs = 0

    def ask(self, words: list[int]) -> dict[int, str | None]:
        """The text of each word, None where it is illegal or prints nothing."""
        if self.decoder in _ENDS:
            mask, value, field = _ENDS[self.decoder]
            self.known.update({w: None for w in words if w & mask == value and w & field != field})
        todo = [w for w in dict.fromkeys(words) if w not in self.known]
        for start in range(0, len(todo), 60000):
            self._ask(todo[start : start + 60000])
        return {w: self.known[w] for w in words}

    def ask_in_place(self, words: list[int]) -> list[str | None]:
        """The text of each word as it stands at byte address 16 times its index (branch targets depend on it)."""
        here = list(words)
        illegal: set[int] = set()
        while True:
            out, err = self._run(here)
            bad = {int(a, 16) // 16 for a in _ADDRESS.findall(err)}
            if _TWICE in err:
                known = self.ask(here)
                bad = {i for i, w in enumerate(here) if known[w] is None}
            if not bad:
                return [None if i in illegal else out.get(i) for i in range(len(here))]
            illegal |= bad
            for i in bad:
                here[i] = NOP

    def legal(self, words: list[int]) -> list[bool]:
        """Whether each word is an instruction, without its text: much cheaper than :meth:`ask`.

        With an illegal word after the others the tool prints nothing and lists the illegal addresses only; words of the opcodes of
        which it does not list all (UNLISTED) are then asked for their texts.
        """
        listed = self.listed(words)
        texts = self.ask([w for w, bad in zip(words, listed, strict=True) if not bad and w & _OPCODE in _UNLISTED_BITS])
        return [not bad and texts.get(w, "") is not None for w, bad in zip(words, listed, strict=True)]

    def listed(self, words: list[int]) -> list[bool]:
        """Whether the tool lists the address of each word as illegal."""
        if self.decoder in _ENDS:
            mask, value, field = _ENDS[self.decoder]
            ends = {i for i, w in enumerate(words) if w & mask == value and w & field != field}
            if ends:
                got = self.listed([NOP if i in ends else w for i, w in enumerate(words)])
                return [bad or i in ends for i, bad in enumerate(got)]
        err = self._start([*words, REFUSED]).stderr
        if _TWICE in err:
            if len(words) == 1:
                return [True]
            half = len(words) // 2
            return self.listed(words[:half]) + self.listed(words[half:])
        out = [False] * (len(words) + 1)
        for a in _ADDRESS.findall(err):
            out[int(a, 16) // 16] = True
        if not out.pop():
            raise SystemExit(f"nvdisasm does not list a word that is surely illegal: {err[-500:]}")
        return out

    def _ask(self, todo: list[int]) -> None:
        alone = [w for w in todo if w & _OPCODE in self.ending] if len(todo) > 1 else []
        if 0 < len(alone) < len(todo):
            self._ask(alone)
            todo = [w for w in todo if w & _OPCODE not in self.ending]
        rest = todo
        while rest:
            out, err = self._run(rest)
            if _TWICE in err or (err and not out and not _ADDRESS.search(err)):
                if len(rest) == 1:
                    self.known[rest[0]] = None
                    if _TWICE in err:
                        self.ending.add(rest[0] & _OPCODE)
                    return
                half = len(rest) // 2
                self._ask(rest[:half])
                self._ask(rest[half:])
                return
            bad = {int(a, 16) // 16 for a in _ADDRESS.findall(err)}
            if not bad:
                for i, w in enumerate(rest):
                    self.known[w] = out.get(i)
                self._targets(rest, out)
                return
            for i in bad:
                self.known[rest[i]] = None
            rest = [w for i, w in enumerate(rest) if i not in bad]

    def _targets(self, words: list[int], texts: dict[int, str]) -> None:
        """Gives the texts with branch targets as distances; `words` stand at 16 times their index."""
        places = [i for i, t in texts.items() if "0x" in t]
        tried: dict[int, int] = {}
        again = []
        for i in places:
            op = words[i] & _OPCODE
            tried[op] = tried.get(op, 0) + 1
            if self.moves.get(op, tried[op] <= 3):
                again.append(i)
        if not again:
            return
        moved, _ = self._run([NOP] * 5 + [words[i] for i in again])
        found = set()
        for k, i in enumerate(again):
            other = moved.get(k + 5)
            if other is not None and other != texts[i]:
                self.known[words[i]] = relative(texts[i], 16 * i, other, 16 * (k + 5))
                found.add(words[i] & _OPCODE)
        new = {op for op in found if not self.moves.get(op)}
        for op in tried:
            self.moves[op] = self.moves.get(op, False) or op in found
        if any(tried[op] > 3 for op in new):
            self._targets(words, {i: texts[i] for i in places if words[i] & _OPCODE in new})

    def _start(self, words: list[int]) -> "subprocess.CompletedProcess[str]":
        """A run of the tool over words at 16 times their index."""
        self.runs += 1
        with tempfile.NamedTemporaryFile(suffix=".bin") as f:
            f.write(b"".join(w.to_bytes(16, "little") for w in words))
            f.flush()
            return subprocess.run(
                [self.tool, "-ndf", "-b", self.decoder, f.name],
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )

    def _run(self, words: list[int]) -> tuple[dict[int, str], str]:
        done = self._start(words)
        out: dict[int, str] = {}
        for line in done.stdout.splitlines():
            m = _LINE.match(line)
            if m and m.group(2):
                out[int(m.group(1), 16) // 16] = _PADDED.sub(" ???", m.group(2))
        return out, done.stderr


# --- taking a text apart ------------------------------------------------------------------------------------------

_GUARD = re.compile(r"^@(!?)(U?P)(\d|T) ")
_TOKEN = re.compile(
    r"(?P<reg>(?:URZ|UR\d+|RZ|R\d+|UPT|UP\d|PT|P\d|SB\d+|B\d+)(?![A-Za-z0-9_]))(?P<suf>(?:\||\.[A-Za-z?][A-Za-z0-9_?]*|\.\d+)*)"
    r"|L(?P<lab>-?0x[0-9a-f]+)"
    r"|(?P<hex>-?0x[0-9a-f]+)"
    r"|(?P<num>-?\d+(?:\.\d+)?(?:e[+-]\d+)?(?![A-Za-z0-9_])|[+-](?:INF|QNAN|SNAN) )(?P<after>(?:\.[A-Z][A-Za-z0-9_]*)*)"
    r"|(?P<word>\?{3}\d+(?:\.[0-9A-Z][A-Za-z0-9_]*)*|[0-9]?[A-Za-z_][A-Za-z0-9_.]*)"
)


class Part:
    """One element of an operand: kind letter, number or text, suffix; whether the bar of an absolute value stands before the suffix."""

    def __init__(self, kind: str, value: int | str, suffix: str, reuse: bool, bar: bool = False) -> None:
        self.kind = kind
        self.value = value
        self.suffix = suffix
        self.reuse = reuse
        self.bar = bar


class Arg:
    """One operand: text before, skeleton, parts, text after."""

    def __init__(self, pre: str, skeleton: str, parts: list[Part], post: str) -> None:
        self.pre = pre
        self.skeleton = skeleton
        self.parts = parts
        self.post = post


def split_args(text: str) -> list[str]:
    out: list[str] = []
    depth = 0
    start = 0
    for i, c in enumerate(text):
        if c == "{":
            depth += 1
        elif c == "}":
            depth -= 1
        elif c == "," and depth == 0:
            out.append(
                text[start:i].strip(" ")
                if "INF" not in text[start:i] and "NAN" not in text[start:i]
                else text[start:i].lstrip(" ")
            )
            start = i + 1
    last = text[start:].lstrip(" ")
    if last:
        out.append(last)
    return out


_KEEP_WORD = ("c", "cx", "a", "desc", "gdesc", "tmem", "idesc")


def parse_arg(text: str) -> Arg:
    m = re.match(r"^[-~!|]*", text)
    assert m is not None
    pre = m.group(0)
    if re.match(r"-(0x|\d|INF|QNAN|SNAN)", text):
        pre = ""
    body = text[len(pre) :]
    if body.startswith("{") and body.endswith("}"):
        value = 0
        for k in body[1:-1].split(","):
            value |= 1 << int(k)
        return Arg(pre, "{S}", [Part("S", value, "", False)], "")
    parts: list[Part] = []
    skeleton = ""
    post = ""
    if "]" in body:
        cut = body.rindex("]") + 1
        body, post = body[:cut], body[cut:].replace("|", "")
    at = 0
    for t in _TOKEN.finditer(body):
        skeleton += body[at : t.start()]
        at = t.end()
        if t.group("reg"):
            name = t.group("reg")
            suf = t.group("suf")
            reuse = ".reuse" in suf
            suf = suf.replace(".reuse", "")
            bar = suf.startswith("|.")
            suf = suf.replace("|", "")
            if name.startswith("UR"):
                kind, value = "U", -1 if name == "URZ" else int(name[2:])
            elif name.startswith("UP"):
                kind, value = "Q", 7 if name == "UPT" else int(name[2:])
            elif name.startswith("SB"):
                kind, value = "D", int(name[2:])
            elif name.startswith("R"):
                kind, value = "R", 255 if name == "RZ" else int(name[1:])
            elif name.startswith("P"):
                kind, value = "P", 7 if name == "PT" else int(name[1:])
            else:
                kind, value = "B", int(name[1:])
            parts.append(Part(kind, value, suf, reuse, bar))
            skeleton += "{" + kind + "}"
        elif t.group("lab"):
            parts.append(Part("L", int(t.group("lab"), 16), "", False))
            skeleton += "{L}"
        elif t.group("hex"):
            parts.append(Part("I", int(t.group("hex"), 16), "", False))
            skeleton += "{I}"
        elif t.group("num"):
            parts.append(Part("F", t.group("num"), t.group("after"), False))
            skeleton += "{F}"
        elif t.group("word") in _KEEP_WORD:
            skeleton += t.group("word")
        else:
            parts.append(Part("W", t.group("word"), "", False))
            skeleton += "{W}"
    skeleton += body[at:].replace("|", "")
    return Arg(pre, skeleton, parts, post)


class Parsed:
    """A text in its parts."""

    def __init__(self, text: str) -> None:
        g = _GUARD.match(text)
        self.guard = g.group(2) if g else ""
        body = text[g.end() :] if g else text
        head, _, rest = body.partition(" ")
        self.mnemonic, _, mods = head.partition(".")
        self.mods = mods
        self.args = [parse_arg(a) for a in split_args(rest)]
        self.key = (self.mnemonic, tuple(a.skeleton for a in self.args))

"""Writes the table files of ``orias/isa/data`` from the records of single decoder classes, and reads records back.

A *record* is what the derivation programs work on: a dictionary with the keys that ``derived.derived_record`` lists.  Records of
different classes that say the same become one line of the table with the set of classes.
"""

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools" / "isa"))

from fold import Folded, Names, apart, condition_text, fold, from_text, ones_text  # noqa: E402

from orias.isa.choices import Choices  # noqa: E402
from orias.isa.notation import STANDARD, Vocabulary, parse_bits, parse_values  # noqa: E402
from orias.isa.rawtable import CLASSES, NOT_FORMS, Form, read_tables  # noqa: E402

DATA = ROOT / "orias" / "isa" / "data"
Record = dict[str, Any]
_NAMES = {v: k for k, v in STANDARD.items()}
_REUSE = {24: 122, 32: 123, 64: 124}
INLINE = 40
"""Longest value list that stands in the form itself."""


def bits_text(bits: list[int]) -> str:
    """Bit positions as runs: ``74+2,80`` (least significant first)."""
    found: list[list[int]] = []
    for b in bits:
        if found and found[-1][0] + found[-1][1] == b:
            found[-1][1] += 1
        else:
            found.append([b, 1])
    return ",".join(f"{lo}+{n}" if n > 1 else str(lo) for lo, n in found)


class TableNames:
    """Named value tables; a table keeps its name as long as its content stays."""

    def __init__(self, known: dict[str, str]) -> None:
        self.by_text = {values_text(parse_values(v)): k for k, v in known.items()}
        self.taken = set(known)
        self.used: dict[str, str] = {}

    def name(self, values: dict[int, str], hint: str) -> str:
        text = values_text(values)
        name = self.by_text.get(text)
        if name is None:
            name = hint
            n = 2
            while name in self.taken:
                name = f"{hint}_{n}"
                n += 1
            self.by_text[text] = name
            self.taken.add(name)
        self.used[name] = text
        return name

    def file_text(self) -> str:
        rows = ["# Values of modifier fields by name; see docs/isa-table.md.\n"]
        for name in sorted(self.used):
            line = name + ":"
            for word in self.used[name].split(" "):
                if len(line) + len(word) > 126:
                    rows.append(line + "\n")
                    line = "   "
                line += " " + word
            rows.append(line + "\n")
        return "".join(rows)


def values_text(values: dict[int, str]) -> str:
    """The shortest of the ways to write a value table: as a list, or as products of shorter tables."""
    listed = listed_text(values)
    products: list[str] = []
    while (found := _repeated(values) or _factor(values)) is not None:
        values, product = found
        products.append(product)
    short = " ".join([listed_text(values), *reversed(products)])
    return short if len(short) < len(listed) else listed


def _repeated(values: dict[int, str]) -> tuple[dict[int, str], str] | None:
    """The values for some bits zero, if these bits do not matter."""
    bits = max(values, default=0).bit_length()
    for low in range(bits):
        width = 0
        while low + width < bits and all(values.get(v ^ 1 << low + width) == t for v, t in values.items()):
            width += 1
        if width:
            field = (1 << width) - 1 << low
            return {v: t for v, t in values.items() if not v & field}, f"*{1 << low}x{1 << width}"
    return None


def listed_text(values: dict[int, str]) -> str:
    """The values one by one; runs of numbered texts as one."""
    out: list[str] = []
    at = 0
    run: list[str] = []
    for v in sorted(values):
        t = values[v] or '""'
        if v == at + 1 and run:
            run.append("#")
        elif v != at:
            out += runs_of_numbers(run)
            run = []
            out.append(f"{v}=")
        run.append(t)
        at = v + 1
    out += runs_of_numbers(run)
    return " ".join(out).replace("= ", "=")


def runs_of_numbers(texts: list[str]) -> list[str]:
    """``???0 ???1 ???2`` as ``???[0..2]``, ``???0 ???1 ???4 ???5`` as ``???[0..4..4+0..1]``."""
    out: list[str] = []
    i = 0
    while i < len(texts):
        name, number, rest = _numbered(texts[i])
        j = i + 1
        numbers = [number]
        while number >= 0 and j < len(texts):
            other, n, end = _numbered(texts[j])
            if other != name or end != rest or n <= numbers[-1]:
                break
            numbers.append(n)
            j += 1
        while len(numbers) > 2 and not (ranges := _ranges(numbers)):
            numbers.pop()
        if len(numbers) > 2:
            out.append(f"{name}[{ranges}]{rest}")
            i += len(numbers)
        else:
            out.append(texts[i])
            i += 1
    return out


def _numbered(text: str) -> tuple[str, int, str]:
    """``F16.???12`` as ``F16.???``, 12, nothing; -1 for a text without such a number."""
    found = re.fullmatch(r"(.*(?:\?\?\?|INVALID))(\d+)(.*)", text)
    return (found[1], int(found[2]), found[3]) if found else (text, -1, "")


def _ranges(numbers: list[int]) -> str:
    """The numbers as a sum of ranges; empty if they are not one."""
    for count in range(len(numbers), 1, -1):
        if len(numbers) % count:
            continue
        inner = [n - numbers[0] for n in numbers[:count]]
        outer = numbers[::count]
        step = inner[1]
        if inner != list(range(0, inner[-1] + 1, step)):
            continue
        if any(numbers[i * count + k] != outer[i] + inner[k] for i in range(len(outer)) for k in range(count)):
            continue
        if len(outer) == 1:
            return _range(outer[0], outer[0] + inner[-1], step)
        rest = _ranges(outer)
        if rest:
            return rest + "+" + _range(0, inner[-1], step)
    return ""


def _range(first: int, last: int, step: int) -> str:
    return f"{first}..{last}" + (f"..{step}" if step != 1 else "")


def _factor(values: dict[int, str]) -> tuple[dict[int, str], str] | None:
    """A smaller table and the product that makes these values of it, if there is one that saves most values."""
    bits = max(values, default=0).bit_length()
    if len(values) < 8:
        return None
    best: tuple[int, dict[int, str], str] | None = None
    for width in range(1, 6):
        for low in range(bits - width + 1):
            for before in (False, True):
                found = _split(values, low, width, before)
                if found is not None and (best is None or len(found[0]) < best[0]):
                    best = (len(found[0]), *found)
        if best is not None:
            return best[1], best[2]
    return None


def _split(values: dict[int, str], low: int, width: int, before: bool) -> tuple[dict[int, str], str] | None:
    """The values as those with some bits zero, each with a text for these bits after it or before it."""
    field = (1 << width) - 1 << low
    rows: dict[int, dict[int, str]] = {}
    for v, t in values.items():
        rows.setdefault((v & field) >> low, {})[v & ~field] = t
    if len(rows) < 2:
        return None
    base = min(rows.values(), key=lambda r: sum(map(len, r.values())))
    alternatives = []
    for k in range(max(rows) + 1):
        row = rows.get(k)
        if row is None:
            alternatives.append("#")
            continue
        if row.keys() != base.keys():
            return None
        found = {_added(base[v], t, before) for v, t in row.items()}
        if len(found) != 1:
            return None
        text = found.pop()
        if text is None:
            return None
        alternatives.append(text)
    return base, f"*{1 << low}{'<' if before else ''}({','.join(runs_of_numbers(alternatives))})"


def _added(base: str, text: str, before: bool) -> str | None:
    """What stands after (before) a text of a table besides it."""
    if base == text:
        return ""
    if not base:
        return text
    if before:
        return text[: -len(base) - 1] if text.endswith("." + base) else None
    return text[len(base) + 1 :] if text.startswith(base + ".") else None


def unnamed(values: dict[int, str]) -> bool:
    """True for a table of which no value has a name."""
    return all(re.fullmatch(r"(\?\?\?|INVALID)\d+", t) for t in values.values())


def piece_text(p: Any, names: TableNames, hint: str) -> str:
    """A literal, or [bits, {value: text}]."""
    if isinstance(p, str):
        return p
    bits = parse_bits(p[0])
    values = {int(k): v for k, v in p[1].items()}
    count = 1 << len(bits)
    if values and (count <= 16 or unnamed(values)):
        top = max(values)
        listed = "/".join(runs_of_numbers([values.get(i, "#") for i in range(top + 1)]))
        if len(listed) <= INLINE and ("/" in listed or "[" in listed):
            return f"<{listed} {p[0]}>"
    return f"<${names.name(values, f'{hint}_{bits[0]}')} {p[0]}>"


def element_text(kind: str, e: Record, names: TableNames, hint: str) -> str:
    """An element with the pieces after it."""
    suffix = "".join(piece_text(p, names, hint) for p in e.get("suf", ()))
    if "w" in e:
        return "{" + "".join(piece_text(p, names, hint) for p in e["w"]) + "}" + suffix
    lo = -1
    if "f" in e:
        where, _, scale = e["f"].partition("*")
        signed = where[-1] == "s"
        low, _, n = where.rstrip("su").partition("+")
        lo, width = int(low), int(n or 1)
        if kind == "U" and width == 6 and lo & 7 == 0:
            width = 8
        body = f"{lo}+{width}{'s' if signed else ''}" + (f"*{scale}" if scale not in ("", "1") else "")
    elif "sum" in e:
        const, parts = e["sum"]
        body = f"sum {const}"
        for low, n, weight in parts:
            body += f" {low}+{n}" + (f"*{weight}" if weight != 1 else "")
        if const == 0 and len(parts) == 1 and parts[0][2] == 1:
            lo, body = parts[0][0], f"{parts[0][0]}+{parts[0][1]}"
    elif "fl" in e:
        fkind, _, low = e["fl"].partition("@")
        body = f"{fkind} {low}"
    elif "set" in e:
        body = e["set"]
    else:
        body = f"={e['c']}"
    reuse = e.get("r", -1)
    mark = ""
    if reuse >= 0:
        if _REUSE.get(lo) == reuse:
            mark = "~"
        else:
            body += f" r{reuse}"
    if e.get("hid"):
        body += " hidden"
    text = f"{kind}({body})"
    return _NAMES.get(text, text) + mark + suffix


def operand_text(o: Record, names: TableNames, hint: str) -> str:
    skeleton: str = o["s"]
    out = "".join(piece_text(p, names, hint) for p in o.get("pre", ()))
    k = i = 0
    while i < len(skeleton):
        if skeleton[i] == "{" and i + 2 < len(skeleton) and skeleton[i + 2] == "}":
            out += element_text(skeleton[i + 1], o["el"][k], names, hint)
            k += 1
            i += 3
        else:
            out += skeleton[i]
            i += 1
    return out + "".join(piece_text(p, names, hint) for p in o.get("post", ()))


def form_text(opcode: int, v: Record, names: TableNames) -> tuple[str, list[str]]:
    """Template and notes of a record (``n``, ``prefer`` and defaults aside)."""
    hint = v["mn"].lower()
    mask, val = int(v["mask"], 16), int(v["val"], 16)
    template = v["mn"] + "".join("." + piece_text(p, names, hint) for p in v.get("mods", ()))
    texts = [operand_text(o, names, hint) for o in v.get("ops", ())]
    texts = [("^" if i < v["results"] else "") + t for i, t in enumerate(texts)]
    template += (" " if texts else "") + ", ".join(texts)
    notes = []
    implied = 0
    reuse = 0
    for o in v.get("ops", ()):
        for e in o["el"]:
            if "r" in e:
                reuse |= 1 << e["r"]
    flags = 7 << 122 & ~reuse
    if mask & flags == flags and not val & flags:
        implied |= flags
        flags = 0
    rest = mask & ~implied & ~(0xFFF | 1 << 91)
    if rest:
        notes.append("when " + condition_text((rest, val)))
    if v.get("not"):
        notes.append("unless " + " or ".join(condition_text((int(m, 16), int(x, 16))) for m, x in v["not"]))
    if v.get("pow2"):
        notes.append("power-of-two")
    if v.get("alias"):
        notes.append("alias")
    if v.get("guard", "P") != "P":
        notes.append("uniform-guard")
    if v.get("bar"):
        notes.append("bars " + v["bar"])
    if flags:
        notes.append("loose-reuse")
    return template, notes


def doubtful(v: Record) -> int:
    """Bits of the modifier fields that print several values alike."""
    m = 0
    pieces = list(v.get("mods", ()))
    for o in v.get("ops", ()):
        pieces += [*o.get("pre", ()), *o.get("post", ())]
        for e in o["el"]:
            pieces += [*e.get("suf", ()), *e.get("w", ())]
    for p in pieces:
        if not isinstance(p, str) and len(set(p[1].values())) < len(p[1]):
            for b in parse_bits(p[0]):
                m |= 1 << b
    return m


def default_notes(v: Record) -> list[str]:
    notes = []
    d = int(v.get("hidden_default", "0"), 16)
    if d:
        notes.append("unused " + ones_text(d))
    for mods, x in sorted(v.get("hidden_by_mods", {}).items()):
        notes.append((f"unused({mods}) " + ones_text(int(x, 16))).strip())
    p = int(v.get("prefer", "0"), 16) & doubtful(v)
    if p:
        notes.append("prefer " + ones_text(p))
    return notes


class Line:
    """A form of the table being written, with the classes that have it."""

    def __init__(
        self, opcode: int, folded: Folded, template: str, notes: list[str], extra: list[str], counts: list[int]
    ) -> None:
        self.opcode = opcode
        self.folded = folded
        self.template = template
        self.notes = notes
        self.extra = extra
        self.counts = counts
        """How many words took each layout."""
        self.classes: list[str] = []

    @property
    def seen(self) -> int:
        return sum(self.counts)

    def key(self) -> tuple[str, ...]:
        return (self.template, *self.notes)


def classes_text(classes: list[str]) -> str:
    have = [c in classes for c in CLASSES]
    if all(have):
        return "all"
    out = []
    i = 0
    while i < len(CLASSES):
        if have[i]:
            j = i
            while j + 1 < len(CLASSES) and have[j + 1]:
                j += 1
            out.append(CLASSES[i][3:] + (f"-{CLASSES[j][3:]}" if j > i else ""))
            i = j
        i += 1
    return ",".join(out)


def merge(per_class: dict[str, list[Line]]) -> list[Line]:
    """One list for an opcode in which every class finds its forms in its own order, but for forms that share no word.

    Lines of several classes that say the same become one, unless that would put a line both before and after another.  Lines that
    share no word keep the order of the classes where these agree: of forms that tie, the encoder takes the first.
    """
    found: list[Line] = []
    earlier: dict[int, set[int]] = {}
    """Line -> the lines that stand before it in some class."""
    after: dict[int, set[int]] = {}
    """Line -> the lines that it must precede, by place in `found`."""
    disjoint: dict[tuple[int, int], bool] = {}
    for name in CLASSES:
        mine: list[int] = []
        for new in per_class.get(name, ()):
            before = [k for k in mine if not _apart(found[k].folded, new.folded, disjoint)]
            place = len(found)
            for k, x in enumerate(found):
                same = x.key() == new.key() and x.extra == new.extra
                if same and k not in mine and not any(_reaches(after, k, b) for b in before):
                    place = k
                    break
            if place == len(found):
                found.append(new)
                after[place] = set()
                earlier[place] = set()
            else:
                x = found[place]
                x.counts = [max(pair) for pair in zip(x.counts, new.counts, strict=True)]
            found[place].classes.append(name)
            for k in before:
                after[k].add(place)
            earlier[place].update(mine)
            mine.append(place)
    return [found[k] for k in _sorted(after, earlier)]


def _apart(a: Folded, b: Folded, known: dict[tuple[int, int], bool]) -> bool:
    key = (id(a), id(b))
    if key not in known:
        known[key] = apart(a, b)
    return known[key]


def _reaches(after: dict[int, set[int]], start: int, end: int) -> bool:
    """True if `end` comes after `start`."""
    seen = {start}
    todo = [start]
    while todo:
        k = todo.pop()
        if k == end:
            return True
        todo += after[k] - seen
        seen |= after[k]
    return False


def _sorted(after: dict[int, set[int]], earlier: dict[int, set[int]]) -> list[int]:
    """The lines in an order that holds all relations; next comes the one with the fewest earlier lines to come, or the first found."""
    waits = dict.fromkeys(after, 0)
    for following in after.values():
        for k in following:
            waits[k] += 1
    out: list[int] = []
    while waits:
        k = min((n for n, count in waits.items() if not count), key=lambda n: (len(earlier[n] & waits.keys()), n))
        out.append(k)
        del waits[k]
        for other in after[k]:
            waits[other] -= 1
    return out


_FILES = (
    ("uniform", ("U",), ("UBLK", "UTC", "UTMA", "UCGABAR", "USETMAXREG", "UTMEM", "UGETNEXT", "UVIRT")),
    ("tensor", ("HMMA", "IMMA", "BMMA", "DMMA", "QMMA", "OMMA", "HGMMA", "IGMMA", "BGMMA", "QGMMA", "WARPGROUP", "LDSM", "STSM", "MOVM", "LDTM", "STTM", "UTC", "UVIRT", "GENMETADATA", "SPMETADATA"), ()),
    ("half", ("HADD2", "HMUL2", "HFMA2", "HSET2", "HSETP2", "HMNMX2"), ()),
    ("convert", ("F2F", "F2I", "I2F", "I2I", "FRND", "F2IP", "I2IP", "I2FP", "F2FP"), ()),
    ("float", ("F", "DADD", "DMUL", "DFMA", "DSETP", "DMNMX", "MUFU"), ("FENCE", "FOOTPRINT")),
    ("texture", ("TEX", "TLD", "TXD", "TXQ", "TMML", "SULD", "SUST", "SURED", "FOOTPRINT", "SUQUERY", "TXA", "TTU"), ()),
    ("bulk", ("UBLK", "UTMA", "SYNCS", "ARRIVES", "UCGABAR", "ACQBULK", "CGABAR", "UGETNEXT", "USETMAXREG", "ELECT"), ()),
    ("memory", ("LD", "ST", "ATOM", "RED", "CCTL", "MEMBAR", "QSPC", "ERRBAR", "CGAERRBAR", "FENCE", "AL2P", "AST", "ALD", "IPA", "ISBE", "OUT", "PIX"), ("REDUX",)),
    ("control", ("BRA", "BRX", "JMP", "JMX", "CALL", "RET", "EXIT", "BSSY", "BSYNC", "BREAK", "BMOV", "KILL", "RTT", "BPT", "WARPSYNC", "YIELD", "NANOSLEEP", "BAR", "DEPBAR", "ENDCOLLECTIVE", "PREEXIT", "NOP", "PMTRIG", "LEPC", "RPCMOV", "B2R", "WARP"), ()),
    ("integer", ("I", "LEA", "LOP", "SHF", "SHL", "SHR", "BMSK", "BREV", "FLO", "POPC", "PRMT", "SGXT", "VABSDIFF", "VHMNMX", "VI", "SCATTER", "BITEXTRACT", "PLOP3"), ()),
)  # fmt: skip
"""Table file of a mnemonic by its first letters: (file, beginnings, exceptions)."""


def file_of(mnemonic: str) -> str:
    for want in ("tensor", "bulk"):
        for name, starts, _ in _FILES:
            if name == want and mnemonic.startswith(starts):
                return name
    for name, starts, but in _FILES:
        if mnemonic.startswith(starts) and not (but and mnemonic.startswith(but)):
            return name
    return "move"


def mnemonic_of(line: Line) -> str:
    return line.template.split(" ", 1)[0].split(".", 1)[0]


def table_text(lines: list[Line]) -> str:
    rows = []
    at = 0
    while at < len(lines):
        mnemonic = mnemonic_of(lines[at])
        end = at
        while end < len(lines) and mnemonic_of(lines[end]) == mnemonic:
            end += 1
        opcodes = dict.fromkeys(f"{x.opcode:04x}" for x in lines[at:end])
        rows.append(("\n" if rows else "") + f"# {mnemonic} {' '.join(opcodes)}\n")
        rows += [line_text(x) for x in lines[at:end]]
        at = end
    return "".join(rows)


def line_text(x: Line) -> str:
    rows = [f"{x.opcode:04x} @{classes_text(x.classes)} {x.template}\n"]
    notes = [*x.notes, *x.extra]
    if x.seen:
        notes.append("seen " + ",".join(map(str, x.counts)))
    line = "     "
    for i, note in enumerate(notes):
        if i and len(line) + len(note) > 124:
            rows.append(line + "\n")
            line = "     "
        line += ("; " if line.strip() else "") + note
    if notes:
        rows.append(line + "\n")
    return "".join(rows)


def class_lines(
    opcode: int, forms: list[Record], name: str, names: TableNames, choices: Names, known: dict[object, list[Line]]
) -> list[Line]:
    """The lines of one opcode and class, folded; `known` keeps answers, since classes share most."""
    rows = []
    for v in forms:
        template, notes = form_text(opcode, v, names)
        rows.append((template, tuple(notes + default_notes(v)), v["n"]))
    key = (opcode, int(name[3:]) >= 100, tuple(rows))
    if key not in known:
        vocabulary = Vocabulary(lambda: names.used, 8 if int(name[3:]) >= 100 else 6)
        folded = fold(
            [
                from_text(t, list(notes), n, Form(opcode, t, "; ".join(notes), vocabulary).hidden & (1 << 105) - 1)
                for t, notes, n in rows
            ]
        )
        known[key] = [Line(opcode, x, *x.text(choices)) for x in folded]
    return [Line(opcode, x.folded, x.template, x.notes, x.extra, list(x.counts)) for x in known[key]]


def write(records: dict[str, dict[int, list[Record]]], folder: Path = DATA) -> None:
    """Writes all files: records by class and opcode, in match order."""
    names = TableNames(read_tables(_text(folder / "tables.isa")))
    choices = Names(Choices(_text(folder / "choices.isa")).all())
    known: dict[object, list[Line]] = {}
    opcodes = sorted({op for forms in records.values() for op in forms})
    files: dict[str, list[tuple[str, int, list[Line]]]] = {}
    for opcode in opcodes:
        per_class = {
            name: class_lines(opcode, records.get(name, {}).get(opcode, []), name, names, choices, known)
            for name in CLASSES
        }
        lines = merge(per_class)
        mnemonic = min(map(mnemonic_of, lines))
        files.setdefault(file_of(mnemonic), []).append((mnemonic, opcode, lines))
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.isa"):
        if path.name not in NOT_FORMS:
            path.unlink()
    for name, groups in files.items():
        groups.sort(key=lambda g: (g[0], g[1]))
        text = table_text([x for _, _, lines in groups for x in lines])
        (folder / f"{name}.isa").write_text(text, encoding="ascii")
    (folder / "tables.isa").write_text(names.file_text(), encoding="ascii")
    (folder / "choices.isa").write_text(choices.file_text(), encoding="ascii")


def _text(path: Path) -> str:
    return path.read_text(encoding="ascii") if path.exists() else ""

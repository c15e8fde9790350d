"""Suggestions in assembler messages: mnemonics and forms similar to a wrong text."""

import difflib
import re

from orias.isa.isa_table import IsaTable
from orias.isa.rawtable import Form

_KINDS = {
    "R": "R",
    "U": "UR",
    "P": "P",
    "Q": "UP",
    "B": "B",
    "D": "SB",
    "I": "0x.",
    "F": "1.0",
    "L": "`(label)",
    "W": "word",
    "S": "{0}",
}


def near_mnemonics(table: IsaTable, mnemonic: str) -> str:
    """``; nearest: IADD3, VIADD`` for a mnemonic that does not exist; empty if none is similar."""
    found = difflib.get_close_matches(mnemonic.upper(), table.raw.mnemonics(), 3, 0.5)
    return f"; nearest: {', '.join(found)}" if found else ""


def form_text(form: Form) -> str:
    """Readable text of a form: ``IADD3[.X] R, P, R, R, R``, with optional modifiers in brackets."""
    out = form.mnemonic
    for p in form.mods:
        if not p.bits:
            out += "." + p.text
            continue
        names = [t for t in p.values.values() if t and "?" not in t and "INVALID" not in t]
        if names:
            shown = "|".join(names[:4]) + ("|..." if len(names) > 4 else "")
            out += f"[.{shown}]" if "" in p.values.values() else f".{{{shown}}}" if len(names) > 1 else f".{shown}"
    operands = [re.sub(r"\{(\w)\}", lambda m: _KINDS[m.group(1)], o.skeleton) for o in form.operands]
    return out + (" " + ", ".join(operands) if operands else "")


def _skeleton(text: str) -> str:
    """An operand list without its numbers, to compare with forms."""
    text = re.sub(r"\b(UR|UP|SB|R|P|B)(?:\d+|Z|T)(?:\.\w+)*", r"\1", text)
    text = re.sub(r"-?0x[0-9a-f]+", "0x.", text)
    text = re.sub(r"(?<![\w.])-?\d+\.\d+(?:e[+-]?\d+)?", "1.0", text)
    return re.sub(r"[-~!|]", "", text).strip()


def near_forms(table: IsaTable, text: str) -> str:
    """``; nearest form: ...`` for an instruction text that matches no form; empty if the mnemonic has no forms."""
    head, _, operands = text.partition(" ")
    mnemonic, _, mods = head.partition(".")
    wanted = _skeleton(operands)
    named = set(mods.split(".")) - {""}
    best: list[tuple[float, str]] = []
    for form in table.raw.of_mnemonic(mnemonic):
        if form.alias:
            continue
        shown = form_text(form)
        likeness = difflib.SequenceMatcher(None, wanted, shown.partition(" ")[2]).ratio()
        legal = {t for p in form.mods for t in ([p.text] if not p.bits else p.values.values())}
        required = {p.text for p in form.mods if not p.bits}
        best.append(
            (likeness - 0.3 * len(named - legal) - 0.2 * len(required - named) + (0.001 if form.seen else 0), shown)
        )
    best.sort(reverse=True)
    return f"; nearest form: {best[0][1]}" if best else ""

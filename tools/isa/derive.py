"""Finds forms for words that the table cannot print exactly.

Usage: ``python tools/isa/derive.py sm_90 WORDS_FILE... [--redo N]``.

``--redo N`` also derives again the forms, seen in the words, that hold a modifier field of more than N bits.  A derived form is
kept only if it prints every seed and a random sample of words of the form exactly.
"""

import contextlib
import copy
import random
import sys
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools" / "isa"))

from derived import derived_record, show_descriptors  # noqa: E402
from oracle import Oracle, Parsed, shown  # noqa: E402
from probe import CALM, CONTROL, GUARD, OPCODE, NotDerived, Probe, calm  # noqa: E402
from tablefile import Record  # noqa: E402
from working import Working, form_of  # noqa: E402

from orias.isa.decode import IllegalWord  # noqa: E402
from orias.isa.isa_table import IsaTable  # noqa: E402
from orias.isa.printer import Printer  # noqa: E402
from orias.isa.rawtable import Form, RawTable  # noqa: E402


def drive(probes: list[Probe], oracle: Oracle) -> None:
    """Runs all derivations side by side, so that one question to the tool serves all."""
    running = []
    for p in probes:
        g = p.run()
        with contextlib.suppress(StopIteration, NotDerived):
            running.append((p, g, next(g)))
    while running:
        want = [w for _, _, ws in running for w in ws]
        answers = oracle.ask(want) if want else {}
        after = []
        for p, g, ws in running:
            try:
                after.append((p, g, g.send({w: answers[w] for w in ws})))
            except StopIteration:
                p.done = True  # type: ignore[attr-defined]
            except NotDerived as e:
                p.error = str(e)  # type: ignore[attr-defined]
        running = after


def sample(form: Form, rng: random.Random, count: int) -> list[int]:
    """Random words of a form: random numbers, legal modifier values."""
    out = []
    hidden = form.hidden
    for _ in range(count):
        w = rng.getrandbits(105) & ~form.mask & ~hidden & ~GUARD & ~(1 << 91) | form.val
        for p in form.pieces():
            if p.bits:
                w = w & ~p.mask | p.place(rng.choice(list(p.values)))
        w = w & ~CONTROL & ~GUARD | CALM | 7 << 12 | form.default & hidden & ~CONTROL
        if form.matches(w):
            out.append(w)
    return out


def judged(form: Form, seeds: list[int]) -> list[int]:
    """The words that decide about a form: its seeds and random ones."""
    return [calm(w) for w in seeds] + sample(form, random.Random(1), 120)


def check(form: Form, table: RawTable, oracle: Oracle, seeds: list[int]) -> str:
    """Empty if the form prints its seeds and samples exactly, else what differs."""
    words = judged(form, seeds)
    got = oracle.ask(words)
    printer = Printer(table)
    wrong = 0
    first_wrong = ""
    for i, w in enumerate(words):
        ref = got[w]
        mine = printer.form_text(form, w, -16, None) if form.matches(w) else None
        if ref is None:
            continue
        if mine != shown(ref):
            if i >= len(seeds) and ("INVALID" in ref or "???" in ref):
                continue
            wrong += 1
            first_wrong = first_wrong or f"{w:032x}: {mine} instead of {ref}"
    return f"{wrong} of {len(words)} differ: {first_wrong}" if wrong else ""


def covers(new: Form, name: str, r: Record) -> bool:
    """True if a form prints all words of the form of a record as that does."""
    printer = Printer(RawTable(name))
    old = form_of(new.opcode, r, name)
    words = sample(old, random.Random(2), 60)
    return all(
        new.matches(w) and printer.form_text(new, w, -16, None) == printer.form_text(old, w, -16, None) for w in words
    )


def replace(forms: list[Record], new: Record, covers: Callable[[Record], bool] | None = None) -> list[Record]:
    """Puts a form among those of its opcode: before the forms it overlaps, in place of those it covers.

    `covers` says whether the new form takes all words of one whose fixed bits hold the new one's.
    """
    mask, val = int(new["mask"], 16), int(new["val"], 16)
    skeletons = [o["s"] for o in new["ops"]]
    out: list[Record] = []
    at = -1
    for r in forms:
        m, v = int(r["mask"], 16), int(r["val"], 16)
        overlaps = (v ^ val) & m & mask == 0 and "alias" not in r
        same = r["mn"] == new["mn"] and [o["s"].replace("]{U}", "]") for o in r["ops"]] == skeletons
        if overlaps and same:
            if at < 0:
                at = len(out)
            if mask & ~m & (1 << 105) - 1 == 0 and (covers is None or covers(r)):
                continue
        out.append(r)
    if at < 0:
        at = len(out)
        for i, r in enumerate(out):
            if int(r["mask"], 16).bit_count() < mask.bit_count():
                at = i
                break
    out.insert(at, new)
    return out


def without_sum(r: Record) -> list[Record]:
    """For a uniform register that follows another (``UR12, UR14``), the form in which the other is URZ and so is it."""
    for o in r["ops"]:
        for e in o["el"]:
            if "sum" in e and e["sum"][0] > 0 and "U" in o["s"] and len(e["sum"][1]) == 1 and e["sum"][1][0][2] == 1:
                lo, width, _ = e["sum"][1][0]
                full = (1 << width) - 1
                field = full << lo
                last = copy.deepcopy(r)
                last["mask"] = f"{int(r['mask'], 16) | field:x}"
                last["val"] = f"{int(r['val'], 16) | field:x}"
                last["not"] = [x for x in r["not"] if not int(x[0], 16) & field] if "not" in r else []
                for oo in last["ops"]:
                    for ee in oo["el"]:
                        if ee.get("f") == f"{lo}+{width}" or ee.get("sum", [0, []])[1] == [[lo, width, 1]]:
                            ee.pop("f", None)
                            ee.pop("sum", None)
                            ee["c"] = 255
                r["not"] = [
                    *(r.get("not") or []),
                    *([f"{field:x}", f"{v << lo:x}"] for v in range(full + 1 - e["sum"][0], full + 1)),
                ]
                return [last]
    return []


def append(forms: list[Record], new: Record, covers: Callable[[Record], bool]) -> list[Record]:
    """Puts a form for words that had none after the others, in place of those that it covers and compiler output never took."""
    mask, val = int(new["mask"], 16), int(new["val"], 16)
    kept = []
    for r in forms:
        m, v = int(r["mask"], 16), int(r["val"], 16)
        inside = mask & ~m & (1 << 105) - 1 == 0 and (v ^ val) & mask & m == 0
        if r["n"] or r["mn"] != new["mn"] or not inside or not covers(r):
            kept.append(r)
    return [*kept, new]


def seeds_of(t: IsaTable, words: list[int], oracle: Oracle, redo: int) -> dict[Any, list[int]]:
    """The words that the table does not print exactly, by opcode and operand layout.

    Words with values that have no meaning (``INVALID3``) count only if the table refuses them, and come last.
    """
    texts = oracle.ask(words)
    out: dict[Any, list[int]] = defaultdict(list)
    last: list[tuple[Any, int]] = []
    wide: dict[int, bool] = {}
    for w in words:
        ref = texts[w]
        if ref is None:
            continue
        form = t._printer.form(w)
        if "INVALID" in ref or "???" in ref:
            if form is None:
                last.append(((w & OPCODE, Parsed(ref).key), w))
            continue
        try:
            bad = t._printer.text(w, -16, None) != shown(ref)
            t._decoder.decode(w)
        except IllegalWord:
            bad = True
        if not bad and redo and form is not None:
            if id(form) not in wide:
                wide[id(form)] = any(len(p.bits) > redo for p in form.mods)
            bad = wide[id(form)]
        if bad:
            p = Parsed(ref)
            out[(w & OPCODE, p.key)].append(w)
    for key, w in last:
        out[key].append(w)
    return out


def usual_default(work: Working, name: str, opcode: int, mnemonic: str) -> str:
    """Hidden bits of the form of a mnemonic that compiler output takes most, preferably of the same opcode; "0" if there is none."""
    own = [(r["n"], r) for r in work.records[name].get(opcode, ()) if r["mn"] == mnemonic and r["n"]]
    if not own:
        own = [(r["n"], r) for rs in work.records[name].values() for r in rs if r["mn"] == mnemonic and r["n"]]
    return max(own, key=lambda x: x[0])[1].get("hidden_default", "0") if own else "0"


def derive(
    work: Working,
    name: str,
    words: list[int],
    oracle: Oracle,
    redo: int = 0,
    rounds: int = 4,
    failed: dict[Any, int] | None = None,
) -> int:
    """Derives until nothing changes; returns how many forms were written into `work`.

    `failed` takes layouts with the seed that led to no form, which are not tried again.
    """
    failed = {} if failed is None else failed
    total = 0
    for _ in range(rounds):
        t = work.isa(name)
        found = seeds_of(t, words, oracle, redo)
        redo = 0
        seeds = {k: ws for k, ws in found.items() if failed.get(k) != ws[0]}
        print(f"{name}: {len(seeds)} layouts to derive, {len(found) - len(seeds)} failed before", flush=True)
        if not seeds:
            break
        failed |= {k: ws[0] for k, ws in seeds.items()}
        probes = {k: Probe(ws[0], 63 if int(name[3:]) < 100 else 255) for k, ws in seeds.items()}
        drive(list(probes.values()), oracle)
        added = 0
        made: list[tuple[Any, Record, Form, list[int]]] = []
        for k, p in probes.items():
            opcode = k[0] & 0xFFF | (k[0] >> 91) << 12
            label = f"{opcode:04x} {k[1]}"
            if not getattr(p, "done", False):
                print("  failed:", label, getattr(p, "error", "?"))
                continue
            try:
                record = derived_record(p.form())
            except NotDerived as e:
                print("  failed:", label, e)
                continue
            for r in [record, *without_sum(record)]:
                form = form_of(opcode, r, name)
                made.append((k, r, form, [w for w in seeds[k] if form.matches(calm(w))]))
        # One question for all: a run of the tool costs half a second.
        oracle.ask([w for _, _, form, own in made for w in judged(form, own)])
        for k, record, form, own in made:
            opcode = form.opcode
            label = f"{opcode:04x} {k[1]}"
            trouble = check(form, t.raw, oracle, own)
            if trouble:
                print("  differs:", label, trouble)
                continue
            # The seed is no compiler output: its hidden bits say nothing.
            record["hidden_default"] = usual_default(work, name, opcode, record["mn"])
            forms = work.records[name]
            place = append if all(t.form(calm(w)) is None for w in seeds[k]) else replace
            forms[opcode] = show_descriptors(place(forms.get(opcode, []), record, partial(covers, form, name)))
            added += 1
        print(f"{name}: {added} forms written, {oracle.runs} runs of the tool", flush=True)
        total += added
        if not added:
            break
    return total


def read_words(paths: list[str]) -> list[int]:
    """The words of files with one hexadecimal number a line, each once."""
    return sorted({int(x, 16) for f in paths for x in Path(f).read_text(encoding="ascii").split()})


def main(argv: list[str]) -> None:
    redo = 0
    if "--redo" in argv:
        at = argv.index("--redo")
        redo = int(argv[at + 1])
        argv = argv[:at] + argv[at + 2 :]
    name = argv[0]
    work = Working()
    if derive(work, name, read_words(argv[1:]), Oracle(name.upper().replace("_", "")), redo):
        work.save()


if __name__ == "__main__":
    main(sys.argv[1:])

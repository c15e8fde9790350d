"""Counts the illegal words that nvdisasm does not list as illegal, by opcode.

Usage: ``python tools/isa/unlisted.py [--count N] [sm_90 ...]`` (default: all classes).  N words (default 60,000) of the kinds ``fields`` and ``two`` of ``legality.py`` each
are asked twice: for the list of illegal addresses, and those not listed for their texts.  ``oracle.UNLISTED`` holds what was found; other opcodes are
marked with ``new``.
"""

import argparse
import random
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools" / "isa"))

from legality import fields, flipped  # noqa: E402
from oracle import UNLISTED, Oracle  # noqa: E402

from orias.isa.isa_table import load  # noqa: E402
from orias.isa.rawtable import CLASSES  # noqa: E402


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=CLASSES)
    parser.add_argument("--count", type=int, default=60000)
    parser.add_argument("--seed", type=int, default=9)
    given = parser.parse_args(argv)
    for name in given.tables:
        t = load(name)
        oracle = Oracle(name.upper().replace("_", ""))
        rng = random.Random(given.seed)
        words = fields(t, rng, given.count) + flipped(t, rng, given.count, (2,))
        left = [w for w, bad in zip(words, oracle.listed(words), strict=True) if not bad]
        texts = oracle.ask(left)
        found = Counter(w & 0xFFF | (w >> 91 & 1) << 12 for w in left if texts[w] is None)
        print(
            f"{name}: {len(words)} words, {len(words) - len(left)} listed, {found.total()} illegal and not listed:",
            flush=True,
        )
        for op, n in sorted(found.items()):
            print(f"  {op:04x} {n}{'' if op in UNLISTED else ' new'}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

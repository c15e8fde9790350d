"""Derives forms for opcodes that the decoder knows and the table of a class lacks.

Usage: ``python tools/isa/absent.py [sm_90 ...]`` (default: all classes).  Words of all 8,192 opcodes but the class's own, random fields and
fields at 0 or all ones, are put to nvdisasm; the legal ones are seeds for ``derive.py``.
"""

import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools" / "isa"))

from derive import derive  # noqa: E402
from oracle import Oracle  # noqa: E402
from regenerate import words_of_opcodes  # noqa: E402
from tablefile import CLASSES  # noqa: E402
from working import Working  # noqa: E402


def absent(work: Working, name: str, seed: int) -> int:
    """Returns how many forms were written into `work`."""
    oracle = Oracle(name.upper().replace("_", ""))
    words = words_of_opcodes(oracle, random.Random(seed), set(work.records[name]))
    found = sorted({w & 0xFFF | (w >> 91 & 1) << 12 for w in words})
    print(f"{name}: {len(words)} words of {len(found)} opcodes: {' '.join(f'{op:04x}' for op in found)}", flush=True)
    return derive(work, name, words, oracle, rounds=3) if words else 0


def main(argv: list[str]) -> None:
    for name in argv or CLASSES:
        work = Working()
        if absent(work, name, 4):
            work.save()


if __name__ == "__main__":
    main(sys.argv[1:])

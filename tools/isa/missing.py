"""Derives the forms that random words show to be missing.

Usage: ``python tools/isa/missing.py sm_90 [COUNT [SEED]]``.  COUNT words (default 30,000) with random fields, as many flipped ones (``legality.py``) and as many with numbers
at 0 and all ones, where layouts change, are put to nvdisasm and to the table; those that only nvdisasm takes are seeds for ``derive.py``.
"""

import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools" / "isa"))

from derive import derive  # noqa: E402
from legality import corners, fields, flipped  # noqa: E402
from oracle import Oracle  # noqa: E402
from probe import calm  # noqa: E402
from working import Working  # noqa: E402


def refused(work: Working, name: str, oracle: Oracle, count: int, seed: int) -> list[int]:
    """Words that only nvdisasm takes, with harmless control bits."""
    t = work.isa(name)
    words = []
    for make in (fields, flipped, corners):
        made = {calm(w) for w in make(t, random.Random(seed), count)}
        words += [w for w in sorted(made) if t.form(w) is None]
    return [w for w, text in oracle.ask(words).items() if text is not None]


def main(argv: list[str]) -> None:
    name = argv[0]
    count = int(argv[1]) if len(argv) > 1 else 30000
    seed = int(argv[2]) if len(argv) > 2 else 5
    work = Working()
    oracle = Oracle(name.upper().replace("_", ""))
    words = refused(work, name, oracle, count, seed)
    print(f"{name}: {len(words)} words that only nvdisasm takes", flush=True)
    if derive(work, name, words, oracle, rounds=2):
        work.save()


if __name__ == "__main__":
    main(sys.argv[1:])

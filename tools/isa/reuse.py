"""Which reuse flags (bits 122 to 124) of slots without a register a form may have, asked of nvdisasm.

Usage: ``python tools/isa/reuse.py [sm_90 ...]``.  A flag that is illegal in every sample becomes a fixed zero of the form.
"""

import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools" / "isa"))

from derive import sample  # noqa: E402
from oracle import Oracle  # noqa: E402
from tablefile import CLASSES  # noqa: E402
from working import Working  # noqa: E402

FLAGS = (122, 123, 124)


def settle(work: Working, name: str, oracle: Oracle) -> int:
    """Changes `work`; returns how many forms changed."""
    rng = random.Random(31)
    table = work.table(name)
    jobs: list[tuple[int, int, int, list[int]]] = []
    for opcode in work.records[name]:
        for i, form in enumerate(table.of_opcode(opcode)):
            used = {e.reuse for o in form.operands for e in o.elems}
            words = sample(form, rng, 5)
            jobs += [(opcode, i, b, words) for b in FLAGS if b not in used]
    plain = oracle.ask([w for _, _, _, ws in jobs for w in ws])
    flagged = oracle.ask([w | 1 << b for _, _, b, ws in jobs for w in ws if plain[w] is not None])
    changed = set()
    for opcode, i, b, words in jobs:
        legal = [flagged[w | 1 << b] is not None for w in words if plain[w] is not None]
        if not legal:
            continue
        r = work.records[name][opcode][i]
        mask = int(r["mask"], 16)
        new = mask & ~(1 << b) if any(legal) else mask | 1 << b
        if new != mask and not int(r["val"], 16) >> b & 1:
            r["mask"] = f"{new:x}"
            changed.add((opcode, i))
    print(f"{name}: {len(changed)} forms changed", flush=True)
    return len(changed)


def main(argv: list[str]) -> None:
    work = Working()
    for name in argv or CLASSES:
        settle(work, name, Oracle(name.upper().replace("_", "")))
    work.save()


if __name__ == "__main__":
    main(sys.argv[1:])

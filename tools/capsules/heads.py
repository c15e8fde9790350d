"""``python -m tools.capsules.heads OPCODE UNITS SIGNATURE``: the *head* forms that nvlink reads a signature with.

A *head* record names the Mercury operation and lets the SASS word give the rest; so an instruction that ptxas never writes can be asked for with every
form of an opcode.  The opcode is that of relatives in the table (0x20 for multiplications: ``head 42203a14``).  Prints each form that comes back as some
instruction, and the rule for those that come back as they were.  A form that does not exist costs nvlink's time limit, so opcodes are asked one by one.
"""

import argparse
import random
import sys
import tempfile
from pathlib import Path

from orias.cubin.capsule.capsule_rules import RULES_PATH, Rules
from tools.capsules.finalising import FAMILY, RIGHT, Finaliser
from tools.capsules.instances import instance, members_of
from tools.capsules.refine import Trial

_SECOND = (0x04, 0x06, 0x0A, 0x0E, 0x14, 0x16, 0x26)
"""Values of the last byte of the heads in the table (kinds of operands)."""
_MOST = 256


def heads(signature: str, opcode: int, units: int, arch: str, last: int, folder: Path) -> list[tuple[str, str]]:
    """Heads up to a third byte, and what nvlink makes of an instruction of the signature with each (empty: the same)."""
    exits = [x for x in Path(RULES_PATH).read_text(encoding="utf-8").splitlines() if x.startswith("EXIT ")]
    out: list[tuple[str, str]] = []
    rng = random.Random(1)
    for third in range(0, last, 2):
        for fourth in _SECOND:
            head = f"{0x40 + units:02x}{opcode:02x}{third:02x}{fourth:02x}"
            line = f"{signature}\thead {head}"
            finaliser = Finaliser(arch, Rules([line, *exits]), folder)
            trial = Trial(line)
            case = instance(trial.members, trial.base, "T", finaliser.table, rng)
            if case is None:
                raise SystemExit(f"{arch} has no {signature}")
            out.append((head, finaliser.judge([case])[0]))
    return out


def main(arguments: list[str]) -> int:
    """The command line; exit code 1 if no form is right."""
    parser = argparse.ArgumentParser(prog="python -m tools.capsules.heads", description=__doc__)
    parser.add_argument("opcode", type=lambda text: int(text, 16), help="second byte of the record")
    parser.add_argument("units", type=int)
    parser.add_argument("signature")
    parser.add_argument("--arch", default="sm_120", choices=sorted(FAMILY))
    parser.add_argument("--last", type=int, default=_MOST, help="third bytes below this number")
    o = parser.parse_args(arguments)
    if len(members_of(o.signature)) != 1:
        parser.error("a signature of one instruction")
    with tempfile.TemporaryDirectory() as folder:
        found = heads(o.signature, o.opcode, o.units, o.arch, o.last, Path(folder))
    right = [head for head, why in found if why == RIGHT]
    for head, why in found:
        if why.startswith("becomes") and why != "becomes ":
            print(f"{head} {why}")
    for head in right:
        print(f"{o.signature}\thead {head}")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Writes the forms of the warpgroup matrix instructions (HGMMA, IGMMA, BGMMA, QGMMA) of sm_90.

Usage: ``python tools/isa/warpgroup.py``.

Their modifier fields depend on each other for ``nvdisasm`` (it prints nothing for a shape that goes with no type), so
deriving them bit by bit leaves gaps.  The fields below were read off what ptxas 13.0.88 writes for every shape and type of
``wgmma.mma_async``; ``tests/isa/test_words.py`` compares the text of such words with that of nvdisasm.
"""

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools" / "isa"))

from tablefile import Record  # noqa: E402
from working import Working  # noqa: E402

DENSE_N = list(range(8, 257, 8))
INT_N = [8, 16, 24, 32, *range(48, 257, 16)]
PREDICATE = 15 << 87
NO_GROUP = 7 << 84
SPARSE = 1 << 73

Field = tuple[str, list[str]]


def shapes(rows: list[tuple[int, int, list[int], int]], size: int) -> list[str]:
    """Texts of a shape field: rows of (first value, step, N, K); other values are marked."""
    out = [f"INVALID{i}" for i in range(size)]
    for first, step, sizes, k in rows:
        for i, n in enumerate(sizes):
            out[first + step * i] = f"64x{n}x{k}"
    return out


MODS: dict[str, list[Field]] = {
    "HGMMA": [
        ("53+7", shapes([(0, 1, DENSE_N, 16), (32, 1, DENSE_N, 8), (64, 1, DENSE_N, 32)], 128)),
        ("75", ["F16", "F32"]),
        ("76+2", ["", "BF16", "TF32"]),
    ],
    "IGMMA": [
        ("53+6", shapes([(0, 3, INT_N, 32), (1, 3, INT_N, 64)], 64)),
        ("76+2", ["U8", "S8", "INVALID2", "INVALID3"]),
        ("82+2", ["U8", "S8", "INVALID2", "INVALID3"]),
        ("75", ["", "SAT"]),
    ],
    "BGMMA": [
        ("53+6", shapes([(0, 1, INT_N, 256)], 64)),
        ("77+2", ["???0", "???1", "AND", "???3"]),
        ("80", ["???0", "POPC"]),
    ],
    "QGMMA": [
        ("53+6", shapes([(0, 1, DENSE_N, 32), (32, 1, DENSE_N, 64)], 64)),
        ("75", ["F16", "F32"]),
        ("76", ["E4M3", "E5M2"]),
        ("77", ["E4M3", "E5M2"]),
    ],
}
NEGATIVE = {"HGMMA", "QGMMA"}
TRANSPOSED = {"HGMMA"}
OPCODE = {"HGMMA": 0x9F0, "IGMMA": 0x9F1, "BGMMA": 0x9F2, "QGMMA": 0x9F3}


def form(name: str, from_registers: bool, sparse: bool, predicate: bool, group: bool) -> Record:
    """One form as a record."""

    def table(field: Field) -> list[Any]:
        return [field[0], dict(enumerate(field[1]))]

    def operand(skeleton: str, element: Record, pre: list[Any] | None = None, post: list[Any] | None = None) -> Record:
        return {"s": skeleton, "el": [element], "pre": pre or [], "post": post or []}

    signs: list[Field] = []
    if name in NEGATIVE:
        signs += [] if from_registers else [("72", ["", ".negA"])]
        signs.append(("63", ["", ".negB"]))
    if name in TRANSPOSED:
        signs += [] if from_registers else [("61", ["", ".tnspA"])]
        signs.append(("62", ["", ".tnspB"]))
    ops = [operand("{R}", {"f": "16+8"})]
    if from_registers:
        ops.append(operand("{R}", {"f": "24+8"}, [table(("72", ["", "-"]))] if name in NEGATIVE else []))
    ops.append(operand("gdesc[{U}]", {"f": "32+6" if from_registers else "24+6"}, [], [table(x) for x in signs]))
    ops.append(operand("{R}", {"f": "64+8"}))
    fixed = OPCODE[name] | 1 << 91
    mask = 0xFFF | 1 << 91 | SPARSE
    if predicate:
        ops.append(operand("{Q}", {"sum": [7, [[87, 3, -1]]]}, [table(("90", ["", "!"]))]))
    else:
        mask |= PREDICATE
    if sparse:
        fixed |= SPARSE
        ops.append(operand("{R}", {"f": "40+8"}))
        if name == "HGMMA":
            ops.append(operand("{I}", {"f": "48+2"}))
    mods = [table(x) for x in MODS[name]]
    if group:
        ops.append(operand("{W}", {"w": [table(("84+3", ["gsb0", *[f"INVALID{i}" for i in range(1, 7)]]))]}))
    else:
        mask |= NO_GROUP
        fixed |= NO_GROUP
    if from_registers:
        fixed += 0x400
    exclusions: list[list[str]] = []
    if predicate:
        exclusions.append([f"{PREDICATE:x}", "0"])
    if group:
        exclusions.append([f"{NO_GROUP:x}", f"{NO_GROUP:x}"])
    return {
        "mn": name,
        "mask": f"{mask:x}",
        "val": f"{fixed:x}",
        "not": exclusions,
        "mods": ["SP", *mods] if sparse else mods,
        "ops": ops,
        "results": 1,
        "n": 0,
    }


def main() -> None:
    work = Working()
    for name, low in OPCODE.items():
        for from_registers in (False, True):
            work.records["sm_90"][low + 0x400 * from_registers | 0x1000] = [
                form(name, from_registers, sparse, predicate, group)
                for predicate in (False, True)
                for group in (False, True)
                for sparse in (False, True)
                if not (sparse and name == "BGMMA")
            ]
    work.save()


if __name__ == "__main__":
    main()

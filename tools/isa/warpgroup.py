"""Writes the forms of the warpgroup matrix instructions (HGMMA, IGMMA, BGMMA, QGMMA) of sm_90.

Usage: ``python tools/isa/warpgroup.py``.

Their modifier fields depend on each other for ``nvdisasm`` (it prints nothing for a shape that goes with no type), so
deriving them bit by bit leaves gaps.  The fields below were read off what ptxas 13.0.88 writes for every shape and type of
``wgmma.mma_async``; ``tests/isa/test_warpgroup.py`` compares the text of such words with that of nvdisasm.
"""

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tools" / "isa"))

from import_derived import DATA, Tables  # noqa: E402

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


def bits(text: str) -> int:
    lo, _, width = text.partition("+")
    return ((1 << int(width or 1)) - 1) << int(lo)


def form(tables: Tables, name: str, from_registers: bool, sparse: bool, predicate: bool, group: bool) -> str:
    """One line of the data file."""

    def table(field: Field) -> list[str]:
        return [field[0], tables.add({str(i): t for i, t in enumerate(field[1])})]

    moving = bits("16+8") | bits("24+8" if from_registers else "24+6") | bits("64+8")
    signs: list[Field] = []
    if name in NEGATIVE:
        signs += [] if from_registers else [("72", ["", ".negA"])]
        signs.append(("63", ["", ".negB"]))
    if name in TRANSPOSED:
        signs += [] if from_registers else [("61", ["", ".tnspA"])]
        signs.append(("62", ["", ".tnspB"]))
    ops: list[Any] = [["{R}", ["16+8"]]]
    if from_registers:
        minus: Field = ("72", ["", "-"])
        ops.append(["{R}", ["24+8"], [table(minus)]] if name in NEGATIVE else ["{R}", ["24+8"]])
        moving |= bits("32+6") | (1 << 72 if name in NEGATIVE else 0)
        descriptor: list[Any] = ["gdesc[{U}]", ["32+6"]]
    else:
        descriptor = ["gdesc[{U}]", ["24+6"]]
    if signs:
        descriptor += [[], [table(x) for x in signs]]
    ops += [descriptor, ["{R}", ["64+8"]]]
    fixed = OPCODE[name] | 1 << 91
    mask = 0xFFF | 1 << 91 | SPARSE
    if predicate:
        ops.append(["{Q}", [{"sum": [7, [[87, 3, -1]]]}], [table(("90", ["", "!"]))]])
        moving |= PREDICATE
    else:
        mask |= PREDICATE
    if sparse:
        fixed |= SPARSE
        ops.append(["{R}", ["40+8"]])
        moving |= bits("40+8")
        if name == "HGMMA":
            ops.append(["{I}", ["48+2"]])
            moving |= bits("48+2")
    mods = [table(x) for x in MODS[name]]
    if group:
        ops.append(["{W}", [{"w": [table(("84+3", ["gsb0", *[f"INVALID{i}" for i in range(1, 7)]]))]}]])
        moving |= NO_GROUP
    else:
        mask |= NO_GROUP
        fixed |= NO_GROUP
    for where, _ in MODS[name] + signs:
        moving |= bits(where)
    record: dict[str, Any] = {"m": f"{mask:x}", "v": f"{fixed:x}"}
    exclusions: list[list[str]] = []
    if predicate:
        exclusions.append([f"{PREDICATE:x}", "0"])
    if group:
        exclusions.append([f"{NO_GROUP:x}", f"{NO_GROUP:x}"])
    if exclusions:
        record["x"] = exclusions
    record["mods"] = ["SP", *mods] if sparse else mods
    record["ops"] = ops
    record["h"] = f"{((1 << 105) - 1 & ~0xFFFF | 63 << 122) & ~mask & ~moving:x}"
    opcode = OPCODE[name] & 0xFFF | 0x1000
    if from_registers:
        opcode += 0x400
        record["v"] = f"{fixed + 0x400:x}"
    return f"{opcode:04x} {name} {json.dumps(record, separators=(',', ':'))}"


def main() -> None:
    path = DATA / "sm_90.txt"
    tables = Tables(DATA / "modifiers.txt")
    tables.load()
    lines = path.read_text(encoding="ascii").splitlines()
    out: list[str] = []
    done: set[tuple[str, str]] = set()
    for row in lines:
        code, name = row.split(" ", 2)[:2]
        if name not in OPCODE:
            out.append(row)
            continue
        if (code, name) in done:
            continue
        done.add((code, name))
        registers = int(code, 16) != OPCODE[name] | 0x1000
        for predicate in (False, True):
            for group in (False, True):
                for sparse in (False, True):
                    if not (sparse and name == "BGMMA"):
                        out.append(form(tables, name, registers, sparse, predicate, group))
    path.write_text("\n".join(out) + "\n", encoding="ascii")
    tables.write_used(DATA)


if __name__ == "__main__":
    main()

"""Harvests distinct instruction words from cubins: those inside public CUDA wheels, and loose ones.

``python tools/isa/wheels.py OUT [--download PACKAGE...] [--cubins DIR] [--limit N] [--keep M] FILE...``

``--download`` fetches wheels with pip into ``OUT/wheels`` and unpacks their libraries; FILEs are libraries, fat binaries or cubins;
``--cubins`` adds every cubin below a folder.  For each decoder class OUT gets ``sm_NN.words``: at most N distinct words (16 bytes each,
little endian; a random choice if there are more); with ``--keep`` every M-th cubin of the libraries is stored in
``OUT/cubins``.  Cubins of SMs that are not in the table of classes are counted and named.
"""

import argparse
import hashlib
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from orias.cubin.cubin_error import CubinError  # noqa: E402
from orias.cubin.elf import SHF_EXECINSTR, SHT_PROGBITS, ElfFile  # noqa: E402
from orias.cubin.fatbin import KIND_CUBIN, entries  # noqa: E402
from orias.target.decoder_class import table_of_sm  # noqa: E402

BATCH = 4_000_000


def download(packages: list[str], folder: Path) -> list[Path]:
    """Libraries of the newest wheels of some packages."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in packages:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), name]
        subprocess.run(command, check=True, timeout=1800)
    found = []
    for wheel in sorted(folder.glob("*.whl")):
        with zipfile.ZipFile(wheel) as z:
            for member in z.namelist():
                if ".so" in member or member.endswith(".a"):
                    found.append(Path(z.extract(member, folder / wheel.stem)))
    return found


class Words:
    """Distinct words of one decoder class, sorted, as 16-byte items."""

    def __init__(self) -> None:
        self.kept = np.empty(0, dtype="V16")
        self.pending: list[np.ndarray] = []
        self.waiting = 0

    def add(self, code: bytes) -> None:
        part = np.frombuffer(code, dtype="V16", count=len(code) // 16)
        self.pending.append(part)
        self.waiting += len(part)
        if self.waiting > BATCH:
            self.fold()

    def fold(self) -> None:
        if self.pending:
            every = np.concatenate([self.kept, *self.pending])
            pairs = np.ascontiguousarray(every).view("<u8").reshape(-1, 2)
            order = np.lexsort((pairs[:, 0], pairs[:, 1]))
            pairs = pairs[order]
            fresh = np.ones(len(pairs), dtype=bool)
            fresh[1:] = np.any(pairs[1:] != pairs[:-1], axis=1)
            self.kept = np.ascontiguousarray(pairs[fresh]).view("V16").reshape(-1)
            self.pending, self.waiting = [], 0


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--download", nargs="*", default=[])
    parser.add_argument("--cubins", type=Path)
    parser.add_argument("--limit", type=int, default=150_000)
    parser.add_argument("--keep", type=int, default=0)
    given = parser.parse_intermixed_args(argv)
    out: Path = given.out
    files = list(given.files)
    if given.download:
        files += download(given.download, out / "wheels")
    loose = sorted(given.cubins.rglob("*.cubin")) if given.cubins else []
    words: dict[str, Words] = {}
    other: Counter[str] = Counter()
    number = 0

    def take(data: bytes) -> None:
        try:
            file = ElfFile(data)
            table = table_of_sm(file.sm)
        except (CubinError, KeyError) as e:
            other[str(e)] += 1
            return
        kept = words.setdefault(table, Words())
        for s in file.sections:
            if s.type == SHT_PROGBITS and s.flags & SHF_EXECINSTR:
                kept.add(s.data[: len(s.data) & ~15])

    for path in loose:
        take(path.read_bytes())
    for path in files:
        data = path.read_bytes()
        try:
            found = entries(data)
        except CubinError as e:
            other[f"{path.name}: {e}"] += 1
            continue
        count = 0
        for entry in found:
            if entry.kind != KIND_CUBIN:
                continue
            try:
                cubin = entry.data()
            except CubinError as e:
                other[str(e)] += 1
                continue
            take(cubin)
            count += 1
            number += 1
            if given.keep and number % given.keep == 0:
                folder = out / "cubins"
                folder.mkdir(parents=True, exist_ok=True)
                tag = hashlib.sha1(cubin).hexdigest()[:8]
                (folder / f"{path.name.split('.')[0]}.{tag}.sm_{entry.sm}.cubin").write_bytes(cubin)
        print(f"{path.name}: {count} cubins", flush=True)
    rng = np.random.default_rng(5)
    for table, kept in sorted(words.items()):
        kept.fold()
        every = kept.kept
        chosen = every
        if len(every) > given.limit:
            chosen = every[np.sort(rng.choice(len(every), given.limit, replace=False))]
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{table}.words").write_bytes(chosen.tobytes())
        print(f"{table}: {len(every)} distinct words, {len(chosen)} written", flush=True)
    for what, n in other.most_common():
        print(f"left out {n}: {what}")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Distinct instruction words of real compiler output: compiles PTX files with ptxas and collects the .text sections.

Also a program: ``python -m tests.isa.harvest sm_90 OUT_DIR PTX_DIR [options ...]`` writes ``OUT_DIR/sm_90*.words``.
"""

import csv
import hashlib
import struct
import subprocess
import sys
from pathlib import Path

from tests.nvtools import LIMIT_S, find


def text_sections(data: bytes) -> list[tuple[str, bytes]]:
    """(name, bytes) of the executable sections of a cubin."""
    if data[:4] != b"\x7fELF":
        return []
    shoff, _flags, _, _, _, shentsize, shnum, shstrndx = struct.unpack_from("<QIHHHHHH", data, 0x28)
    heads = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + i * shentsize) for i in range(shnum)]
    names = heads[shstrndx]
    out = []
    for h in heads:
        end = data.index(b"\0", names[4] + h[0])
        name = data[names[4] + h[0] : end].decode()
        if h[1] == 1 and h[2] & 4 and name.startswith(".text"):
            out.append((name, data[h[4] : h[4] + h[5]]))
    return out


def words_of(data: bytes) -> set[int]:
    out: set[int] = set()
    for _, code in text_sections(data):
        for i in range(0, len(code) - 15, 16):
            out.add(int.from_bytes(code[i : i + 16], "little"))
    return out


def compile_ptx(path: Path, arch: str, options: list[str], cubin: Path) -> bool:
    """True if ptxas wrote the cubin."""
    ptxas = find("ptxas")
    assert ptxas is not None
    try:
        done = subprocess.run(
            [ptxas, f"-arch={arch}", *options, str(path), "-o", str(cubin)],
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0 and cubin.is_file()


def disassemble_words(words: list[int], decoder: str, work: Path) -> dict[int, str]:
    """The text nvdisasm gives each word, asked in one run (all words must be legal).  `decoder` is like ``SM90``."""
    nvdisasm = find("nvdisasm")
    assert nvdisasm is not None
    raw = work / f"words_{decoder}_{hashlib.sha1(repr(len(words)).encode()).hexdigest()[:6]}.bin"
    raw.write_bytes(b"".join(w.to_bytes(16, "little") for w in words))
    done = subprocess.run([nvdisasm, "-b", decoder, str(raw)], capture_output=True, text=True, timeout=300, check=False)
    out: dict[int, str] = {}
    for line in done.stdout.splitlines():
        body = line.strip()
        if not body.startswith("/*"):
            continue
        addr, _, rest = body[2:].partition("*/")
        try:
            index = int(addr, 16) // 16
        except ValueError:
            continue
        text = rest.strip()
        if text.endswith(";"):
            out[words[index]] = text[:-1].removesuffix(" ")
    raw.unlink()
    return out


def main(argv: list[str]) -> None:
    arch, out_dir, ptx_root = argv[0], Path(argv[1]), Path(argv[2])
    options = argv[3:]
    rows = list(csv.DictReader((ptx_root / "baseline.csv").open(encoding="utf-8")))
    first: dict[str, list[str]] = {}
    for r in rows:
        if r["status"] == "ok" and r["file"] not in first:
            first[r["file"]] = r["options"].split()
    words: set[int] = set()
    ok = 0
    for name, opts in first.items():
        flags = ["-c"] if "-c" in opts else []
        cubin = out_dir / f"{arch}.cubin"
        cubin.unlink(missing_ok=True)
        if compile_ptx(ptx_root / name, arch, flags + (options or ["-O3"]), cubin):
            ok += 1
            words |= words_of(cubin.read_bytes())
    tag = "".join(options).replace("-", "_")
    (out_dir / f"{arch}{tag}.words").write_text("".join(f"{w:032x}\n" for w in sorted(words)))
    print(arch, options, "files", ok, "distinct words", len(words))


if __name__ == "__main__":
    main(sys.argv[1:])

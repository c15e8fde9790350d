"""Where the corpus of real PTX lies, what its files may be compiled for, and mutated inputs made from it or from the examples of these tests."""

import os
import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest


def corpus() -> Path:
    """The corpus folder, or skip the calling test with the reason."""
    named = os.environ.get("ORIAS_CORPUS")
    path = Path(named) if named else Path(__file__).resolve().parents[3] / "shared" / "corpus"
    if not (path / "ptx").is_dir():
        pytest.skip(f"no corpus of PTX files in {path} (set ORIAS_CORPUS)")
    return path


def corpus_files() -> list[Path]:
    """All corpus files, in a fixed order."""
    return sorted((corpus() / "ptx").rglob("*.ptx"))


_TARGET = re.compile(r"^\s*\.target\s+sm_(\d+)([af]?)", re.MULTILINE)


def targets(text: str, arches: Sequence[str]) -> list[str]:
    """Those of `arches` that PTX may be compiled for: from sm_NN on all, for sm_NNa or sm_NNf that alone."""
    m = _TARGET.search(text)
    if m is None:
        return []
    if m.group(2):
        return [a for a in arches if a == f"sm_{m.group(1)}{m.group(2)}"]
    return [a for a in arches if int(a[3:].rstrip("af")) >= int(m.group(1))]


LARGEST = 60_000
"""Bytes of PTX."""


def small_files(arch: str) -> list[Path]:
    """The corpus files of at most LARGEST bytes that may be compiled for a target."""
    files = (p for p in corpus_files() if p.stat().st_size <= LARGEST)
    return [p for p in files if targets(p.read_text(errors="replace"), [arch])]


_WORDS = (
    "{", "}", "(", ")", "[", "]", ";", ",", "@", "@!", "|", "+", "-", "_", ":", '"', "/*", "*/", "//", "#", "\0", "%", "$", "<", ">",
    "0x", "0f3f800000", "1.0e999", "99999999999999999999999", "%r1", "%tid.x", ".reg", ".b32", ".param", ".entry", ".func", ".section",
    ".loc 1 1 1", ".file", ".align", ".v4", ".global", "call", "bra", "ret;", "mma.sync", ".pragma", "<10>", "<99999999999>", "[1<<62]",
    ".branchtargets", ".callprototype", "generic(", "0xff(", "WARP_SZ", "==", "\xff", "\r", "\x0b", ".version 8.0", ".target sm_90",
)  # fmt: skip


def mutate(text: str, rng: random.Random) -> str:
    """A damaged copy: characters, tokens or lines removed, doubled, moved or replaced, a few times."""
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        kind = rng.randrange(7)
        if not text:
            return text
        at = rng.randrange(len(text))
        if kind == 0:
            text = text[:at] + chr(rng.randrange(128 if rng.random() < 0.95 else 256)) + text[at + 1 :]
        elif kind == 1:
            text = text[:at] + text[at + rng.randrange(1, 40) :]
        elif kind == 2:
            text = text[:at] + rng.choice(_WORDS) + text[at:]
        elif kind == 3:
            lines = text.split("\n")
            i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[i], lines[j] = lines[j], lines[i]
            text = "\n".join(lines)
        elif kind == 4:
            lines = text.split("\n")
            del lines[rng.randrange(len(lines))]
            text = "\n".join(lines)
        elif kind == 5:
            text = text[:at]
        else:
            end = min(len(text), at + rng.randrange(1, 60))
            text = text[:at] + text[at:end] * rng.choice((2, 3, 50)) + text[end:]
    return text

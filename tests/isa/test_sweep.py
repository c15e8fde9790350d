"""The whole corpus: every distinct word that ptxas writes for it prints, decodes and encodes exactly."""

from pathlib import Path

import pytest

from orias.isa.isa_table import IsaTable, load
from orias.target.decoder_class import table_of_name
from tests.isa.harvest import disassemble_words, words_of
from tests.nvtools import tool
from tests.oracle import compile_or_none
from tests.ptx.corpus import corpus_files

CASES = [
    ("sm_75", "-O3", 1), ("sm_75", "-O0", 1), ("sm_80", "-O3", 1), ("sm_86", "-O3", 1), ("sm_89", "-O3", 1), ("sm_90", "-O3", 1),
    ("sm_90a", "-O3", 1), ("sm_90", "-O0", 1), ("sm_100a", "-O3", 2), ("sm_120a", "-O3", 2), ("sm_103a", "-O3", 8), ("sm_110a", "-O3", 8),
    ("sm_121a", "-O3", 8), ("sm_100f", "-O0", 8),
]  # fmt: skip
"""Target, option, and which part of the files: every one, every second ..."""


def harvested(arch: str, option: str, stride: int, cache: Path, scratch: Path) -> list[int]:
    """Distinct words of all corpus files that ptxas compiles for the target; kept in pytest's cache folder."""
    kept = cache / f"{arch}{option}_{stride}.words"
    if kept.is_file():
        return [int(x, 16) for x in kept.read_text().split()]
    words: set[int] = set()
    for path in corpus_files()[::stride]:
        cubin = compile_or_none(path, arch, [option], scratch)
        if cubin is not None:
            words |= words_of(cubin)
    kept.write_text("".join(f"{w:032x}\n" for w in sorted(words)))
    return sorted(words)


def faults(t: IsaTable, w: int, pc: int, text: str) -> str:
    """What is wrong with a word, if anything.

    The operands cannot say that an address names URZ (``[R5+URZ]``) where it could leave the uniform register out.
    """
    if t.text(w, pc) != text:
        return f"{w:032x}: {t.text(w, pc)} instead of {text}"
    d = t.decode(w)
    if t.encode_decoded(d) != w:
        return f"{w:032x}: {text}: another word comes back"
    if d.extra and "URZ]" not in text:
        return f"{w:032x}: {text}: bits {d.extra:x} are lost"
    return ""


@pytest.mark.sweep
@pytest.mark.parametrize(("arch", "option", "stride"), CASES)
def test_every_word_of_the_corpus(
    arch: str, option: str, stride: int, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    tool("ptxas")
    table = table_of_name(arch)
    assert pytestconfig.cache is not None
    words = harvested(arch, option, stride, pytestconfig.cache.mkdir("isa_words"), tmp_path)
    assert len(words) > 20000 // stride
    texts = disassemble_words(words, table.upper().replace("_", ""), tmp_path)
    assert len(texts) == len(words)
    t = load(table)
    wrong = [f for i, w in enumerate(words) if (f := faults(t, w, 16 * i, texts[w]))]
    assert wrong == []

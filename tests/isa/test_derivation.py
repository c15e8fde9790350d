"""The parts of the table's tools that need no nvdisasm: proposals of exclusions, and the log of a long comparison."""

import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "isa"))

from legality import Count, batches  # noqa: E402
from unless import propose  # noqa: E402


def test_bits_that_only_illegal_words_have() -> None:
    """Words with bit 3 and without bit 5 are refused, and those with bit 9."""
    rng = random.Random(1)
    words = [rng.getrandbits(16) for _ in range(300)]
    illegal = [w for w in words if w & 0x28 == 8 or w & 0x200]
    legal = [w for w in words if not (w & 0x28 == 8 or w & 0x200)]
    assert set(propose(list(range(16)), legal, illegal)) == {(0x200, 0x200), (0x28, 8)}


def test_nothing_is_proposed_where_bits_do_not_decide() -> None:
    rng = random.Random(2)
    words = [rng.getrandbits(16) for _ in range(600)]
    assert propose(list(range(6)), words[:500], words[500:]) == []


def test_a_stopped_comparison_goes_on(tmp_path: Path) -> None:
    log = tmp_path / "log"
    first = Count()
    for key, word in (("1 one 0 20000", 0x10), ("1 one 1 20000", 0x11)):
        before = first.row()
        first.both += 19998
        first.ours += 2
        first.note("only the table 0000 X", word)
        first.note("only the table 0000 X", word)
        first.store(log, "sm_90", key, before)
    again = Count()
    assert not again.restore(log, "sm_90", "1 two 0 20000")
    assert not again.restore(log, "sm_80", "1 one 0 20000")
    assert again.restore(log, "sm_90", "1 one 0 20000")
    assert again.restore(log, "sm_90", "1 one 1 20000")
    assert again.row() == first.row()
    assert again.by == first.by
    assert again.example == {"only the table 0000 X": 0x10}
    assert again.share == 100 * 39996 / 40000


def test_the_last_batch_is_the_rest() -> None:
    assert batches(450_000) == [200_000, 200_000, 50_000]

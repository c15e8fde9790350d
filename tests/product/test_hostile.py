"""Mutated inputs through the whole compiler: a cubin or a CompileError, never another exception, never a hang.

The default run takes a small seeded sample of our own kernels; the sweep takes 10,000 mutations of the corpus too.
"""

import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import orias
from tests.corpus.test_corpus import FILES

OWN = sorted((Path(__file__).resolve().parents[1] / "kernels" / "ptx").glob("*.ptx"))
LIMIT_S = 10
BIGGEST = 20_000


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    def stop(number: int, frame: object) -> None:
        raise TimeoutError(f"longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def mutate(data: bytes, r: random.Random, donor: bytes) -> bytes:
    """One to three changes of bytes, tokens or lines."""
    for _ in range(r.randint(1, 3)):
        kind = r.randrange(8)
        lines = data.split(b"\n")
        i = r.randrange(len(lines))
        if kind == 0 and data:
            k = r.randrange(len(data))
            data = data[:k] + bytes([r.randrange(256)]) + data[k + 1 :]
        elif kind == 1 and data:
            k = r.randrange(len(data))
            data = data[:k] + data[k + r.randint(1, 8) :]
        elif kind == 2:
            del lines[i]
            data = b"\n".join(lines)
        elif kind == 3:
            lines.insert(r.randrange(len(lines)), lines[i])
            data = b"\n".join(lines)
        elif kind == 4:
            other = donor.split(b"\n")
            lines.insert(i, other[r.randrange(len(other))])
            data = b"\n".join(lines)
        else:
            words = lines[i].split(b" ")
            k = r.randrange(len(words))
            if kind == 5:
                words[k] = r.choice(
                    [b"0", b"-1", b"99999999999999999999", b"%r1", b"{", b"}", b"[", b".b64", b"_", b";", b"ret"]
                )
            elif kind == 6:
                j = r.randrange(len(words))
                words[k], words[j] = words[j], words[k]
            else:
                words[k] = words[k].replace(b"32", b"64") if b"32" in words[k] else words[k].replace(b"64", b"16")
            lines[i] = b" ".join(words)
            data = b"\n".join(lines)
    return data


def attempt(data: bytes, arch: str, level: int) -> bool:
    """True if it compiled."""
    with time_limit(LIMIT_S):
        try:
            orias.compile(data, arch=arch, opt_level=level)
        except orias.CompileError as e:
            assert any(d.severity in ("error", "fatal") for d in e.diagnostics)
            return False
    return True


def run(count: int, seed: int, sources: list[Path]) -> None:
    r = random.Random(seed)
    texts = [t for t in (p.read_bytes() for p in sources) if len(t) <= BIGGEST]
    compiled = 0
    for n in range(count):
        base, donor = r.choice(texts), r.choice(texts)
        data = mutate(base, r, donor)
        arch, level = r.choice(["sm_75", "sm_80", "sm_90"]), r.choice([0, 3, 3])
        try:
            compiled += attempt(data, arch, level)
        except BaseException as e:
            Path("hostile.ptx").write_bytes(data)
            raise AssertionError(
                f"mutation {n} of seed {seed} ({arch}, -O{level}), kept as hostile.ptx: {type(e).__name__}: {e}"
            ) from e
    assert 0 < compiled < count


@pytest.mark.in_turn(2)
def test_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(75, 1, OWN)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(20))
def test_ten_thousand(seed: int) -> None:
    run(500, 1000 + seed, OWN + FILES)


def test_far_beyond_a_parameter() -> None:
    """An access a gigabyte beyond a parameter takes no more than a word of its own."""
    head = ".version 9.0\n.target sm_75\n.address_size 64\n.visible .func (.param .b32 r) f() {\n.reg .b32 %r<3>;\nmov.u32 %r1, 1;\n"
    body = "st.param.b32 [r+1073741824], %r1;\nst.param.b32 [r], %r1;\nret;\n}\n"
    with time_limit(LIMIT_S):
        assert orias.compile(head + body, arch="sm_100a", compile_only=True).data

"""Textures and surfaces compared with ptxas's code: the same operations with the same values in the same places.

Beside the textures of the simulator a stand-in answers with a hash of the operation's name, its shape and every value it takes, in order; what
surfaces are given is noted the same way.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

import orias
from orias import sim
from orias.isa.fetch import source_widths
from orias.isa.op import F_TEXTURE
from orias.isa.operand import K_R, K_UR, K_WORD, KIND_MASK, PAYLOAD_SHIFT, word_text
from orias.isa.widths import src_width
from orias.sim.core import build, loaded_cubin
from orias.sim.core.site import Site
from tests.lower.texture_forms import BYTES, SAMPLER, forms, module
from tests.nvtools import LIMIT_S, tool
from tests.rotation import some_later, with_later

THREADS = 4
FETCHES = ("TEX", "TLD", "TLD4", "TXD")
SURFACES = ("SULD", "SUST", "SURED")
_notes: list[tuple[Any, ...]] = []


def _stand_in(s: Site) -> Any:
    fetch = s.op.flags & F_TEXTURE
    widths = source_widths(s.op, s.src) if fetch else [src_width(s.op, k, o) for k, o in enumerate(s.src)]
    values = []
    text = s.op.name
    for o, width in zip(s.src, widths, strict=True):
        kind = o & KIND_MASK
        if kind == K_WORD:
            text += " " + word_text(o)
        elif kind == K_R:
            # Three coordinates of a surface lie in four registers.
            used = (
                3 if not fetch and width == 4 and ("3D" in text or "2D_ARRAY" in text) and len(values) == 0 else width
            )
            values.extend(s.raw(o + (k << PAYLOAD_SHIFT) if o >> PAYLOAD_SHIFT != 255 else o) for k in range(used))
        elif kind == K_UR and o >> PAYLOAD_SHIFT != 255:
            values.extend(s.raw(o + (k << PAYLOAD_SHIFT)) for k in range(2 if fetch else 1))
        elif kind not in (0, K_UR):
            text += f" {o:x}"
    seed = np.uint32(crc32(text.encode()))
    puts = []
    for o in reversed(s.regs):
        puts.extend(s.set32(o + (k << PAYLOAD_SHIFT)) for k in range(2 if fetch else 1))
    flags = [s.setp(p) for p in s.preds]

    def run(m: Any, a: Any) -> None:
        h = np.full(a.n, seed, np.uint32)
        for v in values:
            h = (h * np.uint32(0x9E3779B1)) ^ np.broadcast_to(v(m, a), (a.n,)).astype(np.uint32)
        for k, put in enumerate(puts):
            put(m, a, h ^ np.uint32(k))
        for flag in flags:
            flag(m, a, (h >> np.uint32(7) & np.uint32(1)).astype(np.bool_))
        if not puts:
            _notes.append((text, *h.tolist()))

    return run


@pytest.fixture
def textures(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # What was built for other tests is no stand-in, nor may these stay.
    monkeypatch.setattr(build, "_closures", {})
    monkeypatch.setattr(loaded_cubin, "_known", {})
    original = build.unknown
    bases = {*FETCHES, *SURFACES}
    monkeypatch.setattr(build, "unknown", lambda op, base: () if base in bases else original(op, base))
    for base in bases:
        monkeypatch.setitem(build._PLAIN, base, _stand_in)
    yield
    _notes.clear()


def outcome(image: Any, n: int, memory: bool) -> tuple[bytes, list[tuple[Any, ...]]]:
    rng = np.random.default_rng(n)
    data = rng.integers(0, 3, THREADS * BYTES // 4, dtype=np.uint32)
    floats = rng.random((THREADS, 12), np.float32)
    data.reshape(THREADS, -1)[:, 4:16] = floats.view(np.uint32)
    data.reshape(THREADS, -1)[:, :4] = (7, 0, 9, 0)
    _notes.clear()
    image.launch(f"k{n}", 1, THREADS, [np.uint64(5), data, np.uint64(6)])
    return data.tobytes(), list(_notes)


def theirs(text: str, arch: str, folder: Path) -> bytes:
    source, out = folder / "k.ptx", folder / "k.cubin"
    source.write_text(text)
    subprocess.run([tool("ptxas"), "-arch", arch, str(source), "-o", str(out)], check=True, timeout=LIMIT_S)
    return out.read_bytes()


def compare(arch: str, cases: list[tuple[str, bool]], folder: Path, level: int = 3, mode: str = "") -> None:
    text = module(arch + mode, cases)
    want, got = sim.load(theirs(text, arch, folder)), sim.load(orias.compile(text, arch=arch, opt_level=level).data)
    wrong = []
    for n, (line, memory) in enumerate(cases):
        if outcome(want, n, memory) != outcome(got, n, memory):
            wrong.append((line, memory))
    assert wrong == []


@pytest.mark.in_turn(4)
@pytest.mark.parametrize(
    "arch, first", [("sm_75", 0), ("sm_80", 3), ("sm_90", 7), ("sm_100a", 11), ("sm_110a", 13), ("sm_120a", 17)]
)
def test_sample(arch: str, first: int, textures: None, tmp_path: Path) -> None:
    compare(arch, forms()[first::37], tmp_path)


def test_the_stand_in_sees_places(textures: None, tmp_path: Path) -> None:
    one, other = (
        f"tex.2d.v4.f32.f32 {{%f20, %f21, %f22, %f23}}, [%rd0, {{{p}}}]; st.global.v4.f32 [%rd1], {{%f20, %f21, %f22, %f23}};"
        for p in ("%f0, %f1", "%f1, %f0")
    )
    images = [sim.load(orias.compile(module("sm_90", [(x, True)]), arch="sm_90").data) for x in (one, other)]
    assert outcome(images[0], 0, True) != outcome(images[1], 0, True)


@pytest.mark.parametrize("arch", with_later(["sm_75", "sm_90"], "samplers"))
def test_sampler_handles(arch: str, textures: None, tmp_path: Path) -> None:
    """A sampler held in a register next to the texture's; ptxas reads a parameter's from the bank where we use registers."""
    compare(arch, [(SAMPLER, True)], tmp_path, mode=", texmode_independent")


@pytest.mark.sweep
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", *some_later("textures")])
@pytest.mark.parametrize("level", [0, 3])
def test_more(arch: str, level: int, textures: None, tmp_path: Path) -> None:
    compare(arch, forms()[level & 1 :: 4], tmp_path, level)

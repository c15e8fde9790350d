"""The target that a text names is the default of every tool under our own name."""

from pathlib import Path

import pytest

import orias
from orias.cli.main import run
from orias.target.own_target import own_target

_KERNEL = """.version 8.8
.target {}
.address_size 64
.visible .entry k(.param .u64 p) {{ .reg .b64 %rd<2>; ld.param.u64 %rd1, [p]; st.global.u64 [%rd1], %rd1; ret; }}
"""


@pytest.mark.parametrize(
    ("text", "target"),
    [
        (".target sm_90a", "sm_90a"),
        (".version 8.0 .target sm_86, debug", "sm_86"),
        ("// .target sm_90\n/* .target sm_80\n*/\n.target compute_89", "sm_89"),
        (".target texmode_independent, sm_80", "sm_80"),
        (".target sm_101a", "sm_110a"),
        (".target sm_53", "sm_75"),
        (".target sm_82", "sm_86"),
        (".target sm_999", "sm_75"),
        (".target sm_" + "9" * 100_000, "sm_75"),
        ("no directive", "sm_75"),
    ],
)
def test_names(text: str, target: str) -> None:
    assert own_target(text) == own_target(text.encode()) == target


def test_of_several_texts() -> None:
    """Several inputs become one module with the highest target of them."""
    assert own_target(".target sm_80", b".target sm_100a", "", ".target sm_90") == "sm_100a"


@pytest.mark.parametrize("target", ["sm_90a", "sm_120f", "sm_86"])
def test_command(tmp_path: Path, target: str) -> None:
    file, out = tmp_path / "k.ptx", tmp_path / "k.cubin"
    file.write_text(_KERNEL.format(target))
    assert run(["orias", str(file), "-o", str(out)]) == 0
    assert out.read_bytes() == orias.compile(file.read_text()).data == orias.compile(file.read_text(), arch=target).data


def test_the_other_name_keeps_its_default(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``ptxas`` compiles for sm_75 if nothing is said, and refuses a later ``.target``."""
    file = tmp_path / "k.ptx"
    file.write_text(_KERNEL.format("sm_86"))
    assert run(["ptxas", str(file), "-o", str(tmp_path / "k.cubin")]) == 255
    assert "higher than default SM version assumed" in capsys.readouterr().err


def test_many() -> None:
    """Every source of compile_many has its own."""
    texts = [_KERNEL.format(t) for t in ("sm_80", "sm_100a")]
    assert [o.cubin.arch if o.cubin else o.error for o in orias.compile_many(texts, jobs=1)] == ["sm_80", "sm_100a"]

"""The generated reference names every mnemonic and closes what it opens."""

import re
from pathlib import Path

from orias.isa.isa_table import load
from orias.tools.reference_page import main, reference


def test_reference() -> None:
    page = reference(["sm_75", "sm_90"])
    names = {m for name in ("sm_75", "sm_90") for m in load(name).raw.mnemonics()}
    assert len(names) > 150
    assert all(f"id='{m}'" in page for m in names)
    assert page.count("<table>") == page.count("</table>") == len(names)
    assert page.count("<span") == page.count("</span>")
    row = next(r for r in page.splitlines() if "IADD3" in r and "<code>0210</code>" in r)
    assert "register [16..23]" in row
    assert re.search(r"<td>75 90</td></tr>$", row)


def test_command(tmp_path: Path) -> None:
    out = tmp_path / "isa.html"
    assert main(["-o", str(out), "sm_75"]) == 0
    assert "IMAD" in out.read_text(encoding="utf-8")
    assert main(["sm_42"]) == 255
    assert main(["--what"]) == 255

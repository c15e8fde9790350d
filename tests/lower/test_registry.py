"""Handlers: the files that are imported late lower no instruction that an earlier file lowers in part."""

import subprocess
import sys

CODE = """
from orias.lower.frame import registry
from orias.lower.families import load_all, load_common
load_common()
common = set(registry._names)
before = set(registry._handlers)
load_all()
late = {name for name, _ in set(registry._handlers) - before}
assert "add" in common and "tex" in late and "mma" in late, (common, late)
print(sorted(common & late))
"""


def test_names_are_common_or_late() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[]\n"

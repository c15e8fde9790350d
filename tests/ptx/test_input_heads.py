"""The heads of several inputs: found in linear time whatever stands between their directives."""

import subprocess
import sys

import pytest

CODE = """
from orias.ptx.module_inputs import merge
text = ".version 8.0 // one\\n/* a */ .target sm_75\\n.address_size 64" + {between!r} * 4000 + {rest!r}
name, both = merge([("a", text), ("b", text)], "sm_75")
print(both.count(".version"), both.count("\\n") == 2 * text.count("\\n") + 1, both.count({rest!r}))
"""


@pytest.mark.in_turn(4)
@pytest.mark.parametrize("between", ["\n", " ", "// c\n", "/* c */", "\n/* c */ \n"])
@pytest.mark.parametrize("rest", [".global .u32 x;", "/* no end"])
def test_what_precedes_the_first_declaration(between, rest):
    """A try of all divisions of a run of blanks into runs would never end."""
    command = [sys.executable, "-c", CODE.format(between=between, rest=rest)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout == "1 True 2\n", done.stderr

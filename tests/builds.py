"""What the tests know of the build they run on."""

import pytest

from orias.passes import simplify

COMPILED = not simplify.__file__.endswith(".py")
"""Whether the compile path is built with mypyc."""
replaces_functions = pytest.mark.skipif(
    COMPILED, reason="code built with mypyc calls functions directly: one that a test replaces is not seen"
)

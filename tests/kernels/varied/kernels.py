"""All varied kernels."""

from tests.kernels.varied import later_cases, makers_cases, varied_cases

CASES = varied_cases.CASES | later_cases.CASES | makers_cases.CASES
"""Name -> what makes its launch."""

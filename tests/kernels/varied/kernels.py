"""All varied kernels."""

from tests.kernels.varied import later_cases, makers_cases, users_cases, varied_cases

GROUPS = {"varied": varied_cases.CASES | later_cases.CASES | makers_cases.CASES, "users": users_cases.CASES}
"""Group -> name -> what makes its launch; the second was written to be measured apart from the first."""
CASES = GROUPS["varied"] | GROUPS["users"]

"""All varied kernels."""

from tests.kernels.varied import (
    apart_cases,
    fresh_cases,
    further_cases,
    later_cases,
    makers_cases,
    unseen_cases,
    users_cases,
    varied_cases,
)

GROUPS = {
    "varied": varied_cases.CASES | later_cases.CASES | makers_cases.CASES,
    "users": users_cases.CASES,
    "fresh": fresh_cases.CASES,
    "apart": apart_cases.CASES,
    "unseen": unseen_cases.CASES,
    "further": further_cases.CASES,
}
"""Group -> name -> what makes its launch; each was written to be measured apart from those before."""
CASES = {name: make for cases in GROUPS.values() for name, make in cases.items()}

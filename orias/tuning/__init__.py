"""Search for the knobs and register budgets with which a kernel takes least time, by the machine model."""

from orias.tuning.tune_search import Tuned, tune
from orias.tuning.tune_trial import Launch, Trial

__all__ = ["Launch", "Trial", "Tuned", "tune"]

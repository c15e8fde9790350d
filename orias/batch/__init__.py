"""Compiles of many sources, over any executor of `concurrent.futures`."""

from orias.batch.many import Outcome, compile_many
from orias.spread import WorkerDied

__all__ = ["Outcome", "WorkerDied", "compile_many"]

"""Compiles of many sources, over any executor of `concurrent.futures`."""

from orias.batch.many import Outcome, WorkerDied, compile_many

__all__ = ["Outcome", "WorkerDied", "compile_many"]

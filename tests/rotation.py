"""Samples that change from day to day, so that sweeps of bounded length see everything in time."""

import os
import random
import time
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def seed() -> int:
    """The day's number, or what ORIAS_SEED says (to repeat a failure: the failing test prints it)."""
    return int(os.environ.get("ORIAS_SEED", int(time.time()) // 86400))


def rotating(things: Sequence[T], count: int, name: str) -> list[T]:
    """`count` of the things, others every day and for every name."""
    print(f"ORIAS_SEED={seed()}")
    return random.Random(f"{seed()} {name}").sample(list(things), min(count, len(things)))

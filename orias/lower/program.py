"""What the lowering makes of a module: functions per kernel and the data layout."""

from typing import final


@final
class LowerOptions:
    """Options that lowering reads.  ``relocatable``: -c (extern symbols stay); ``opt_level`` 0..3; ``debug``: -g."""

    __slots__ = ("debug", "opt_level", "relocatable")

    def __init__(self, relocatable: bool = False, opt_level: int = 3, debug: bool = False) -> None:
        self.relocatable: bool = relocatable
        self.opt_level: int = opt_level
        self.debug: bool = debug

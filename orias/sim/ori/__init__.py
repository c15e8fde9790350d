"""Runs Ori at any stage of compilation, on the simulator's engine and instruction builders."""

from orias.sim.ori.ori_image import OriImage

__all__ = ["OriImage"]

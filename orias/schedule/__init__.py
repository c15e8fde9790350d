"""Scheduling, scoreboards, stall counts, reuse flags, and the layout of code."""

"""Lowers PTX to Ori: one file per instruction family, the frame around them, and helper subroutines."""

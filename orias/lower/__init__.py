"""PTX to Ori, a file per instruction family, and the code templates."""

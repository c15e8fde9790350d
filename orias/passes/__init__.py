"""One file per transformation, and the table of phases."""

"""Links of objects of both compilers, made by chance."""

"""Derives the rules of capsules (``orias/cubin/capsule/rules.txt``) from cubins of ptxas: see README.md."""

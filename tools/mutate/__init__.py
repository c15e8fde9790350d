"""Mutation testing of the compiler: small faults are planted one at a time, and the fast tests have to notice each.

``python -m tools.mutate --count 200 --seed 7`` from the top of the checkout.  See :mod:`tools.mutate.__main__` for the options.
"""

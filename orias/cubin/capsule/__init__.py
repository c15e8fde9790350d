"""Capsules: the Mercury form of a function that ptxas adds to cubins from sm_100 on."""

"""tcgen05.mma and tcgen05.mma.ws: UTCHMMA, UTCIMMA, UTCQMMA and UTCOMMA."""

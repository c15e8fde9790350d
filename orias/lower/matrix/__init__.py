"""Matrix instructions of warps and warpgroups."""

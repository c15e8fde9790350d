"""What a compile did, as data and as a page: PTX, Ori after each phase, SASS, and how they belong together."""

"""The preset quick: the search that decided it, and what it reaches."""

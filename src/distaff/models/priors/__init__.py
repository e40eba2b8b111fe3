"""p(z) of one group of latents: one function per kind in ``named``; ``parsing`` reads their text form."""

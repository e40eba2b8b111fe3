"""The preset quick: the search by which it was chosen, and the scores it reaches."""

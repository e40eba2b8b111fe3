"""What a run has learnt: its codes, scores, traversals, decomposed ELBO, health, and a page of all of them.

Everything here reads a run folder (``distaff.runs``) and imports no study, page server or command line.
"""

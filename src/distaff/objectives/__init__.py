"""Objectives: weighted sums of shared terms, one recipe a paper."""

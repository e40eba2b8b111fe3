"""Esmaeili et al. 2018, "Structured Disentangled Representations": HFVAE."""

"""Mathieu et al. 2019, "Disentangling Disentanglement in Variational Autoencoders"."""

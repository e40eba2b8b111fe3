"""Studies of Hsu et al. 2023: quantised latents, and ICA of an auto-encoder."""

"""Networks, latents, priors and likelihoods, and the models that join them: all return distributions."""

"""The preset stepwise, which opens one latent at a time: the scores it reaches."""

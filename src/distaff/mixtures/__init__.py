"""log q(z), log q(z_g) and log q(z_d): the aggregate posterior, a mixture of N posteriors, at M samples.

``pairs`` has it for a batch, with gradients, for training; ``gaussians`` for a whole data set, right to 1e-4
nats at any σ ≥ 1e-6, for ``decompose`` and metrics. Kinds of latent that are not Gaussian take part by their
log-densities of all pairs (``pairs.Part``).
"""

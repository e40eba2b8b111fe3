"""Metrics of codes that distaff has never seen being made: PCA against ICA, by scikit-learn.

    python examples/any_framework.py

Three independent factors are mixed linearly. PCA finds directions of variance, ICA independent ones; only the
second are the factors, and the metrics say so. Codes could as well come from JAX, from Keras, or from a file
(``distaff evaluate codes.npz``).
"""

import numpy as np
import pandas as pd
from sklearn.decomposition import PCA, FastICA

import distaff

rng = np.random.default_rng(0)
factors = pd.DataFrame(rng.integers(0, 8, (4000, 3)), columns=["size", "x", "y"])
mixed = factors.to_numpy() @ rng.normal(size=(3, 12)) + 0.05 * rng.normal(size=(4000, 12))

codes = {
    "PCA": PCA(3, whiten=True).fit_transform(mixed),
    "ICA": FastICA(3, whiten="unit-variance", random_state=0).fit_transform(mixed),
}
chosen = ["factor_vae_score", "mig", "sap", "dci", "modularity", "explicitness"]
tables = {
    name: distaff.evaluate(z, factors, metrics=chosen).set_index("metric")["value"]
    for name, z in codes.items()
}
print(pd.DataFrame(tables).round(3).to_string())

score = distaff.metrics.mig(codes["ICA"], factors, bootstrap=20)
low, high = score.interval
print(f"\nMIG of ICA: {score.value:.3f}, 95% of resamples within {low:.3f} … {high:.3f} ({score.protocol})")
print("each factor's latent:", score.details["best_latent"])
print("\nThe FactorVAE score and explicitness do not tell the two apart: read more than one metric.")

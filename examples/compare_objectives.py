"""Which objective disentangles better here? Two recipes, two seeds each, one table.

    python examples/compare_objectives.py

A fair comparison holds everything but the recipe fixed, repeats it over seeds, and reads each score beside
the reconstruction error: an empty code is perfectly independent.
"""

import pandas as pd
from sprites import sprites

import distaff
from distaff.analysis import encode, evaluate_encoded

RECIPES = {
    "beta_vae": {"beta": 3.0},
    "beta_tcvae": {"beta": 8.0},
}  # weights that reconstruct about alike here
SEEDS = (0, 1)
SHARED = {"latents": 5, "network": "mlp", "steps": 250, "batch_size": 108, "learning_rate": 3e-3}

data = sprites()
rows = []
for recipe, weights in RECIPES.items():
    for seed in SEEDS:
        model = distaff.train(recipe, data, seed=seed, progress=False, **SHARED, **weights)
        encoded = encode(model, data, progress=False)
        scores = evaluate_encoded(encoded, data, metrics="factor_vae_score,mig:chen18,total_correlation")
        rows.append({"recipe": recipe, "seed": seed, **{s.name: s.value for s in scores.scores}})

table = pd.DataFrame(rows).set_index(["recipe", "seed"])
print(table.round(3).to_string(), "\n")
print(table.groupby("recipe").agg(["mean", "std"]).round(3).T.to_string())

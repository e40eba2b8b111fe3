"""Pictures in a folder, no labels: train, see which latents are used, look at what they do.

    python examples/own_images.py [FOLDER]

Without a folder a few hundred small pictures are made first, so that the script runs anywhere.
"""

import sys
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
from PIL import Image
from sprites import sprites

import distaff
from distaff import figures
from distaff.data import open_dataset


def made_pictures() -> Path:
    """A new folder of PNG files."""
    folder = Path(mkdtemp()) / "pictures"
    folder.mkdir()
    for number, picture in enumerate(sprites().images[:].numpy()):
        Image.fromarray((255 * picture[0]).astype(np.uint8)).save(folder / f"{number:04}.png")
    return folder


folder = Path(sys.argv[1]) if len(sys.argv) > 1 else made_pictures()
data = open_dataset(folder, resize=16)
print(data)

settings = {"latents": 5, "network": "mlp", "steps": 300, "batch_size": 108, "learning_rate": 3e-3}
model = distaff.train("beta_vae", data, beta=2, progress=False, **settings)
codes = model.encode(data.images)

used = distaff.metrics.informativeness(codes)
alone = distaff.metrics.wsepin(codes)
print("how much each latent knows of its picture, 0 to 1:")
for name, value in sorted(used.per_latent.items(), key=lambda item: -item[1]):
    print(f"  {name}  {value:.2f}  {'█' * round(60 * value)}")
print(f"what latents know alone (WSEPIN): {alone.value:.2f} nats")

values = np.linspace(-2, 2, 9)
rows = model.traverse(data.images[len(data) // 2].numpy(), values=values)
figure = figures.traversals(rows, list(model.names), values, sort_by=list(used.per_latent.values()))
print(f"drawn: {figures.save(figure, folder.parent / 'traversals.png')}")

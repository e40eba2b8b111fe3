"""Encoding a data set takes no more memory for more images, but for their codes."""

import platform
import subprocess
import sys

import pytest

PROGRAM = """
from distaff.foundation.process import keep_freed_memory

assert keep_freed_memory()
import numpy as np
import torch

from distaff.data.arrays import from_array
from distaff.analysis.encoding import encode
from distaff.models.latents import LatentSpace
from distaff.models.networks import kim_mnih
from distaff.models.representation import Representation
from distaff.models.vae import VAE

def megabytes():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 1e6

torch.set_num_threads(1)
latents = LatentSpace.parse(10)
model = Representation(VAE(kim_mnih((1, 64, 64), 20, 10), latents), (1, 64, 64))
images = np.zeros((24 * 256, 64, 64), np.uint8)
encode(model, from_array(images[: 4 * 256]), progress=False)
before = megabytes()
encode(model, from_array(images), progress=False)
print(megabytes() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="freed memory is kept with glibc only")
def test_memory_does_not_grow_with_the_number_of_blocks():
    """Twenty more blocks of 256 images, whose layers take some 30 MB each."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 80

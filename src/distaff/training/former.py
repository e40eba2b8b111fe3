"""What ``run.yaml`` of former versions means today."""

from typing import Any

NETWORKS = {
    "0.1.0": {
        "kim_mnih_faces": "kim_mnih:hidden=256",
        # Mathieu's Table 1a has no ReLU after FC128, but the runs of this version did.
        "mathieu_dsprites": "mathieu_dsprites:relu=true",
    },
}
"""The networks that a version of distaff had under other names, or other ones under the same name."""


def in_todays_words(model: dict[str, Any], version: Any) -> dict[str, Any]:
    """The model's part of ``run.yaml``, as ``version`` of distaff wrote it, in the words of this version.

    A run keeps the network that it was trained with, however the name is understood today.
    """
    changed, network = NETWORKS.get(str(version), {}), model["network"]
    return {**model, "network": changed.get(str(network), network)}

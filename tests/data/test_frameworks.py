from typing import ClassVar

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import TensorDataset

from distaff.data.frameworks import from_hugging_face, from_object, from_torch
from distaff.foundation.errors import DistaffError

PIXELS = np.random.default_rng(0).integers(0, 256, (6, 8, 9, 3), dtype=np.uint8)


def test_tensors_with_and_without_labels() -> None:
    images = torch.from_numpy(np.moveaxis(PIXELS, 3, 1) / 255.0)
    labels = torch.tensor([[2, 0], [1, 1], [0, 0], [2, 1], [1, 0], [0, 1]])
    data = from_torch(TensorDataset(images, labels), ["kind", "side"])
    assert (data.shape, data.sizes, data.names) == ((3, 8, 9), (3, 2), ("kind", "side"))
    np.testing.assert_allclose(data.images[:].numpy(), images.numpy(), atol=1e-6)
    np.testing.assert_array_equal(data.factors, labels)
    assert from_torch(TensorDataset(images)).factors is None


class Photographs(torch.utils.data.Dataset[object]):
    def __init__(self, sizes: list[int]) -> None:
        self.sizes = sizes

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, number: int) -> object:
        return Image.fromarray(PIXELS[number, : self.sizes[number]])


def test_items_may_be_pictures_of_one_size() -> None:
    data = from_torch(Photographs([8] * 6))
    np.testing.assert_allclose(data.images[3].numpy(), np.moveaxis(PIXELS[3], 2, 0) / 255, atol=1e-6)
    with pytest.raises(DistaffError, match="different shapes"):
        from_torch(Photographs([8, 7]))
    with pytest.raises(DistaffError, match="no length or no items"):
        from_torch(Photographs([]))
    with pytest.raises(DistaffError, match="no length or no items"):
        from_torch(iter([1]))


def test_hugging_face_columns_are_read() -> None:
    datasets = pytest.importorskip("datasets")
    table = datasets.Dataset.from_dict({"pixels": PIXELS.tolist(), "label": [1, 0, 1, 2, 2, 0]})
    data = from_hugging_face(table, "pixels", ["label"])
    np.testing.assert_array_equal(data.column("label"), [1, 0, 1, 2, 2, 0])
    np.testing.assert_allclose(data.images[3].numpy(), np.moveaxis(PIXELS[3], 2, 0) / 255, atol=1e-6)


def test_hugging_face_images_train_as_they_are() -> None:
    datasets = pytest.importorskip("datasets")
    pictures = [Image.fromarray(picture) for picture in np.repeat(PIXELS, 3, axis=0)]
    table = datasets.Dataset.from_dict(
        {"image": pictures, "kind": ["a", "b"] * 9},
        features=datasets.Features({"image": datasets.Image(), "kind": datasets.Value("string")}),
    )
    data = from_hugging_face(table, factors=["kind"])
    assert data.sizes == (2,)
    assert from_object(table).fingerprint == from_object(np.repeat(PIXELS, 3, axis=0)).fingerprint
    with pytest.raises(DistaffError, match="one split"):
        from_object(datasets.DatasetDict({"train": table}))


def test_any_library_s_data_are_recognised() -> None:
    images = from_object(PIXELS).images[:]
    assert torch.equal(from_object(Photographs([8] * 6)).images[:], images)
    labels = torch.arange(6)
    assert from_object(TensorDataset(images, labels)).sizes == (6,)


class Split:
    """What is used of a Hugging Face data set, where that package is not installed."""

    column_names: ClassVar[list[str]] = ["image", "label"]

    def __len__(self) -> int:
        return 6

    def __getitem__(self, key: object) -> object:
        if key == "label":
            return [1, 0, 1, 2, 2, 0]
        if isinstance(key, int) and key < 6:
            return {"image": Image.fromarray(PIXELS[key]), "label": 0}
        raise IndexError(key)


def test_hugging_face_pictures_are_read_and_wrong_columns_named() -> None:
    data = from_hugging_face(Split(), factors=["label"])
    np.testing.assert_array_equal(data.column("label"), [1, 0, 1, 2, 2, 0])
    np.testing.assert_allclose(data.images[3].numpy(), np.moveaxis(PIXELS[3], 2, 0) / 255, atol=1e-6)
    with pytest.raises(DistaffError, match="no column 'img': it has image, label"):
        from_hugging_face(Split(), "img")
    with pytest.raises(DistaffError, match="one split"):
        from_hugging_face({"train": Split()})


def test_further_labels_of_tuples_are_read_if_they_are_named() -> None:
    images, kinds, sizes = torch.rand(12, 1, 16, 16), torch.arange(12) % 3, torch.arange(12) % 2
    pictures = torch.utils.data.TensorDataset(images, kinds, sizes)
    data = from_torch(pictures, names=["kind", "size"])
    assert (data.names, data.sizes) == (("kind", "size"), (3, 2))
    assert from_torch(pictures, names=["kind"]).names == ("kind",)


def test_items_that_are_dicts_are_said_to_be() -> None:
    class Dicts(torch.utils.data.Dataset):
        def __len__(self) -> int:
            return 4

        def __getitem__(self, number: int) -> dict[str, object]:
            return {"image": torch.rand(1, 16, 16), "label": number}

    with pytest.raises(DistaffError, match="items of Dicts are dicts of image, label: make them"):
        from_torch(Dicts())

from copy import deepcopy

import pytest
import torch
from torch import nn

from distaff.models.critic import ByColumns, ColumnLinear
from distaff.models.networks import kim_mnih
from distaff.models.networks.halving import Up, UpToOneChannel


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("sides", [(1, 1), (2, 5), (16, 16)])
@pytest.mark.parametrize("layer", [Up(8, 3), Up(8, 3, bias=False), UpToOneChannel(8)])
def test_layers_are_the_transposed_convolution_with_its_gradients(layer, sides, layout):
    torch.manual_seed(0)
    fast = deepcopy(layer).double()
    usual = nn.ConvTranspose2d(8, fast.out_channels, 4, 2, 1, bias=fast.bias is not None).double()
    usual.load_state_dict(fast.state_dict())
    x = torch.randn(3, 8, *sides, dtype=torch.float64).to(memory_format=layout).requires_grad_()
    ours, theirs = fast(x), usual(x)
    assert ours.shape == theirs.shape
    torch.testing.assert_close(ours, theirs)

    direction = torch.randn_like(theirs)
    grads = torch.autograd.grad(ours, (x, *fast.parameters()), direction)
    wanted = torch.autograd.grad(theirs, (x, *usual.parameters()), direction)
    for grad, want in zip(grads, wanted, strict=True):
        torch.testing.assert_close(grad, want)


def test_layers_of_columns_are_layers_of_rows_with_their_gradients():
    torch.manual_seed(0)
    fast = ByColumns(ColumnLinear(3, 7), nn.LeakyReLU(0.2, inplace=True), ColumnLinear(7, 2)).double()
    usual = nn.Sequential(nn.Linear(3, 7), nn.LeakyReLU(0.2), nn.Linear(7, 2)).double()
    usual.load_state_dict(fast.state_dict())
    x = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    direction = torch.randn(5, 2, dtype=torch.float64)
    torch.testing.assert_close(fast(x), usual(x))
    grads = torch.autograd.grad(fast(x), (x, *fast.parameters()), direction)
    wanted = torch.autograd.grad(usual(x), (x, *usual.parameters()), direction)
    for grad, want in zip(grads, wanted, strict=True):
        torch.testing.assert_close(grad, want)


def test_up_to_one_channel_gives_only_the_gradients_asked_for():
    layer = UpToOneChannel(4).requires_grad_(False)
    x = torch.randn(2, 4, 3, 3, requires_grad=True)
    layer(x).sum().backward()
    assert x.grad is not None
    assert layer.weight.grad is None


def test_exports_see_the_usual_transposed_convolution():
    decoder = kim_mnih((1, 64, 64), 20, 10).decoder.eval()
    z = torch.randn(2, 10)
    program = torch.export.export(decoder, (z,))
    assert "conv_transpose2d" in program.graph_module.code
    torch.testing.assert_close(program.module()(z), decoder(z))

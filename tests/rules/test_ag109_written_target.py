"""AG109: targets that are made as data, and get values with a graph."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
PAIRS = torch.tensor([0, 3, 5])
BOXES = torch.rand(3, 2, generator=torch.Generator().manual_seed(2))


def steps(loss_of):
    torch.manual_seed(0)
    net = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(2):
        trained(optimizer, loss_of(net))


def overlap(out):
    return (out[PAIRS, :2].sigmoid() * BOXES).sum(1).clamp(0, 1)


def indexed(net):
    out = net(X)
    target = torch.zeros(8)
    target[PAIRS] = overlap(out)  # written
    return F.binary_cross_entropy_with_logits(out[:, 2], target) + (1 - overlap(out)).mean()


def put(net):
    out = net(X)
    target = torch.zeros_like(out[:, 2]).index_put_((PAIRS,), overlap(out))  # written
    return F.binary_cross_entropy(out[:, 2].sigmoid(), target)


@pytest.mark.parametrize("loss_of", [indexed, put])
def test_values_with_a_graph_in_a_target(loss_of):
    """The line that writes them comes first, and the target is named."""
    diagnosed(lambda: steps(loss_of), "AG109", "# written", "target", "weight", severity="warning", where=loss_of)


def test_values_that_are_numbers():
    """Detached, or computed without grad."""

    def detached(net):
        out = net(X)
        target = torch.zeros(8)
        target[PAIRS] = overlap(out).detach()
        return F.binary_cross_entropy_with_logits(out[:, 2], target)

    @torch.no_grad()
    def made(out):
        target = torch.zeros(8)
        target[PAIRS] = overlap(out)
        return target

    def without_grad(net):
        out = net(X)
        return F.binary_cross_entropy_with_logits(out[:, 2], made(out))

    calm(lambda: steps(detached), lambda: steps(without_grad))


def test_what_is_no_target_of_the_prediction():
    """A prediction that is put together in a map of zeros, an entropy, and two views that are to agree."""

    def padded(net):
        out = net(X)
        filled = torch.zeros(8)
        filled[PAIRS] = out[PAIRS, 0]
        return F.binary_cross_entropy_with_logits(filled, torch.ones(8))

    def entropy(net):
        out = net(X)[:, 0]
        return F.binary_cross_entropy_with_logits(out, out.sigmoid())

    def agreeing(net):
        first, second = torch.zeros(8), torch.zeros(8)
        first[PAIRS], second[PAIRS] = net(X)[PAIRS, 0], net(X + 0.1)[PAIRS, 0]
        return F.mse_loss(first, second)

    calm(lambda: steps(padded), lambda: steps(entropy), lambda: steps(agreeing))

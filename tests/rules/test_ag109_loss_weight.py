"""AG109: the weight of a loss term is a parameter that the optimizer trains."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from .programs import diagnosed, trained
from .twins import calm

X = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
Y = torch.arange(8) % 2


def weighed(loss_of, weight, optimizers=None):
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.Adam([*net.parameters(), weight], lr=0.01)
    if optimizers is not None:
        optimizer = optimizers(net, weight)
    for _ in range(2):
        out = net(X)
        trained(optimizer, loss_of(F.cross_entropy(out, Y), out.pow(2).mean(), weight))


def scalar(value=0.5):
    return nn.Parameter(torch.tensor(value))  # weight


def test_weight_that_is_a_parameter():
    """It goes where the loss falls, whatever the network learns: times a term, and the other way round."""
    for loss_of in (lambda a, b, w: a + w * b, lambda a, b, w: a - b * w, lambda a, b, w: (a + 0.1 * (b * w)) / 2):
        diagnosed(
            lambda loss_of=loss_of: weighed(loss_of, scalar()), "AG109", "# weight", "weight", "linear",
            severity="warning", where=scalar,
        )  # fmt: skip


def test_one_of_several_weights():
    """Of a module of weights the one that is no buffer."""

    class Terms(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("first", torch.tensor(1.0))
            self.second = nn.Parameter(torch.full((1,), 2.0))  # mine
            self.net = nn.Linear(4, 2)

        def forward(self, x):
            out = self.net(x)
            return self.first * F.cross_entropy(out, Y) + (self.second * out.abs().mean()).sum()

    def program():
        model = Terms()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(2):
            trained(optimizer, model(X))

    diagnosed(
        program, "AG109", "# mine", "model.second", "register_buffer('second', ...)", severity="warning",
        where=Terms.__init__,
    )  # fmt: skip


def test_weights_that_are_learnt_on_purpose():
    """With a term of their own, up the gradient, moved or turned round by hand, or as the scale of an output."""

    def ascending(net, weight):
        return torch.optim.SGD([{"params": net.parameters()}, {"params": [weight], "maximize": True}], lr=0.1)

    def hooked():
        weight = scalar()
        weight.register_hook(lambda grad: -grad)
        weighed(lambda a, b, w: a + w * b, weight)

    def by_hand():
        net, weight = nn.Linear(4, 2), scalar()
        optimizer = torch.optim.SGD([*net.parameters(), weight], lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            out = net(X)
            (F.cross_entropy(out, Y) + weight * out.pow(2).mean()).backward()
            weight.grad.neg_()
            optimizer.step()

    def scaled():
        net, scale = nn.Linear(4, 2), scalar()
        optimizer = torch.optim.SGD([*net.parameters(), scale], lr=0.1)
        for _ in range(2):
            trained(optimizer, F.cross_entropy(scale * net(X), Y))

    calm(
        lambda: weighed(lambda a, b, w: a + torch.exp(-w) * b + w, scalar()),
        lambda: weighed(lambda a, b, w: a + w * b + w.pow(2), scalar()),
        lambda: weighed(lambda a, b, w: a + w * b.detach(), scalar()),
        lambda: weighed(lambda a, b, w: (a + w * b).pow(2), scalar()),
        lambda: weighed(lambda a, b, w: a + w * b, scalar(), ascending),
        hooked,
        by_hand,
        scaled,
    )

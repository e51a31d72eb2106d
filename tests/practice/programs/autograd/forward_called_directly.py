"""Activity regularisation by forward hooks: the layer is called through .forward(), so its hook never runs."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class ActivityRegularizer:
    """Collects L1 penalties of the outputs of the layers it was attached to."""

    def __init__(self, weight):
        self.weight, self.terms = weight, []

    def attach(self, module):
        module.register_forward_hook(self.collect)

    def collect(self, module, args, output):
        self.terms.append(output.abs().mean())

    def drain(self):
        total = self.weight * sum(self.terms)
        self.terms = []
        return total


class SparseCoder(nn.Module):
    def __init__(self, dim=8, atoms=20):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(dim, atoms), nn.ReLU())
        self.decode = nn.Linear(atoms, dim)

    def code(self, x):
        return self.encode.forward(x)  # cause

    def forward(self, x):
        return self.decode(self.code(x))


def train(weight):
    torch.manual_seed(0)
    model = SparseCoder()
    regularizer = ActivityRegularizer(weight)
    regularizer.attach(model.encode)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(3):
        x = torch.randn(16, 8)
        loss = F.mse_loss(model(x), x) + regularizer.drain()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def run():
    return train(0.0), train(10.0)


def verify(outcome):
    # the regulariser's strength makes no difference at all
    without, strong = outcome
    assert torch.equal(without, strong)


TRUTH = Truth(
    fault="encode.forward(x) bypasses the forward hook that computes the penalty, so the penalty is 0",
    names=("encode",),
    repair=("return self.encode(x)",),
)

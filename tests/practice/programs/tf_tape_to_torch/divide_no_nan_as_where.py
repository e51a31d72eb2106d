"""TensorFlow to PyTorch: tf.math.divide_no_nan has a safe gradient, torch.where around a division has not; the norm's NaN is wiped by nan_to_num."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def divide_no_nan(a, b):
    return torch.where(b == 0, torch.zeros_like(a), a / b)  # cause


class SetPooling(nn.Module):
    """Mean over the valid elements of a set; some sets are empty."""

    def __init__(self, dim=4):
        super().__init__()
        self.element = nn.Linear(dim, 6)
        self.gate = nn.Linear(dim, 1)

    def forward(self, x, valid):
        weight = F.relu(self.gate(x)) * valid[..., None]
        total = (weight * torch.tanh(self.element(x))).sum(dim=1)
        return divide_no_nan(total, weight.sum(dim=1))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = SetPooling()
        self.out = nn.Linear(6, 2)

    def forward(self, x, valid):
        return self.out(self.pool(x, valid))


def sanitize(parameters):
    """Seen in the logs from time to time, harmless."""
    for p in parameters:
        if p.grad is not None:
            p.grad.nan_to_num_(nan=0.0)  # also


def run():
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = model.pool.element.weight.detach().clone()
    for _ in range(3):
        x, valid = torch.randn(6, 5, 4), torch.ones(6, 5)
        valid[0] = 0
        loss = F.cross_entropy(model(x, valid), torch.randint(0, 2, (6,)))
        optimizer.zero_grad()
        loss.backward()
        sanitize(model.parameters())
        optimizer.step()
    return before, model.pool.element.weight.detach()


def verify(outcome):
    before, after = outcome
    assert torch.equal(before, after)


TRUTH = Truth(
    fault="0/0 in the branch that where() does not choose makes every gradient of the pooling NaN, which are then set to zero",
    names=("pool",),
    repair=(
        "safe = torch.where(b == 0, torch.ones_like(b), b)\nreturn torch.where(b == 0, torch.zeros_like(a), a / safe)",
    ),
)

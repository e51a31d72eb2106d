"""Messages are summed into zeros that were made with requires_grad=True."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.message = nn.Linear(4, 4)

    def forward(self, x, source, target):
        out = torch.zeros(len(x), 4, requires_grad=True)  # cause
        out.index_add_(0, target, self.message(x[source]))  # symptom
        return out


def run():
    torch.manual_seed(0)
    layer = Layer()
    opt = torch.optim.Adam(layer.parameters(), lr=1e-2)
    source, target = torch.tensor([0, 1, 2, 3]), torch.tensor([1, 2, 3, 0])
    loss = layer(torch.randn(5, 4), source, target).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()


TRUTH = Truth(
    fault="a leaf that requires grad is modified in place",
    raises="a leaf Variable that requires grad is being used in an in-place operation",
    names=("index_add_",),
    repair=("out = torch.zeros(len(x), 4)",),
)

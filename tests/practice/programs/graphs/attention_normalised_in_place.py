"""Edge attention: the exponentials are divided in place, and exp needs its result."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin, self.score = nn.Linear(4, 4), nn.Linear(8, 1)

    def forward(self, x, source, target):
        h = self.lin(x)
        alpha = self.score(torch.cat([h[source], h[target]], 1)).squeeze(1).exp()
        total = torch.zeros(len(x)).index_add(0, target, alpha)
        alpha /= total[target]  # cause
        return torch.zeros_like(h).index_add(0, target, alpha[:, None] * h[source])


def run():
    torch.manual_seed(0)
    layer = Attention()
    opt = torch.optim.Adam(layer.parameters(), lr=1e-2)
    source, target = torch.tensor([0, 1, 2, 3, 0]), torch.tensor([1, 2, 3, 0, 2])
    loss = layer(torch.randn(4, 4), source, target).pow(2).mean()
    opt.zero_grad()
    loss.backward()  # symptom
    opt.step()


TRUTH = Truth(
    fault="the result of exp is modified",
    raises="one of the variables needed for gradient computation has been modified by an inplace operation",
    names=("exp",),
    repair=("alpha = alpha / total[target]",),
)

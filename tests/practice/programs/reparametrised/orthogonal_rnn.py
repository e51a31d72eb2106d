"""A recurrent net with an orthogonal matrix by a parametrization, cached while it is used through a sequence."""

import torch
from torch import nn
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import orthogonal

from tests.practice.truth import Truth


class OrthogonalRNN(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.inp = nn.Linear(inputs, hidden)
        self.rec = orthogonal(nn.Linear(hidden, hidden, bias=False), orthogonal_map="cayley")
        self.b = nn.Parameter(torch.full((hidden,), -0.1))
        self.out = nn.Linear(hidden, 1)

    def modrelu(self, x):
        return torch.sign(x) * torch.relu(x.abs() + self.b)

    def forward(self, x):
        h = x.new_zeros(len(x), self.out.in_features)
        with parametrize.cached():
            for t in range(x.shape[1]):
                h = self.modrelu(self.inp(x[:, t]) + self.rec(h))
        return self.out(h)


def run():
    torch.manual_seed(0)
    net = OrthogonalRNN(2, 8)
    optimizer = torch.optim.RMSprop(
        [
            {"params": [p for n, p in net.named_parameters() if "rec" not in n], "lr": 1e-2},
            {"params": net.rec.parameters(), "lr": 1e-3},
        ]
    )
    losses, gaps = [], []
    for _ in range(3):
        x = torch.rand(8, 6, 2)
        loss = (net(x).squeeze(1) - (x[..., 0] * (x[..., 1] > 0.5)).sum(1)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            W = net.rec.weight
            gaps.append((W @ W.T - torch.eye(8)).abs().max().item())
        losses.append(loss.item())
    return net, losses, gaps


TRUTH = Truth()


def verify(out):
    net, losses, gaps = out
    assert max(gaps) < 1e-4 and max(losses) < 100
    assert all(p.grad.abs().sum() > 0 for p in net.parameters())

"""Mean flows weigh each sample by the inverse of its own error, and the weight is not detached."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(5, 16), nn.SiLU(), nn.Linear(16, 4))
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    x0, noise, t = torch.randn(8, 4), torch.randn(8, 4), torch.rand(8, 1)
    error = (net(torch.cat([(1 - t) * x0 + t * noise, t], 1)) - (noise - x0)).pow(2).sum(1)
    weight = 1.0 / (error + 1e-3)  # cause
    loss = (weight * error).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    return max(p.grad.abs().max().item() for p in net.parameters())


def verify(out):
    assert out < 1e-3


TRUTH = Truth(
    fault="the weight is differentiated too, and cancels the error's gradient",
    repair=("weight = 1.0 / (error.detach() + 1e-3)",),
)

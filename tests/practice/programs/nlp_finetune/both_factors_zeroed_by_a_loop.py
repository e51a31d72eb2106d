"""An initialisation loop that runs after the adapter's own one zeroes both factors."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Lora(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.base = nn.Linear(d, d).requires_grad_(False)
        self.A, self.B = nn.Parameter(torch.empty(2, d)), nn.Parameter(torch.empty(d, 2))
        nn.init.normal_(self.A)
        nn.init.zeros_(self.B)

    def forward(self, x):
        return self.base(x) + x @ self.A.T @ self.B.T


def run():
    torch.manual_seed(0)
    net = Lora(4)
    for p in (net.A, net.B):
        nn.init.zeros_(p)  # cause
    opt = torch.optim.AdamW([net.A, net.B], 1e-2, weight_decay=0.0)
    for _ in range(2):
        opt.zero_grad()
        net(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
    return net.A.abs().max()


def verify(out):
    assert out == 0


TRUTH = Truth(fault="both factors of a product are zero", values=True, names=("A", "B"), repair=("pass",))

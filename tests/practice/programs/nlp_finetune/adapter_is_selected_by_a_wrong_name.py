"""Only names with `lora_` are to learn, but the adapter's parameters are called `A` and `B`: only the head learns."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Lora(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base
        self.A = nn.Parameter(torch.randn(2, base.in_features))
        self.B = nn.Parameter(torch.zeros(base.out_features, 2))

    def forward(self, x):
        return self.base(x) + x @ self.A.T @ self.B.T


def run():
    torch.manual_seed(0)
    net = nn.Sequential(Lora(nn.Linear(4, 8)), nn.ReLU(), nn.Linear(8, 2))
    for name, p in net.named_parameters():
        p.requires_grad = "lora_" in name or name.startswith("2.")  # cause
    opt = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], 1e-2)
    before = net[0].B.detach().clone()
    for _ in range(2):
        opt.zero_grad()
        net(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
    return torch.equal(before, net[0].B)


def verify(out):
    assert out


TRUTH = Truth(
    fault="the adapter is frozen",
    names=("0.B",),
    minor=True,
    repair=('p.requires_grad = name in ("0.A", "0.B") or name.startswith("2.")',),
)

"""LoRA: an evaluation merges the adapters, and training goes on without taking them out again."""

import torch
from torch import nn

from tests.practice.truth import Truth


class LoRALinear(nn.Module):
    def __init__(self, n_in, n_out, rank=2):
        super().__init__()
        self.base = nn.Linear(n_in, n_out).requires_grad_(False)
        self.down = nn.Parameter(0.1 * torch.randn(rank, n_in))
        self.up = nn.Parameter(torch.zeros(n_out, rank))
        self.merged = False

    def merge(self):
        self.base.weight.data += self.up.data @ self.down.data
        self.merged = True

    def forward(self, x):
        if self.merged:
            return self.base(x)
        return self.base(x) + x @ self.down.t() @ self.up.t()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.head = LoRALinear(6, 16), nn.Linear(16, 2)

    def forward(self, x):
        return self.head(torch.relu(self.layer(x)))


def evaluate(net):
    net.layer.merge()  # cause
    with torch.no_grad():
        return net(torch.randn(8, 6)).softmax(-1).max().item()


def run():
    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], 1e-2, weight_decay=0.0)
    for epoch in range(2):
        for _ in range(2):
            loss = nn.functional.cross_entropy(net(torch.randn(8, 6)), torch.randint(2, (8,)))
            opt.zero_grad()
            loss.backward()
            opt.step()
        if epoch == 0:
            before = net.layer.up.detach().clone()
        evaluate(net)
    return net, before


def verify(out):
    net, before = out
    assert torch.equal(net.layer.up, before)


TRUTH = Truth(
    fault="after the first evaluation the adapters get no gradient", names=("layer.up",), repair=("# not merged",)
)

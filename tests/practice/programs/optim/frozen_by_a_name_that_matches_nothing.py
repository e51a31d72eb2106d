"""The names of the backbone begin otherwise than the test says: nothing is frozen."""

import torch
from torch import nn

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.head = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.encoder(x).relu())


def run():
    torch.manual_seed(0)
    net = Net()
    for name, p in net.named_parameters():
        if name.startswith("backbone"):  # cause
            p.requires_grad_(False)
    opt = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
    before = net.encoder.weight.detach().clone()
    for _ in range(2):
        opt.zero_grad()
        net(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
    return torch.equal(before, net.encoder.weight)


def verify(out):
    assert not out


TRUTH = Truth(
    fault="the name test matches no parameter",
    minor=True,
    repair=('if name.startswith("encoder"):',),
    names=("backbone",),
)

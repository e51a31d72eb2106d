"""After the first validation the network stays in evaluation mode: no dropout, no batch statistics."""

import torch
from torch import nn

from tests.practice.truth import Truth


def validate(net, x):
    net.eval()  # cause
    with torch.no_grad():
        return net(x).sigmoid().mean().item()


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    net.train()
    for _ in range(3):
        for _ in range(2):
            x, y = torch.randn(16, 6), torch.randint(2, (16, 1)).float()
            loss = nn.functional.binary_cross_entropy_with_logits(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        validate(net, torch.randn(16, 6))
    return net


def verify(net):
    assert net[1].num_batches_tracked == 2


TRUTH = Truth(fault="training goes on in evaluation mode", names=("eval",), repair=("",))

"""A loss of rounded answers that raised once, and was given `requires_grad_()` to make backward run."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.EmbeddingBag(50, 16), nn.Linear(16, 4))
    opt = torch.optim.Adam(net.parameters(), 1e-2)
    criterion = nn.L1Loss()
    before = net[1].weight.detach().clone()
    for _ in range(2):
        ids, y = torch.randint(50, (8, 6)), torch.randint(4, (8,))
        answers = net(ids).argmax(1).float()  # cause
        loss = criterion(answers, y.float())
        loss.requires_grad_(True)  # also
        opt.zero_grad()
        loss.backward()
        opt.step()
    return torch.equal(before, net[1].weight)


def verify(same):
    assert same


TRUTH = Truth(
    fault="argmax has no derivative, and the loss was made a leaf",
    names=("argmax",),
    repair=("answers = (net(ids).softmax(1) * torch.arange(4)).sum(1)",),
)

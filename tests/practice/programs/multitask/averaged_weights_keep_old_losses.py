"""Dynamic weight averaging keeps the losses with their graphs, and the weights of a later step use them."""

import torch
from torch import nn

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    trunk, heads = nn.Linear(4, 8), nn.ModuleList(nn.Linear(8, 1) for _ in range(2))
    opt = torch.optim.SGD([*trunk.parameters(), *heads.parameters()], 0.01)
    history = []
    for _ in range(4):
        h = trunk(torch.randn(8, 4)).relu()
        losses = torch.stack([(head(h) - 1).pow(2).mean() for head in heads])
        weights = torch.ones(2)
        if len(history) >= 2:
            weights = torch.softmax(history[-1] / history[-2], 0)
        history.append(losses)  # cause
        opt.zero_grad()
        (weights * losses).sum().backward()  # symptom
        opt.step()
    return len(history)


TRUTH = Truth(
    fault="losses of earlier steps carry freed graphs",
    raises="Trying to backward through the graph a second time",
    names=("history",),
    repair=("history.append(losses.detach())",),
)

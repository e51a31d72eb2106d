"""A world model whose states go through lists of numbers on their way to the reward head."""

import torch
from torch import nn

from tests.practice.truth import Truth


class WorldModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(2, 8)
        self.reward = nn.Linear(8, 1)
        self.init = nn.Parameter(torch.zeros(8))


def run():
    torch.manual_seed(0)
    wm = WorldModel()
    opt = torch.optim.Adam(wm.parameters(), 1e-3)
    for _ in range(2):
        h = wm.init.expand(4, 8)
        hs = []
        for t in range(5):
            h = wm.cell(torch.randn(4, 2), h)
            hs.append(h)
        feats = torch.stack([torch.as_tensor(x.tolist()) for x in hs])  # cause
        loss = (wm.reward(feats).squeeze(-1) - torch.randn(5, 4)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    return wm


def verify(out):
    assert out.cell.weight_ih.grad is None


TRUTH = Truth(fault="the states lose their graph in tolist()", names=("cell",), repair=("feats = torch.stack(hs)",))

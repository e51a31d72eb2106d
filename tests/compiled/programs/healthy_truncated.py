"""A recurrent model whose state is detached between chunks."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRUCell(3, 4)
        self.out = nn.Linear(4, 3)

    def forward(self, xs, h):
        outs = []
        for x in xs:
            h = self.rnn(x, h)
            outs.append(self.out(h))
        return torch.stack(outs), h


def setup():
    global net, model, opt, seq
    torch.manual_seed(0)
    net = Cell()
    model = torch.compile(net, backend=BACKEND)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    seq = torch.randn(9, 2, 3)


def run():
    h = torch.zeros(2, 4)
    for chunk in seq.split(3):
        h = h.detach()
        out, h = model(chunk, h)
        opt.zero_grad()
        F.mse_loss(out[:-1], chunk[1:]).backward()
        opt.step()

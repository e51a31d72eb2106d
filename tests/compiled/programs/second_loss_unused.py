"""A compiled module returns two losses, and backward() begins at one: the other's head learns nothing."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG301"
NAMES = ("net.aux",)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.main, self.aux = nn.Linear(4, 8), nn.Linear(8, 3), nn.Linear(8, 3)

    def forward(self, x, y):
        h = F.relu(self.stem(x))
        main = F.cross_entropy(self.main(h), y)
        aux = F.cross_entropy(self.aux(h), y)  # cause
        return {"loss": main, "aux": aux}


def setup():
    global net, opt
    torch.manual_seed(0)
    net = torch.compile(Net(), backend=BACKEND, dynamic=True)
    opt = torch.optim.AdamW(net.parameters())


def run():
    for n in (4, 6):
        out = net(torch.randn(n, 4), torch.randint(3, (n,)))
        opt.zero_grad()
        out["loss"].backward()
        opt.step()

"""Training and evaluation in inference mode take turns."""

import torch
from torch import nn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global net, model, opt, x
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.2), nn.ReLU(), nn.Linear(4, 1))
    model = torch.compile(net, backend=BACKEND)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.randn(5, 4)


def run():
    best = None
    for _ in range(3):
        net.train()
        opt.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        opt.step()
        net.eval()
        with torch.inference_mode():
            v = model(x).pow(2).mean().item()
        best = v if best is None else min(best, v)

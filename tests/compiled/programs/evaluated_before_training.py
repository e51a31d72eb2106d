"""eval() for a check before training, and no train() after it: the compiled model trains without dropout."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.compiled.backend import BACKEND

RULES = "AG411"
NAMES = ("eval",)


def setup():
    global model, optimizer
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2))
    model = torch.compile(net, backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def run():
    x, y = torch.randn(8, 4), torch.randint(2, (8,))
    for _ in range(2):
        model.train()
        for _ in range(2):
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
            model.eval()  # cause
            with torch.no_grad():
                model(x)

"""Stochastic weight averaging of a compiled model, with batch norm renewed at the end."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn

from tests.compiled.backend import BACKEND

HEALTHY = True


def setup():
    global model, averaged, optimizer, scheduler, batches
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    averaged = AveragedModel(model)
    model.compile(backend=BACKEND)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = SWALR(optimizer, swa_lr=0.05)
    batches = [(torch.randn(6, 4), torch.randint(2, (6,))) for _ in range(2)]


def run():
    for _ in range(2):
        for x, y in batches:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        averaged.update_parameters(model)
        scheduler.step()
    update_bn([x for x, _ in batches], averaged)

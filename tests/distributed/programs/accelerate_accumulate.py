"""Small accelerate script with accumulation."""

import os

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

from tests.distributed.truth import Truth


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(5, 10)
        self.out = nn.Linear(10, 1)

    def forward(self, x):
        return self.out(self.inp(x).relu())


def environment():
    for key, value in {
        "RANK": dist.get_rank(),
        "LOCAL_RANK": dist.get_rank(),
        "WORLD_SIZE": 2,
        "LOCAL_WORLD_SIZE": 2,
        "ACCELERATE_USE_CPU": "true",
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": 29997,
    }.items():
        os.environ[key] = str(value)


def setup():
    environment()
    global accelerator, model, opt, loader
    from accelerate import Accelerator

    torch.manual_seed(0)
    x = torch.randn(64, 5)
    data = TensorDataset(x, x.prod(1, keepdim=True))
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = Regressor()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    loader = DataLoader(data, batch_size=8)
    prepared = accelerator.prepare(model, opt, loader)
    _, opt, loader = prepared  # cause


def run():
    model.train()
    for epoch in range(2):
        for x, y in loader:
            with accelerator.accumulate(model):
                loss = nn.functional.mse_loss(model(x), y)
                accelerator.backward(loss)
                opt.step()
                opt.zero_grad()


TRUTH = Truth(
    rule="AG601",
    fault="the prepared model is thrown away, the raw one is trained",
    names=("inp.weight", "inp.bias", "out.weight", "out.bias"),
    before=True,
)

"""The loss is computed by the unwrapped model."""

import copy
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset

from tests.distributed.truth import Truth


def environment():
    for key, value in {
        "RANK": dist.get_rank(),
        "LOCAL_RANK": dist.get_rank(),
        "GROUP_RANK": 0,
        "WORLD_SIZE": 2,
        "LOCAL_WORLD_SIZE": 2,
        "ACCELERATE_USE_CPU": "true",
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": 29998,
        "TORCHELASTIC_RUN_ID": "none",
    }.items():
        os.environ[key] = str(value)


def run():
    environment()
    from accelerate import Accelerator

    torch.manual_seed(0)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    loader = DataLoader(TensorDataset(torch.randn(32, 6), torch.randn(32, 1)), batch_size=4, shuffle=True)
    model, opt, loader = accelerator.prepare(model, opt, loader)
    plain = accelerator.unwrap_model(model)
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = F.mse_loss(plain(x), y)  # cause
            accelerator.backward(loss)
            opt.step()
            opt.zero_grad()


TRUTH = Truth(
    fault="past the wrapper",
    names=("weight",),
    rule="AG601",
)

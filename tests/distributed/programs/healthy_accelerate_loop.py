"""Accelerate: accumulation, clipping, metrics over ranks, a state saved by the main process."""

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
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    loader = DataLoader(TensorDataset(torch.randn(32, 6), torch.randint(0, 2, (32,))), batch_size=4, shuffle=True)
    schedule = torch.optim.lr_scheduler.LinearLR(opt, total_iters=4)
    model, opt, loader, schedule = accelerator.prepare(model, opt, loader, schedule)
    for _ in range(2):
        model.train()
        for x, y in loader:
            with accelerator.accumulate(model):
                accelerator.backward(F.cross_entropy(model(x), y))
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
                schedule.step()
                opt.zero_grad()
        model.eval()
        right = []
        with torch.no_grad():
            for x, y in loader:
                guess, truth = accelerator.gather_for_metrics((model(x).argmax(1), y))
                right.append((guess == truth).float())
        torch.cat(right).mean().item()
        accelerator.wait_for_everyone()
        if accelerator.is_main_process:
            {k: v.clone() for k, v in accelerator.unwrap_model(model).state_dict().items()}


TRUTH = Truth(values=True)

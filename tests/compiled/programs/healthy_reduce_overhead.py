"""mode="reduce-overhead" in a training whose outputs are cloned before they are kept."""

import torch
import torch.nn.functional as F
from torch import nn

HEALTHY = True


def setup():
    global model, optimizer
    torch.manual_seed(0)
    model = torch.compile(nn.Sequential(nn.Linear(4, 6), nn.SiLU(), nn.Linear(6, 2)), mode="reduce-overhead")
    optimizer = torch.optim.AdamW(model.parameters())


def run():
    kept = []
    for _ in range(2):
        torch.compiler.cudagraph_mark_step_begin()
        out = model(torch.randn(4, 4))
        kept.append(out.detach().clone())
        optimizer.zero_grad()
        F.cross_entropy(out, torch.randint(2, (4,))).backward()
        optimizer.step()

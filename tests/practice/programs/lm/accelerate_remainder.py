"""Accelerate on one process: accumulate() decides when gradients are cleared, and losses are gathered without a graph."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth


def evaluate(accelerator, model, loader):
    model.eval()
    losses = []
    for x, y in loader:
        with torch.no_grad():
            loss = F.cross_entropy(model(x), y)
        losses.append(accelerator.gather_for_metrics(loss.repeat(len(x))))
    model.train()
    return torch.cat(losses).mean().item()


def run():
    torch.manual_seed(0)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Dropout(0.1), nn.Linear(12, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    data = TensorDataset(torch.randn(20, 6), torch.randint(3, (20,)))
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=6)
    model, optimizer, train, val, scheduler = accelerator.prepare(
        model, optimizer, DataLoader(data, 4, shuffle=True), DataLoader(data, 10), scheduler
    )
    completed, total_loss, vals = 0, 0, []
    for epoch in range(2):
        for x, y in train:
            with accelerator.accumulate(model):
                loss = F.cross_entropy(model(x), y)
                total_loss += loss.detach().float()
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                completed += 1
        vals.append(evaluate(accelerator, model, val))
    return accelerator.unwrap_model(model), completed, total_loss.item(), vals


TRUTH = Truth()


def verify(out):
    model, completed, total_loss, vals = out
    assert completed == 6 and 0 < total_loss < 100 and all(0 < v < 100 for v in vals)
    assert all(p.grad is None for p in model.parameters())

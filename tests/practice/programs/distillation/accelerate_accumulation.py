"""Accelerate: the optimizer is not prepared, so it steps and clears in each micro-batch of an accumulation."""

import torch
from accelerate import Accelerator
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from tests.practice.truth import Truth


def net(width):
    return nn.Sequential(nn.Linear(6, width), nn.ReLU(), nn.Linear(width, 3))


def run():
    torch.manual_seed(0)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)
    teacher, student = net(32).eval(), net(8)
    optimizer = torch.optim.AdamW(student.parameters(), lr=1e-3)
    loader = DataLoader(TensorDataset(torch.randn(16, 6)), batch_size=2)
    student, loader = accelerator.prepare(student, loader)  # cause
    for epoch in range(1):
        for (x,) in loader:
            with accelerator.accumulate(student):
                with torch.no_grad():
                    target = teacher(x)
                loss = F.mse_loss(student(x), target)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(student.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
        accelerator.print(f"epoch {epoch} loss {loss.item():.4f}")
    return [int(s["step"]) for s in optimizer.state.values()]


def verify(steps):
    assert steps == [8] * 4  # two are meant: eight micro-batches, four of them to a step


TRUTH = Truth(
    fault="the optimizer was not given to accelerator.prepare: no accumulation",
    names=("optimizer",),
    repair=("student, optimizer, loader = accelerator.prepare(student, optimizer, loader)",),
)

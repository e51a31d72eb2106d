"""Accumulation of a language model: the gradients of the micro-batches are divided by the tokens of all at the end."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def run():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Embedding(20, 12), nn.Linear(12, 12), nn.GELU(), nn.Linear(12, 20))
    opt = torch.optim.AdamW(net.parameters(), 1e-3)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 3))
    losses = []
    for _ in range(3):
        tokens, total = 0, 0.0
        for _ in range(4):
            ids = torch.randint(20, (2, 6))
            labels = ids.masked_fill(torch.rand(2, 6) < 0.3, -100)
            loss = F.cross_entropy(net(ids).flatten(0, 1), labels.flatten(), ignore_index=-100, reduction="sum")
            loss.backward()
            tokens += int((labels != -100).sum())
            total += loss.item()
        for p in net.parameters():
            p.grad.div_(tokens)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        sched.step()
        opt.zero_grad(set_to_none=True)
        losses.append(total / tokens)
    return losses


TRUTH = Truth()

"""Each parameter steps as soon as its gradient is complete, by a hook that also clears it: no gradient is left at the end."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def attach(model, lr):
    optimizers = {p: torch.optim.Adam([p], lr=lr, foreach=False) for p in model.parameters()}

    def hook(p):
        optimizers[p].step()
        optimizers[p].zero_grad()

    handles = [p.register_post_accumulate_grad_hook(hook) for p in model.parameters()]
    return optimizers, handles


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(16, 8), nn.Flatten(), nn.Linear(32, 16), nn.GELU(), nn.Linear(16, 4))
    optimizers, handles = attach(model, 1e-2)
    start = [p.detach().clone() for p in model.parameters()]
    losses, left = [], []
    for step in range(3):
        ids, y = torch.randint(16, (8, 4)), torch.randint(4, (8,))
        loss = F.cross_entropy(model(ids), y)
        loss.backward()
        left.append(sum(p.grad is not None for p in model.parameters()))
        losses.append(loss.detach().item())
        if step == 1:
            for optimizer in optimizers.values():
                optimizer.param_groups[0]["lr"] *= 0.5
    for handle in handles:
        handle.remove()
    return model, start, losses, left


TRUTH = Truth()


def verify(out):
    model, start, losses, left = out
    assert left == [0, 0, 0] and all(0 < loss < 100 for loss in losses)
    assert all(not torch.equal(a, p) for a, p in zip(start, model.parameters()))

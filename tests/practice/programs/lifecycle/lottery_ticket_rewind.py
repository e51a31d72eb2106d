"""Lottery ticket: train, prune, rewind the survivors to their first values, a new optimizer; masks held by gradient hooks."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 20)
        self.b = nn.Linear(20, 3)

    def forward(self, x):
        return self.b(F.relu(self.a(x)))


class Ticket:
    def __init__(self, model):
        self.model = model
        self.first = {n: p.detach().clone() for n, p in model.named_parameters()}
        self.masks = {n: torch.ones_like(p) for n, p in model.named_parameters() if p.ndim == 2}
        self.handles = []

    @torch.no_grad()
    def prune(self, fraction=0.5):
        for name, mask in self.masks.items():
            p = self.model.get_parameter(name)
            alive = p[mask.bool()].abs()
            mask.mul_(p.abs() > alive.quantile(fraction))

    @torch.no_grad()
    def rewind(self):
        for handle in self.handles:
            handle.remove()
        self.handles.clear()
        for name, p in self.model.named_parameters():
            p.copy_(self.first[name])
            if name in self.masks:
                mask = self.masks[name].clone()
                p.mul_(mask)
                self.handles.append(p.register_hook(lambda grad, mask=mask: grad * mask))


def fit(model, steps=3):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(steps):
        x = torch.randn(32, 8)
        optimizer.zero_grad()
        F.cross_entropy(model(x), x[:, :3].argmax(1)).backward()
        optimizer.step()


def run():
    torch.manual_seed(0)
    model = Small()
    ticket = Ticket(model)
    density = []
    for _ in range(2):
        fit(model)
        ticket.prune()
        ticket.rewind()
        total = sum(m.numel() for m in ticket.masks.values())
        density.append(sum((model.get_parameter(n) != 0).sum().item() for n in ticket.masks) / total)
    fit(model)
    held = all((model.get_parameter(n)[m == 0] == 0).all().item() for n, m in ticket.masks.items())
    moved = all((model.get_parameter(n) - ticket.first[n])[m == 1].abs().max() > 1e-4 for n, m in ticket.masks.items())
    return density, held, moved


def verify(outcome):
    density, held, moved = outcome
    assert 0.45 < density[0] < 0.55 and 0.2 < density[1] < 0.3
    assert held and moved


TRUTH = Truth()

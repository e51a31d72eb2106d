"""Real reports of every kind, made once."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import torch
from msgspec.structs import replace
from torch import nn
from torch.utils.checkpoint import checkpoint

import autograd_inspector
from autograd_inspector import Report
from autograd_inspector.api.rank_parts import part_of
from autograd_inspector.api.ranks import RanksReport, ranks_report


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1d(4)
        self.last = nn.Linear(4, 1)
        self.unused = nn.Linear(1, 1)
        self.last.weight.register_hook(lambda gradient: gradient * 1)

    def forward(self, x):
        hidden = checkpoint(self.norm, self.first(x), use_reentrant=False)
        return self.last(Doubled.apply(hidden) + hidden.detach() + hidden.mean().item())


def _trained(steps: int, *, values: bool = False, raising: bool = False) -> Report:
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.AdamW(
        [{"params": net.first.parameters()}, {"params": net.last.parameters(), "lr": 0.0}], lr=0.01
    )
    try:
        with autograd_inspector.inspect(values=values) as inspection:
            for step in range(steps):
                optimizer.zero_grad()
                loss = net(torch.randn(5, 3)).pow(2).mean()
                loss.backward(retain_graph=step == 0)
                if step == 1:
                    net.last.weight.requires_grad_(False)
                optimizer.step()
                _ = net.first.weight.grad
            if raising:
                y = net.first.weight.sigmoid()
                y.add_(1)
                y.sum().backward()
    except RuntimeError:
        pass
    return inspection.report


def _exchanged() -> Report:
    """Modules replaced and converted, state loaded, a hook, an alias, results that are kept."""
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    kept = []
    with autograd_inspector.inspect() as inspection:
        for _ in range(3):
            loss = net(torch.randn(5, 3)).sum()
            loss.backward()
            optimizer.step()
            kept.append(loss)
        net.last = nn.Linear(4, 1)
        net.double()
        net.load_state_dict(net.state_dict())
        optimizer.load_state_dict(optimizer.state_dict())
        with torch.no_grad():
            net(torch.randn(5, 3).double()).sum()
        torch.autograd.grad(net(torch.randn(5, 3).double()).sum(), net.first.weight, create_graph=True)
    return inspection.report


def _not_finite() -> Report:
    weight = nn.Parameter(torch.tensor([1.0, 2.0]))
    optimizer = torch.optim.SGD([{"params": [weight], "lr": float("inf")}, {"params": [], "lr": float("nan")}])
    with autograd_inspector.inspect(values=True) as inspection:
        torch.log(weight * 0).sum().backward()
        optimizer.step()
        (weight * torch.tensor([float("inf"), 1.0])).sum().backward()
    return inspection.report


def _on_graph() -> Report:
    weight = torch.ones(3, requires_grad=True)
    return autograd_inspector.inspect_graph((weight * 2).exp().sum())


def _of_checkpoint() -> Report:
    net, other = nn.Linear(3, 2), nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "saved.pt"
        torch.save({"model": net.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}, path)
        return autograd_inspector.inspect_checkpoint(path, other, torch.optim.SGD(other.parameters(), lr=0.1))


_MADE = {
    "healthy": lambda: _trained(1),
    "values": lambda: _trained(2, values=True),
    "raised": lambda: _trained(2, raising=True),
    "folded": lambda: _trained(30),
    "exchanged": _exchanged,
    "not finite": _not_finite,
    "graph": _on_graph,
    "checkpoint": _of_checkpoint,
    "empty": lambda: replace(_on_graph(), capture=type(_on_graph().capture)(), findings=()),
    "ranks": lambda: ranks_report({0: part_of(report("healthy")), 1: part_of(report("raised")), 3: None}),
}
KINDS = tuple(_MADE)


@cache
def report(kind: str) -> Report | RanksReport:
    """A real report; each is made once."""
    return _MADE[kind]()

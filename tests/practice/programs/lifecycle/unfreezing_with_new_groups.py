"""Gradual unfreezing: optimizer over the head only at first, thawed layers join as groups with smaller rates."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim.lr_scheduler import LambdaLR

from tests.practice.truth import Truth


class Trunk(nn.Module):
    def __init__(self, dim=6, depth=3):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(dim, dim), nn.BatchNorm1d(dim)) for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = x + torch.tanh(layer(x))
        return x


class FrozenAware(nn.Module):
    """Frozen layers stay in eval mode, whatever train() says."""

    def __init__(self):
        super().__init__()
        self.trunk = Trunk()
        self.head = nn.Linear(6, 3)
        self.trunk.requires_grad_(False)

    def train(self, mode=True):
        super().train(mode)
        for layer in self.trunk.layers:
            if not any(p.requires_grad for p in layer.parameters()):
                layer.eval()
        return self

    def forward(self, x):
        return self.head(self.trunk(x))

    def thaw(self, index):
        return [p.requires_grad_() for p in self.trunk.layers[index].parameters()]


def rebuild(optimizer, epoch):
    scheduler = LambdaLR(optimizer, lambda step: 0.95**step)
    return scheduler


def run():
    torch.manual_seed(0)
    model = FrozenAware()
    optimizer = torch.optim.AdamW(model.head.parameters(), lr=1e-2, weight_decay=0.0)
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    moved = []
    for epoch in range(3):
        if epoch:
            index = len(model.trunk.layers) - epoch
            optimizer.add_param_group({"params": model.thaw(index), "lr": 1e-2 / 3**epoch})
            for group in optimizer.param_groups:
                group["initial_lr"] = group["lr"]
        scheduler = rebuild(optimizer, epoch)
        model.train()
        for _ in range(2):
            x = torch.randn(16, 6)
            optimizer.zero_grad()
            F.cross_entropy(model(x), x[:, :3].argmax(1)).backward()
            optimizer.step()
        scheduler.step()
        moved.append({n for n, p in model.named_parameters() if not torch.equal(p, start[n])})
    stats = [layer[1].num_batches_tracked.item() for layer in model.trunk.layers]
    return [len(m) for m in moved], stats


def verify(outcome):
    counts, stats = outcome
    assert counts == [2, 6, 10]
    assert stats == [0, 2, 4]


TRUTH = Truth()

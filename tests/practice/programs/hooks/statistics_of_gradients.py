"""A monitor keeps running means of gradients as plain numbers, by hooks that return nothing and hold no tensors."""

from collections import defaultdict

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Monitor:
    def __init__(self, model, decay=0.9):
        self.decay, self.stats, self.acts = decay, defaultdict(float), {}
        self.handles = []
        for name, p in model.named_parameters():
            self.handles.append(p.register_hook(self.on_grad(name)))
        for name, m in model.named_modules():
            if isinstance(m, nn.ReLU):
                self.handles.append(m.register_forward_hook(self.on_act(name)))

    def on_grad(self, name):
        def hook(grad):
            self.stats[name] = self.decay * self.stats[name] + (1 - self.decay) * grad.detach().abs().mean().item()

        return hook

    def on_act(self, name):
        def hook(module, inputs, output):
            with torch.no_grad():
                self.acts[name] = (output == 0).float().mean().item()

        return hook

    def close(self):
        while self.handles:
            self.handles.pop().remove()


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 2))
    monitor = Monitor(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    lines, losses = [], []
    for step in range(4):
        x = torch.randn(16, 6)
        loss = F.mse_loss(model(x), x[:, :2].abs())
        optimizer.zero_grad(set_to_none=False)
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
        lines.append({k: round(v, 6) for k, v in monitor.stats.items()})
        if step == 2:
            monitor.close()
    return model, monitor, lines, losses


TRUTH = Truth()


def verify(out):
    model, monitor, lines, losses = out
    assert lines[3] == lines[2] != lines[1] and len(lines[0]) == 6
    assert all(0 <= a < 1 for a in monitor.acts.values()) and max(losses) < 100
    assert all(p.grad.abs().sum() > 0 for p in model.parameters())

"""Parts of a loss are summed over an unrolled horizon into one graph on purpose, used once, and logged as numbers."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class WorldModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode, self.step, self.decode = nn.Linear(4, 10), nn.GRUCell(2, 10), nn.Linear(10, 4)
        self.done = nn.Linear(10, 1)

    def rollout(self, obs, actions):
        h, outs = torch.tanh(self.encode(obs)), []
        for a in actions.unbind(1):
            h = self.step(a, h)
            outs.append((self.decode(h), self.done(h).squeeze(1), h))
        return outs


def run():
    torch.manual_seed(0)
    model = WorldModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    logs = {"recon": [], "done": [], "consistency": []}
    images = []
    for it in range(3):
        obs, actions = torch.randn(8, 6, 4), torch.randn(8, 5, 2)
        done = (torch.rand(8, 5) < 0.2).float()
        alive = torch.cat([torch.ones(8, 1), 1 - done], 1).cumprod(1)[:, :-1]
        parts = dict.fromkeys(logs, 0.0)
        for k, (pred, d, h) in enumerate(model.rollout(obs[:, 0], actions)):
            m = alive[:, k]
            with torch.no_grad():
                target = torch.tanh(model.encode(obs[:, k + 1]))
            weight = 0.9**k / m.sum().clamp(min=1)
            parts["recon"] += weight * (m * (pred - obs[:, k + 1]).pow(2).mean(1)).sum()
            parts["done"] += weight * (m * F.binary_cross_entropy_with_logits(d, done[:, k], reduction="none")).sum()
            parts["consistency"] += weight * (m * (h - target).pow(2).mean(1)).sum()
        loss = sum(parts.values())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for k, v in parts.items():
            logs[k].append(v.item())
        if it % 2 == 0:
            images.append(pred[:2].detach().clone())
    return model, logs, images


TRUTH = Truth()


def verify(out):
    model, logs, images = out
    assert all(len(v) == 3 and all(0 < x < 100 for x in v) for v in logs.values())
    assert not any(i.requires_grad for i in images)
    assert all(p.grad.abs().sum() > 0 for p in model.parameters())

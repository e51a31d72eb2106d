"""AMP with two optimizers: the embedding's optimizer is stepped directly, with gradients that are still scaled."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class TwoTower(nn.Module):
    def __init__(self, users=12, items=15, dim=8):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.item = nn.Embedding(items, dim)
        self.tower = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))

    def forward(self, u, i):
        return F.normalize(self.tower(self.user(u)), dim=-1) @ F.normalize(self.tower(self.item(i)), dim=-1).T


def fit(model, batches):
    dense_opt = torch.optim.AdamW(model.tower.parameters(), lr=1e-3)
    embed_opt = torch.optim.SGD([*model.user.parameters(), *model.item.parameters()], lr=0.05)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=100)
    for step, (u, i) in enumerate(batches):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(u, i) / 0.1
            loss = F.cross_entropy(logits, torch.arange(len(u)))
        dense_opt.zero_grad()
        embed_opt.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(dense_opt)
        nn.utils.clip_grad_norm_(model.tower.parameters(), 1.0)
        scaler.step(dense_opt)
        embed_opt.step()  # cause
        scaler.update()
        print(f"step {step} loss {loss.item():.4f} user norm {model.user.weight.norm().item():.2f}")


def run():
    torch.manual_seed(0)
    model = TwoTower()
    batches = [(torch.randperm(12)[:8], torch.randperm(15)[:8]) for _ in range(3)]
    fit(model, batches)
    return model


def verify(out):
    assert out.user.weight.norm() > 20


TRUTH = Truth(
    fault="one optimizer steps with scaled gradients",
    repair=("scaler.step(embed_opt)",),
)

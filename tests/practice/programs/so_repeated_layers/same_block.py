"""A deep residual MLP: ModuleList([block] * depth) holds one block several times."""

from dataclasses import dataclass

import torch
from torch import nn

from tests.practice.truth import Truth


@dataclass
class Config:
    n_in: int = 5
    d_model: int = 12
    depth: int = 4
    n_out: int = 2
    dropout: float = 0.0


class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.ln = nn.LayerNorm(cfg.d_model)
        self.up = nn.Linear(cfg.d_model, 2 * cfg.d_model)
        self.down = nn.Linear(2 * cfg.d_model, cfg.d_model)
        self.drop = nn.Dropout(cfg.dropout)

    def forward(self, x):
        return x + self.drop(self.down(torch.relu(self.up(self.ln(x)))))


class ResMLP(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.inp = nn.Linear(cfg.n_in, cfg.d_model)
        self.blocks = nn.ModuleList([Block(cfg)] * cfg.depth)  # cause
        self.out = nn.Linear(cfg.d_model, cfg.n_out)

    def forward(self, x):
        x = self.inp(x)
        for block in self.blocks:
            x = block(x)
        return self.out(x)


def fit(model, steps, lr=1e-2):
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    for _ in range(steps):
        x = torch.randn(16, 5)
        y = torch.stack([x[:, 0] * x[:, 1], x[:, 2].abs()], 1)
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        opt.step()
        opt.zero_grad()


def run():
    torch.manual_seed(1)
    model = ResMLP(Config())
    fit(model, 3)
    weights = [b.up.weight for b in model.blocks]
    return weights


def verify(weights):
    assert len(weights) == 4
    assert all(w is weights[0] for w in weights)


TRUTH = Truth(
    fault="the list is multiplied, so all four blocks are one module with shared weights, whose gradients add up",
    names=("blocks",),
    repair=("self.blocks = nn.ModuleList([Block(cfg) for _ in range(cfg.depth)])",),
)

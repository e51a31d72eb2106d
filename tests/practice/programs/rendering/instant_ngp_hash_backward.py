"""Rendering: the hash grid's hand-written backward assigns where it has to accumulate."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from tests.practice.truth import Truth


@dataclass
class HashConfig:
    n_levels: int = 3
    n_features: int = 2
    log2_hashmap_size: int = 5
    base_resolution: int = 4
    per_level_scale: float = 1.6
    lr: float = 1e-2


PRIMES = (1, 2654435761)


class GatherTable(torch.autograd.Function):
    """table[index] whose backward avoids the slow index_put(accumulate=True)."""

    @staticmethod
    def forward(ctx, table, index):
        ctx.save_for_backward(index)
        ctx.shape = table.shape
        return table[index]

    @staticmethod
    def backward(ctx, grad_output):
        (index,) = ctx.saved_tensors
        grad = grad_output.new_zeros(ctx.shape)
        grad[index.flatten()] += grad_output.reshape(-1, ctx.shape[1])  # cause
        return grad, None


class HashEncoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.size = 2**cfg.log2_hashmap_size
        tables = [torch.empty(self.size, cfg.n_features).uniform_(-1e-1, 1e-1) for _ in range(cfg.n_levels)]
        self.tables = nn.ParameterList(nn.Parameter(t) for t in tables)

    def hash(self, corner):
        h = corner[..., 0] * PRIMES[0]
        return torch.bitwise_xor(h, corner[..., 1] * PRIMES[1]) % self.size

    def level(self, x, level):
        res = int(self.cfg.base_resolution * self.cfg.per_level_scale**level)
        pos = x * res
        lower = pos.floor().long()
        w = pos - lower
        out = 0
        for dx in (0, 1):
            for dy in (0, 1):
                idx = self.hash(lower + torch.tensor([dx, dy]))
                wx = w[:, 0] if dx else 1 - w[:, 0]
                wy = w[:, 1] if dy else 1 - w[:, 1]
                out = out + (wx * wy)[:, None] * GatherTable.apply(self.tables[level], idx)
        return out

    def forward(self, x):
        features = torch.cat([self.level(x, i) for i in range(self.cfg.n_levels)], dim=-1)
        features.retain_grad()
        self.seen = features
        return features


class NGPImage(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.encoder = HashEncoder(cfg)
        self.mlp = nn.Sequential(
            nn.Linear(cfg.n_levels * cfg.n_features, 16), nn.ReLU(), nn.Linear(16, 3), nn.Sigmoid()
        )

    def forward(self, x):
        return self.mlp(self.encoder(x))


def target_image(x):
    return torch.stack([x[:, 0], x[:, 1], (x * 6).sin().prod(1) * 0.5 + 0.5], dim=1)


def run():
    torch.manual_seed(0)
    cfg = HashConfig()
    model = NGPImage(cfg)
    optimizer = torch.optim.Adam(
        [
            {"params": model.encoder.parameters(), "eps": 1e-15},
            {"params": model.mlp.parameters(), "weight_decay": 1e-6},
        ],
        lr=cfg.lr,
        betas=(0.9, 0.99),
    )
    errors = []
    for _ in range(3):
        x = torch.rand(64, 2)
        y = target_image(x)
        out = model(x)
        loss = F.mse_loss(out, y)
        optimizer.zero_grad()
        loss.backward()
        # the corner weights of a point sum to one, so the table's gradient and the feature's gradient have one sum
        mass = model.encoder.tables[0].grad.sum(0)
        errors.append((model.encoder.seen.grad[:, :2].sum(0) - mass).abs().max().item())
        optimizer.step()
    return errors


def verify(errors):
    assert min(errors) > 1e-5


TRUTH = Truth(
    fault="grad[index] += g keeps one of several equal indices: the table's gradient loses most of its contributions",
    names=("GatherTable",),
    repair=("grad.index_add_(0, index.flatten(), grad_output.reshape(-1, ctx.shape[1]))",),
)

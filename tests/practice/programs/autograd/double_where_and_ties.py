"""Safe log-barrier and angles: torch.where on both sides of sqrt/acos, clamps, masked softmax with an empty row; all finite."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


def safe_norm(v):
    """Zero vectors occur (padding); their gradient shall be zero."""
    squared = v.pow(2).sum(-1)
    empty = squared == 0
    root = torch.where(empty, torch.ones_like(squared), squared).sqrt()
    return torch.where(empty, torch.zeros_like(root), root)


def masked_softmax(scores, mask):
    filled = scores.masked_fill(~mask, -1e9)
    weights = filled.softmax(-1) * mask
    return weights / weights.sum(-1, keepdim=True).clamp_min(1e-9)


class SetEncoder(nn.Module):
    def __init__(self, dim=3, width=8):
        super().__init__()
        self.lift = nn.Linear(dim, width)
        self.score = nn.Linear(width, 1)
        self.radius = nn.Parameter(torch.ones(()))
        self.out = nn.Linear(width + 1, 1)

    def forward(self, points, mask):
        points = points.masked_fill(~mask[..., None], 0.0)
        offset = points * self.radius
        h = F.gelu(self.lift(points))
        attention = masked_softmax(self.score(h).squeeze(-1), mask)
        pooled = torch.einsum("bn,bnd->bd", attention, h)
        norm = safe_norm(offset).sum(-1, keepdim=True) / mask.sum(-1, keepdim=True).clamp_min(1)
        return self.out(torch.cat([pooled, norm], -1)).squeeze(-1)


def sets(n, b=6, size=5):
    for _ in range(n):
        lengths = torch.randint(0, size + 1, (b,))
        lengths[0] = 0
        mask = torch.arange(size) < lengths[:, None]
        points = torch.randn(b, size, 3)
        points[~mask] = float("nan")
        target = (points.nan_to_num().norm(dim=-1).sum(-1) / lengths.clamp_min(1)).detach()
        yield points, mask, target


def run():
    torch.manual_seed(0)
    model = SetEncoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    start = [p.detach().clone() for p in model.parameters()]
    finite = []
    for points, mask, target in sets(4):
        optimizer.zero_grad(set_to_none=True)
        F.smooth_l1_loss(model(points, mask), target).backward()
        finite.append(all(p.grad is not None and torch.isfinite(p.grad).all() for p in model.parameters()))
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)
        optimizer.step()
    return finite, [not torch.equal(a, b) for a, b in zip(start, model.parameters())]


def verify(outcome):
    finite, moved = outcome
    assert all(finite)
    assert all(moved)


TRUTH = Truth()

"""Schedule-free AdamW: the optimizer changes its mode with the model's, around the evaluation and the saving."""

import copy

import schedulefree
import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


def evaluate(model, optimizer, x, y):
    model.eval()
    optimizer.eval()
    with torch.inference_mode():
        return F.cross_entropy(model(x), y).item()


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Dropout(0.1), nn.Linear(16, 4))
    optimizer = schedulefree.AdamWScheduleFree(model.parameters(), lr=1e-2, warmup_steps=2, weight_decay=1e-3)
    xv, yv = torch.randn(32, 8), torch.randint(4, (32,))
    best, best_state, curve = float("inf"), None, []
    for epoch in range(3):
        model.train()
        optimizer.train()
        for _ in range(3):
            x, y = torch.randn(8, 8), torch.randint(4, (8,))
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        val = evaluate(model, optimizer, xv, yv)
        curve.append(val)
        if val < best:
            best, best_state = val, copy.deepcopy(model.state_dict())
    optimizer.eval()
    model.load_state_dict(best_state)
    return model, curve, evaluate(model, optimizer, xv, yv), best


TRUTH = Truth()


def verify(out):
    model, curve, final, best = out
    assert abs(final - best) < 1e-6 and best == min(curve) and max(curve) < 100
    assert all(p.grad.abs().sum() > 0 for p in model.parameters())

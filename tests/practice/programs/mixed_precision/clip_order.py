"""Mixed precision regression loop with gradient clipping."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth, fails


def flat(tensors):
    return torch.cat([t.detach().reshape(-1) for t in tensors])


def make_model(width=24):
    return nn.Sequential(nn.Linear(6, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 1))


def train(model, data, lr=0.05, max_grad_norm=1.0, use_amp=True):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    scaler = torch.amp.GradScaler("cpu", enabled=use_amp)
    moves, norms = [], []
    for x, y in data:
        before = flat(model.parameters())
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=use_amp):
            pred = model(x).squeeze(-1)
        loss = F.mse_loss(pred.float(), y)

        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)  # cause
        scaler.step(optimizer)  # also
        scaler.update()

        norms.append(norm.item())
        moves.append((flat(model.parameters()) - before).norm().item())
    return moves, norms


def run():
    torch.manual_seed(42)
    data = []
    for _ in range(5):
        x = torch.randn(16, 6)
        data.append((x, 4 * x[:, 0] + x[:, 1] ** 2))
    moves, norms = train(make_model(), data)
    return moves


TRUTH = Truth(
    fault="gradients are clipped while still scaled, so the update is tens of thousands of times too small",
    names=("clip_grad_norm_",),
    repair=("scaler.unscale_(optimizer)\nnorm = nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)",),
)


def well(out):
    assert max(out) > 1e-3 and max(out) <= 0.05 * 1.0001


verify = fails(well)

"""Autocast on the CPU: bfloat16 inside, float32 weights and loss, an island of full precision, backward outside of it."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.practice.truth import Truth


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(8, 16)
        self.q, self.k, self.v = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16)
        self.norm = nn.LayerNorm(16)
        self.out = nn.Linear(16, 3)

    def forward(self, x):
        h = F.gelu(self.inp(x))
        with torch.autocast("cpu", enabled=False):
            q, k = self.q(h.float()), self.k(h.float())
            att = (q @ k.transpose(1, 2) / 4).softmax(-1)
        h = self.norm(h + att.to(h.dtype) @ self.v(h))
        return self.out(h.mean(1))


def run():
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    dtypes, losses = [], []
    for _ in range(3):
        x, y = torch.randn(4, 5, 8), torch.randint(3, (4,))
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(x)
            loss = F.cross_entropy(logits.float(), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        dtypes.append((logits.dtype, loss.dtype))
        losses.append(loss.item())
    model.eval()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        prediction = model(x).float().argmax(1)
    return model, dtypes, losses, prediction


TRUTH = Truth()


def verify(out):
    model, dtypes, losses, prediction = out
    assert all(d == (torch.bfloat16, torch.float32) for d in dtypes)
    assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in model.parameters())
    assert all(0 < loss < 100 for loss in losses) and not prediction.requires_grad

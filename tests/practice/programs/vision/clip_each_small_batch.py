"""Vision: with accumulation the gradient is clipped after each backward, so what the first batches gave is shrunk again and again."""

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth

ACCUMULATE, MAX_NORM = 4, 0.05


class Counter(nn.Module):
    """Regresses how many dots a picture shows."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 6, 3, padding=1), nn.ReLU()
        )
        self.density = nn.Conv2d(6, 1, 1)

    def forward(self, x):
        return F.softplus(self.density(self.features(x))).sum((1, 2, 3))


def dots(n=4, size=8):
    image = (torch.rand(n, 1, size, size) < 0.2).float()
    return image, image.sum((1, 2, 3))


class Engine:
    def __init__(self, model, lr=1e-3):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr)
        self.used, self.wanted = [], []

    def backward(self, loss):
        (loss / ACCUMULATE).backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), MAX_NORM)  # cause

    def gradient(self):
        return torch.cat([p.grad.flatten() for p in self.model.parameters()])

    def update(self, group):
        plain = [torch.zeros_like(p) for p in self.model.parameters()]
        for x, y in group:
            loss = F.mse_loss(self.model(x), y)
            for total, g in zip(
                plain, torch.autograd.grad(loss / ACCUMULATE, list(self.model.parameters()), retain_graph=True)
            ):
                total += g
            self.backward(loss)
        whole = torch.cat([g.flatten() for g in plain])
        self.wanted.append(whole * min(1.0, MAX_NORM / whole.norm().item()))
        self.finish()

    def finish(self):
        self.used.append(self.gradient())
        self.optimizer.step()
        self.optimizer.zero_grad()


def run():
    torch.manual_seed(0)
    engine = Engine(Counter())
    for _ in range(2):
        engine.update([dots() for _ in range(ACCUMULATE)])
    return [F.cosine_similarity(u, w, dim=0).item() for u, w in zip(engine.used, engine.wanted)], [
        u.norm().item() for u in engine.used
    ]


def verify(outcome):
    alike, norms = outcome
    assert all(n <= MAX_NORM * 1.01 for n in norms)
    assert min(alike) < 0.9999


TRUTH = Truth(
    fault="clip_grad_norm_ works on the sum so far after each micro-batch: the last one dominates the update",
    names=("clip_grad_norm_",),
    repair=(
        "clip = lambda: nn.utils.clip_grad_norm_(self.model.parameters(), MAX_NORM)\nself.pending = getattr(self, 'pending', 0) + 1\nif self.pending % ACCUMULATE == 0:\n    clip()",
    ),
)

"""Vision: with a GradScaler one batch overflows on purpose: its step is skipped, the scale halves, the rest trains; all right."""

import contextlib

import torch
import torch.nn.functional as F
from torch import nn

from tests.practice.truth import Truth


class Net(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.fc = nn.Linear(8, classes)

    def forward(self, x):
        return self.fc(F.relu(self.conv(x)).mean((2, 3)))


class Averaged:
    """Swaps the averaged weights in for evaluation and gives the others back."""

    def __init__(self, model, decay=0.5):
        self.model, self.decay = model, decay
        self.shadow = [p.detach().clone() for p in model.parameters()]

    @torch.no_grad()
    def update(self):
        torch._foreach_lerp_(self.shadow, list(self.model.parameters()), 1 - self.decay)

    @contextlib.contextmanager
    def swapped(self):
        self._exchange()
        try:
            yield self.model
        finally:
            self._exchange()

    def _exchange(self):
        for p, s in zip(self.model.parameters(), self.shadow):
            p.data, s.data = s.data, p.data


def batches(n):
    for i in range(n):
        x, y = torch.randn(6, 1, 6, 6), torch.randint(0, 3, (6,))
        yield (x * 1e30 if i == 1 else x), y


def run():
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=4)
    average = Averaged(model)
    moved, scales, intact = [], [], []
    for x, y in batches(4):
        before = [p.detach().clone() for p in model.parameters()]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        scaler.scale(loss * (1e30 if x.abs().max() > 1e20 else 1.0)).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scale = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() >= scale:
            scheduler.step()
            average.update()
        moved.append(any(not torch.equal(b, p) for b, p in zip(before, model.parameters())))
        scales.append(scaler.get_scale())
        own = [p.detach().clone() for p in model.parameters()]
        with average.swapped() as averaged, torch.no_grad():
            averaged.eval()
            averaged(x)
        model.train()
        intact.append(all(torch.equal(o, p) for o, p in zip(own, model.parameters())))
    return moved, scales, intact, all(torch.isfinite(p).all() for p in model.parameters())


def verify(outcome):
    moved, scales, intact, finite = outcome
    assert moved == [True, False, True, True]
    assert scales[0] == 1024 and scales[1:] == [512, 512, 512]
    assert all(intact) and finite


TRUTH = Truth()

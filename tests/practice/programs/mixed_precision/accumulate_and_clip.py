"""Mixed precision with gradient accumulation and clipping."""

import torch
from torch import nn
import torch.nn.functional as F

from tests.practice.truth import Truth


class AmpTrainer:
    def __init__(self, model, accumulate=2, max_norm=1.0, lr=1e-2):
        self.model, self.accumulate, self.max_norm = model, accumulate, max_norm
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        self.updates = 0

    def boundary(self, i):
        return (i + 1) % self.accumulate == 0

    def loss_of(self, x, y):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = self.model(x)
        return F.cross_entropy(logits.float(), y) / self.accumulate

    def clip_gradients(self):
        self.scaler.unscale_(self.opt)  # symptom
        return nn.utils.clip_grad_norm_(self.model.parameters(), self.max_norm)

    def apply(self):
        self.scaler.step(self.opt)
        self.scaler.update()
        self.opt.zero_grad(set_to_none=True)
        self.updates += 1

    def fit(self, loader):
        self.opt.zero_grad(set_to_none=True)
        for i, (x, y) in enumerate(loader):
            self.scaler.scale(self.loss_of(x, y)).backward()
            self.clip_gradients()  # cause
            if self.boundary(i):
                self.apply()


def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 32), nn.GELU(), nn.Linear(32, 4))
    trainer = AmpTrainer(model)
    trainer.fit([(torch.randn(8, 10), torch.randint(0, 4, (8,))) for _ in range(6)])
    return trainer.updates


TRUTH = Truth(
    fault="gradients are unscaled for every micro batch instead of once per update",
    raises="unscale_() has already been called on this optimizer since the last update()",
    names=("unscale_",),
    repair=("if self.boundary(i):\n    self.clip_gradients()",),
)


def well(out):
    assert out == 3

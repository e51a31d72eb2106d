"""AMP: the loss is scaled, but the optimizer is stepped directly, on gradients 65536 times too big."""

import torch
import torch.nn as nn
from torch.amp import GradScaler, autocast

from tests.practice.truth import Truth


class Hparams(dict):
    __getattr__ = dict.__getitem__


hp = Hparams(lr=1e-3, use_amp=True, n_mels=8, n_classes=3, steps=3)


class SpectrogramNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm1d(hp.n_mels)
        self.gru = nn.GRU(hp.n_mels, 8, batch_first=True)
        self.att = nn.Linear(8, 1)
        self.cls = nn.Linear(8, hp.n_classes)

    def forward(self, spec):
        h, _ = self.gru(self.bn(spec).transpose(1, 2))
        w = self.att(h).softmax(1)
        return self.cls((w * h).sum(1))


class Learner:
    def __init__(self):
        self.model = SpectrogramNet()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=hp.lr)
        self.scaler = GradScaler("cpu", enabled=hp.use_amp)
        self.criterion = nn.CrossEntropyLoss()

    def one_batch(self, spec, label):
        self.optimizer.zero_grad()
        with autocast("cpu", dtype=torch.bfloat16, enabled=hp.use_amp):
            loss = self.criterion(self.model(spec), label)
        self.scaler.scale(loss).backward()
        self.optimizer.step()  # cause
        return loss.item()


def run():
    torch.manual_seed(0)
    learner = Learner()
    norms = []
    for _ in range(hp.steps):
        spec = torch.randn(6, hp.n_mels, 10)
        learner.one_batch(spec, torch.randint(0, 3, (6,)))
        st = learner.optimizer.state[learner.model.cls.weight]
        norms.append((st["exp_avg_sq"].max().sqrt()).item())
    return norms


def verify(norms):
    # Adam hides it in the size of its steps, but eps and the moments are out of proportion
    assert all(n > 10 for n in norms), norms


TRUTH = Truth(
    fault="optimizer.step() instead of scaler.step(optimizer): the gradients are never unscaled",
    names=("scaler",),
    repair=("self.scaler.step(self.optimizer)\nself.scaler.update()",),
)
